import * as RetryExhausted from "@reprise/core/RetryExhausted"
import * as Cause from "effect/Cause"
import * as Exit from "effect/Exit"
import type { Attempt, Timeline } from "../Timeline.ts"
import type { Entry, Recording } from "./recording.ts"

const outcomeOf = (exit: Exit.Exit<unknown, unknown>): "Success" | "Failure" | "Defect" | "Interrupted" => {
  if (Exit.isSuccess(exit)) return "Success"
  if (Cause.hasDies(exit.cause)) return "Defect"
  return Cause.hasInterrupts(exit.cause) ? "Interrupted" : "Failure"
}

const attemptOf = (entry: Entry, hung: boolean): Attempt => {
  const { end, number, start, timedOut } = entry
  // A run does not end before its attempts, unless somebody else was given one to run.
  const exit = entry.exit ?? Exit.interrupt()
  const outcome = outcomeOf(exit)
  return {
    number,
    start,
    end,
    outcome: outcome !== "Interrupted" ? outcome : timedOut ? "TimedOut" : hung ? "Hanging" : outcome,
    exit
  }
}

const isExhausted = (exit: Exit.Exit<unknown, unknown>): boolean =>
  Exit.isFailure(exit) && RetryExhausted.is(Cause.squash(exit.cause))

/** What has been recorded of a run that ended. `hung` says that it had to be interrupted to make it end. */
export const of = (recording: Recording, exit: Exit.Exit<unknown, unknown>, hung: boolean): Timeline => {
  const { attempts, base, waits } = recording
  const outcome = outcomeOf(exit)
  return {
    attempts: attempts.map((entry) => attemptOf(entry, hung && entry.number === attempts.length)),
    waits,
    elapsed: base.currentTimeMillisUnsafe(),
    outcome: hung ? "Hanging" : outcome === "Failure" && isExhausted(exit) ? "Exhausted" : outcome,
    exit
  }
}
