/**
 * What the failing system said of the wait, as an error carries it (rule R7).
 */
import * as Duration from "effect/Duration"
import * as Headers from "effect/http/Headers"
import * as Result from "effect/Result"
import type { Hint } from "../Transience.ts"
import * as causeChain from "./causeChain.ts"
import * as selfDescription from "./transience/selfDescription.ts"

const bounded = (millis: number): number =>
  // About 31,700 years: no wait, and short of where milliseconds stop being exact.
  millis > 1e15 ? Infinity : Math.max(0, millis)

/**
 * The hint that a `retryAfter` value gives: undefined when it cannot be read. Numbers are milliseconds, Effect's own
 * convention, and bigints nanoseconds.
 */
export const parse = (value: unknown): Hint | undefined => {
  if (value === "do not retry") return { _tag: "DoNotRetry" }
  try {
    if (causeChain.isObject(value) && !Duration.isDuration(value)) return moment(value)
    // Turned down at run time when it is no duration.
    const millis = Duration.toMillis(Duration.fromInputUnsafe(value as Duration.Input))
    // A duration of NaN is zero to Effect, but says nothing.
    return Number.isNaN(value) ? undefined : { _tag: "After", millis: bounded(millis) }
  } catch {
    return undefined
  }
}

// A DateTime has its milliseconds as a property; a Date, also one of another realm, as a number.
const moment = (value: object): Hint | undefined => {
  const time = causeChain.get(value, "epochMilliseconds") ?? ("getTime" in value ? Number(value) : undefined)
  return typeof time === "number" && !Number.isNaN(time) ? { _tag: "At", epochMillis: time } : undefined
}

const ofObject = (error: object): Hint | undefined => {
  const description = selfDescription.get(error)
  return description && property(description) || property(error) || header(error)
}

const longestHeader = 100

/** The `Retry-After` of a response that an error carries (RFC 9110, 10.2.3), in a record or in fetch's `Headers`. */
const header = (error: object): Hint | undefined => {
  const response = causeChain.get(error, "response")
  const headers = causeChain.isObject(response) ? causeChain.get(response, "headers") : undefined
  if (!causeChain.isObject(headers)) return undefined
  const text = "get" in headers && typeof headers.get === "function"
    ? headers.get("retry-after")
    : causeChain.get(headers, "retry-after")
  if (typeof text !== "string") return undefined
  // Digits without end are a wait without end, and not worth counting.
  if (text.length > longestHeader) return /^\s*\d+\s*$/.test(text) ? { _tag: "After", millis: Infinity } : undefined
  const parsed = Headers.parseRetryAfter(text)
  if (Result.isFailure(parsed)) return undefined
  const wait = parsed.success
  return wait._tag === "Duration"
    ? { _tag: "After", millis: bounded(Duration.toMillis(wait.duration)) }
    : { _tag: "At", epochMillis: wait.dateTime.epochMilliseconds }
}

const property = (self: object): Hint | undefined => {
  const value = causeChain.get(self, "retryAfter")
  return value === undefined ? undefined : parse(value)
}

/** The first readable hint of an error and what it wraps, outermost first. */
export const find = (error: unknown): Hint | undefined => causeChain.find(error, ofObject)

/**
 * The wait in milliseconds that an error asks for; undefined when it carries no readable hint. `now` gives milliseconds
 * since the epoch, and is read only for a hint that is a moment.
 *
 * Zero or past is 0, longer than 1e15 ms is `Infinity`, "do not retry" is -1.
 */
export const read = (error: unknown, now: () => number): number | undefined => {
  const hint = find(error)
  switch (hint?._tag) {
    case undefined:
      return undefined
    case "After":
      return hint.millis
    case "At":
      return bounded(hint.epochMillis - now())
    case "DoNotRetry":
      return -1
  }
}
