/**
 * Effect's own errors, known by what marks them: a type id, a tag with a field that only they have, `isRetryable`.
 */
import * as Cause from "effect/Cause"
import { get, isObject } from "../causeChain.ts"
import { readStatus } from "./codes.ts"
import { type Decision, decision } from "./decision.ts"
import { isRedisError } from "../redisError.ts"
import * as redis from "./redis.ts"
import { lookup, type Outcome, shed, terminal, terminalMaybe, transient, transientMaybe } from "./outcomes.ts"

const sqlReason = "~effect/sql/SqlError/Reason"

// PlatformError is not here: the system code below it says more. A tag alone may be anybody's; the table has each with a field that only Effect's error has beside it.
const fields = ["request", "key", "limit"]

/** What an error of Effect's says, or undefined when it is none, or leaves it to what it wraps. */
export const read = (error: object): Decision | undefined => {
  const retryable = get(error, "isRetryable")
  const tag = get(error, "_tag")
  if (typeof retryable === "boolean") return readRetryable(error, tag, retryable)
  if (typeof tag !== "string") return undefined
  if (get(error, Cause.TimeoutErrorTypeId) !== undefined) return decision(transientMaybe, "effect", tag)
  if (isRedisError(error)) return redis.read(error)
  for (const field of fields) {
    if (get(error, field) === undefined) continue
    const outcome = lookup(`${tag}/${field}`)
    // The code below is more exact: a refused connection, a broken certificate, a body cut off.
    if (outcome !== undefined) return decision(outcome, "effect", tag, field === "request")
  }
  return undefined
}

const readRetryable = (error: object, tag: unknown, retryable: boolean): Decision | undefined => {
  const reason = get(error, "reason")
  // SqlError, AiError and GraphQLClientError repeat what their reason says; the reason is read next.
  if (isObject(reason) && typeof get(reason, "isRetryable") === "boolean") return undefined
  // "Not retryable" only for want of knowledge: a shutdown of PostgreSQL (57P01) comes out like this.
  if (tag === "UnknownError") return undefined
  const code = typeof tag === "string" ? tag : "isRetryable"
  if (get(error, sqlReason) !== undefined) {
    const outcome = retryable ? tag === "ConnectionError" ? transientMaybe : transient : terminal
    return decision(outcome, "effect", code, true)
  }
  return decision(outcomeOf(error, tag, retryable), "effect", code)
}

const outcomeOf = (error: object, tag: unknown, retryable: boolean): Outcome => {
  if (tag === "RateLimitError" && retryable) return shed
  // The error itself knows whether; its status knows whether the failed attempt was refused.
  const status = get(error, "status")
  const outcome = typeof status === "number" ? readStatus(status) : undefined
  return outcome !== undefined && (outcome.transience === "transient") === retryable
    ? outcome
    : retryable
    ? transientMaybe
    : terminalMaybe
}

/** Whether one of Effect's circuit breakers or rate limiters refused the call, so that it reached nobody. */
export const isRefused = (error: unknown): boolean =>
  isObject(error) && (refused(error) || refused(get(error, "reason")))

// Without the table of codes: it weighs more than a program that reads no code has left for it.
const refused = (error: unknown): boolean => {
  if (!isObject(error)) return false
  switch (get(error, "_tag")) {
    case "CircuitOpen":
    case "CircuitHalfOpen":
      return get(error, "key") !== undefined
    case "RateLimitExceeded":
      return get(error, "limit") !== undefined
  }
  return false
}
