/** What becomes of a record when its operation has ended. */
import type * as Transience from "@reprise/core/Transience"
import * as RetryExhausted from "@reprise/core/RetryExhausted"
import * as Cause from "effect/Cause"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"

export type Verdict = "record" | "free" | "doubt"

/** Whether nothing took effect: in any of the attempts, where a retry inside has given up. */
const notApplied = (error: unknown, transience: Transience.Classifier): boolean => {
  if (!RetryExhausted.is(error)) return transience.notApplied(error)
  return error.history.length === error.attempts
    && error.history.every((failed) => notApplied(failed.error, transience))
}

/** Whether another attempt could end in another way. */
const isTransient = (error: unknown, transience: Transience.Classifier): boolean =>
  RetryExhausted.is(error) || transience.isTransient(error)

export const verdict = (
  exit: Exit.Exit<unknown, unknown>,
  isOutcome: (error: unknown) => boolean,
  transience: Transience.Classifier
): Verdict => {
  if (Exit.isSuccess(exit)) return "record"
  // A defect or an interruption beside a failure: the operation did not end where it meant to.
  if (exit.cause.reasons.length === 0 || !exit.cause.reasons.every(Cause.isFailReason)) return "doubt"
  const error = Option.getOrUndefined(Exit.findErrorOption(exit))
  if (isTransient(error, transience)) return notApplied(error, transience) ? "free" : "doubt"
  if (isOutcome(error)) return "record"
  return notApplied(error, transience) ? "free" : "doubt"
}
