import * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import type { Failed, Fields, Reason } from "../RetryExhausted.ts"
import { spell } from "./notation/duration.ts"

const longestText = 200

const cut = (text: string): string => text.length > longestText ? `${text.slice(0, longestText)}…` : text

/** An error in one line: what kind it is and what it says. */
const errorLine = (error: unknown): string => {
  if (typeof error !== "object" || error === null) return cut(String(error))
  const tag = "_tag" in error && typeof error._tag === "string" ? error._tag : undefined
  const name = tag ?? (error instanceof Error ? error.name : "an error")
  const message = error instanceof Error ? error.message : ""
  return cut(message === "" ? name : `${name}: ${message}`)
}

/** A duration for people: milliseconds below a second, seconds with two decimals above. */
const rounded = (duration: Duration.Duration): string => {
  const millis = Duration.toMillis(duration)
  return spell(millis < 1000 ? Math.round(millis) : Math.round(millis / 10) * 10)
}

const times = (n: number, word: string): string => `${n} ${word}${n === 1 ? "" : "s"}`

const why = (reason: Reason): string => {
  switch (reason._tag) {
    case "Attempts":
      return "no attempts left"
    case "End":
      return "no waits left"
    case "Elapsed":
      return "no time left"
    case "Deadline":
      return "the caller's deadline is too near"
    case "Budget":
      return "the retry budget is empty"
    case "Pushback":
      return "told not to retry"
    case "RetryAfterTooLong":
      return `told to wait ${rounded(reason.hint)}, at most ${rounded(reason.max)} allowed`
    case "Layer":
      return "a retry inside was exhausted already"
  }
}

/** What gave up, after how much, and on what. */
export const sentence = (fields: Fields): string => {
  const { attempts, elapsed, lastError, operation, reason } = fields
  return `${operation ?? "An operation"} gave up after ${times(attempts, "attempt")} in ${rounded(elapsed)} ` +
    `(${why(reason)}). Last error: ${errorLine(lastError)}`
}

const line = ({ attempt, delay, error }: Failed): string =>
  `  attempt ${attempt}: ${errorLine(error)}${delay === undefined ? "" : `, then waited ${rounded(delay)}`}`

/** The sentence, the failures and the policy, a line each. */
export const report = (fields: Fields): string => {
  const { attempts, history, policy, retryAt, waits } = fields
  const dropped = attempts - history.length
  return [
    `RetryExhausted: ${sentence(fields)}`,
    ...(dropped > 0 ? [`  … ${times(dropped, "earlier attempt")}`] : []),
    ...history.map(line),
    `  waited ${times(waits.count, "time")}, ${rounded(waits.total)} in all`,
    `  policy ${policy}`,
    ...(retryAt === undefined ? [] : [`  asked to come back at ${DateTime.formatIso(retryAt)}`])
  ].join("\n")
}

/** The fields for a structured log: plain, bounded, durations in milliseconds. */
export const json = (fields: Fields): unknown => ({
  _tag: "RetryExhausted",
  message: sentence(fields),
  operation: fields.operation,
  reason: fields.reason._tag,
  attempts: fields.attempts,
  elapsed: Duration.toMillis(fields.elapsed),
  waits: { count: fields.waits.count, total: Duration.toMillis(fields.waits.total) },
  lastError: errorLine(fields.lastError),
  policy: fields.policy,
  retryAt: fields.retryAt === undefined ? undefined : DateTime.formatIso(fields.retryAt)
})
