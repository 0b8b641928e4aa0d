import * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import type { Failed, Fields, Reason } from "../RetryExhausted.ts"
import * as causeChain from "./causeChain.ts"
import { spell } from "./notation/duration.ts"
import { oneLine } from "./oneLine.ts"

const textOf = (error: object, key: string): string => {
  const value = causeChain.get(error, key)
  return typeof value === "string" ? value : ""
}

// Of Node.js and the libraries around it, and SQLSTATE.
const systemCode = /^(?:[A-Z][A-Z0-9_]{2,49}|[0-9A-Z]{5})$/

/** What a system says went wrong, below an error that says little: `ECONNREFUSED` of a "transport error". */
const codeOf = (error: object): string | undefined => {
  const code = textOf(error, "code")
  return systemCode.test(code) ? code : undefined
}

/** An error in one line: what kind it is and what it says. It may be anything, also something that throws when read. */
const errorLine = (error: unknown): string => {
  if (typeof error === "function") return "a function"
  if (!causeChain.isObject(error)) return oneLine(String(error))
  const kind = textOf(error, "_tag") || textOf(error, "name") || "an error"
  const message = textOf(error, "message") || textOf(error, "code")
  const line = oneLine(message === "" ? kind : `${kind}: ${message}`)
  const code = causeChain.find(error, codeOf)
  return code === undefined || line.includes(code) ? line : `${line} (${code})`
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
      return "the retry budget says no"
    case "SwitchedOff":
      return "retries are switched off"
    case "Unsafe":
      return "it may have taken effect, and is not safe to repeat"
    case "Pushback":
      return "told not to retry"
    case "RetryAfterTooLong":
      return `told to wait ${rounded(reason.hint)}, at most ${rounded(reason.max)} allowed`
    case "Layer":
      return "a retry inside was exhausted already"
    case "Collapsed":
      return "left to the retries around it"
  }
}

/** What gave up, after how much, and on what. */
export const sentence = (fields: Fields): string => {
  const { attempts, elapsed, lastError, operation, reason } = fields
  return `${oneLine(operation ?? "") || "An operation"} gave up after ${times(attempts, "attempt")} in ${
    rounded(elapsed)
  } ` +
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
  _id: "RetryExhausted",
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
