/** What a failing response means, whatever client it came through. */
import type * as Transience from "@reprise/core/Transience"
import * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Option from "effect/Option"
import * as RetryHint from "../../RetryHint.ts"
import { ResponseError } from "./responseError.ts"

/** A response, as far as it is looked at. Names of headers are in lower case. */
export interface Failing {
  readonly method: string
  readonly url: string
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** As JSON, for profiles that read it. */
  readonly body: unknown
  /** Whether it may answer another request than the one that was made, such as that of a redirect. */
  readonly elsewhere?: boolean | undefined
}

/** By what it is judged. */
export interface Rules {
  readonly profile: RetryHint.Profile
  readonly transience: Transience.Classifier
  /** The headers that an error may show. */
  readonly allowed: ReadonlySet<string>
}

/** The error that a response is where it is worth a retry. */
export interface Judged {
  readonly error: ResponseError
  /** The wait that was asked for, in milliseconds. */
  readonly wait: number | undefined
}

/** A hint as errors carry it. */
const carried = (hint: Transience.Hint | undefined): Transience.RetryAfter | undefined => {
  switch (hint?._tag) {
    case undefined:
      return undefined
    case "After":
      return Duration.millis(hint.millis)
    case "At":
      // Readers keep moments within what a date can be.
      return Option.getOrElse(DateTime.make(hint.epochMillis), () => Duration.infinity)
    case "DoNotRetry":
      return "do not retry"
  }
}

// The server could not be sure of the connection, or of the early data: either is over at the next attempt.
const once: ReadonlySet<number> = new Set([421, 425])

/** Whether a status is worth one more attempt in a run and not two, and has had it: `met` are those of the run. */
export const isOver = (met: Set<number>, status: number): boolean => {
  if (met.has(status)) return true
  if (once.has(status)) met.add(status)
  return false
}

/** Without credentials, query and fragment: these hold secrets. */
export const bare = (url: string): string => {
  if (!URL.canParse(url)) return url.replace(/[?#].*$/s, "")
  const { host, origin, pathname, protocol } = new URL(url)
  return `${origin === "null" ? `${protocol}//${host}` : origin}${pathname}`
}

const longestHeader = 1024

const picked = (headers: Failing["headers"], allowed: ReadonlySet<string>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers)
      .filter(([name]) => allowed.has(name))
      .map(([name, value]) => [name, value.length > longestHeader ? `${value.slice(0, longestHeader)}…` : value])
  )

/** Judges a response of status 400 or above; undefined where it is to pass as it is. */
export const judge = (
  { body, elsewhere = false, headers, method, status, url }: Failing,
  now: number,
  { allowed, profile, transience }: Rules,
  note?: string
): Judged | undefined => {
  const { decidedBy, hint, shouldRetry } = RetryHint.read({ status, headers, body }, { now, profile })
  // What rules of the caller's may look at.
  const seen = { _tag: "ResponseError", status, method, url: bare(url), headers, retryAfter: carried(hint) }
  const { applied, hint: ruled, throttled, transience: verdict } = transience.classify(seen)
  // A rule of the caller's may know a wait where the response says none.
  const told = hint ?? ruled
  // The server knows its own failures best. A refusal in words is a hint, which ends the run and says so.
  const transient = shouldRetry === undefined || (!shouldRetry && decidedBy !== "status")
    ? verdict === "transient"
    : shouldRetry
  if (!transient) return undefined
  const error = new ResponseError({
    status,
    method,
    url: seen.url,
    headers: picked(headers, allowed),
    // That it did nothing is said of the request that it answers, and not of what led there.
    applied: elsewhere && applied === "no" ? "maybe" : applied,
    throttled,
    retryAfter: carried(told),
    note
  })
  return { error, wait: told === undefined ? undefined : RetryHint.toMillis(told, now) }
}
