/** What becomes of a record when its operation has ended. */
import type * as Transience from "@reprise/core/Transience"
import * as RetryExhausted from "@reprise/core/RetryExhausted"
import * as Cause from "effect/Cause"
import * as Exit from "effect/Exit"

type Verdict = "record" | "free" | "doubt"

const recorded: Exit.Exit<Verdict> = Exit.succeed("record")

/** Whether nothing took effect: in any of the attempts, where a retry inside has given up. */
const notApplied = (error: unknown, transience: Transience.Classifier): boolean => {
  if (!RetryExhausted.is(error)) return transience.notApplied(error)
  return error.history.length === error.attempts
    && error.history.every((failed) => notApplied(failed.error, transience))
}

/** Whether another attempt could end in another way. */
const isTransient = (error: unknown, transience: Transience.Classifier): boolean =>
  RetryExhausted.is(error) || transience.isTransient(error)

/** What all failures of a cause allow: the worst of several that came at once is what nobody may overlook. */
const judge = (
  errors: ReadonlyArray<unknown>,
  isOutcome: (error: unknown) => boolean,
  transience: Transience.Classifier
): Verdict => {
  const isPassing = errors.some((error) => isTransient(error, transience))
  if (!isPassing && errors.every(isOutcome)) return "record"
  return errors.every((error) => notApplied(error, transience)) ? "free" : "doubt"
}

/** A predicate that throws is a defect, as is one of the program's anywhere else. */
export const verdict = (
  exit: Exit.Exit<unknown, unknown>,
  isOutcome: (error: unknown) => boolean,
  transience: Transience.Classifier
): Exit.Exit<Verdict> => {
  if (Exit.isSuccess(exit)) return recorded
  const { reasons } = exit.cause
  // A defect or an interruption beside a failure: the operation did not end where it meant to.
  if (reasons.length === 0 || !reasons.every(Cause.isFailReason)) return Exit.succeed("doubt")
  try {
    return Exit.succeed(judge(reasons.map(({ error }) => error), isOutcome, transience))
  } catch (thrown) {
    return Exit.die(thrown)
  }
}
