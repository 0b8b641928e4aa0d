import * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as RetryExhausted from "../../RetryExhausted.ts"
import { format } from "../notation/format.ts"
import { type Entry, lastErrorOf, type Run } from "./state.ts"
import { longest } from "../stepper/waits.ts"

const published = ({ delay, elapsed, ...entry }: Entry): RetryExhausted.Failed => ({
  ...entry,
  elapsed: Duration.millis(elapsed),
  delay: delay === undefined ? undefined : Duration.millis(delay)
})

const reasonOf = (tag: RetryExhausted.ReasonTag, run: Run): RetryExhausted.Reason =>
  tag === "RetryAfterTooLong"
    ? {
      _tag: tag,
      hint: Duration.millis(Math.min(run.state.hint ?? 0, longest)),
      max: Duration.millis(run.allowed ?? run.found.settings.stepper.hintLimit ?? 0)
    }
    : { _tag: tag }

const retryAtOf = ({ now, state: { hint } }: Run): DateTime.Utc | undefined => {
  if (hint === undefined || hint < 0) return undefined
  const at = DateTime.make(now + hint)
  return at._tag === "Some" ? DateTime.toUtc(at.value) : undefined
}

/** The error of a run that ends here. */
export const exhausted = (run: Run, tag: RetryExhausted.ReasonTag): RetryExhausted.RetryExhausted => {
  const { found: { settings }, history = [] } = run
  return new RetryExhausted.RetryExhausted({
    operation: settings.name,
    reason: reasonOf(tag, run),
    attempts: run.attempt,
    elapsed: Duration.millis(run.elapsed),
    waits: { count: run.waits, total: Duration.millis(run.waited) },
    history: history.map(published),
    lastError: lastErrorOf(run),
    lastCause: run.lastCause,
    policy: format(settings.policy.spec),
    retryAt: retryAtOf(run)
  })
}
