/**
 * What a run says of itself on standard error: one line an attempt.
 */
import type { RetryEvent } from "@reprise/core/Retry"
import type { Reason, RetryExhausted } from "@reprise/core/RetryExhausted"
import type { TimeoutError } from "effect/Cause"
import * as Duration from "effect/Duration"
import { spell } from "../durations.ts"
import { say } from "../Ending.ts"
import type { ProgramFailed } from "./ProgramFailed.ts"

type Failure = ProgramFailed | TimeoutError

const how = (error: Failure): string => error._tag === "ProgramFailed" ? error.how : "took too long"

const why = (reason: Reason): string => {
  switch (reason._tag) {
    case "Attempts":
    case "End":
      return "that was the last one"
    case "Elapsed":
    case "Deadline":
      return "no time for another one"
    case "RetryAfterTooLong":
      return `it asked for ${spell(Duration.toMillis(reason.hint))}, more than the ${
        spell(Duration.toMillis(reason.max))
      } that are waited for`
    case "Pushback":
      return "it asked not to be tried again"
    case "Budget":
      return "the retry budget says no"
    case "SwitchedOff":
      return "retries are switched off"
    case "Unsafe":
      return "it may have taken effect"
    case "Layer":
    case "Collapsed":
      return "a run inside gave up"
  }
}

export const retrying = ({ attempt, delay, error }: RetryEvent<Failure>): void =>
  say(`attempt ${attempt}: ${how(error)}; the next one in ${spell(Duration.toMillis(delay))}`)

export const gaveUp = ({ attempts, lastError, reason }: RetryExhausted<Failure>): void =>
  say(`attempt ${attempts}: ${how(lastError)}; ${why(reason)}`)

export const refused = (attempt: number, error: ProgramFailed): void =>
  say(`attempt ${attempt}: ${error.how}; not worth another one`)

export const succeeded = (attempt: number): void => say(`attempt ${attempt}: succeeded`)

export const interrupted = (attempt: number, waiting: boolean, signal: NodeJS.Signals): void =>
  say(
    waiting ? `ended by ${signal} while waiting for attempt ${attempt + 1}` : `attempt ${attempt}: ended by ${signal}`
  )
