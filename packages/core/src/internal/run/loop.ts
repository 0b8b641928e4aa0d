/** Rule R2: what comes after a failed attempt. */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Random from "effect/Random"
import type { Attempt as AttemptInfo } from "../../Retry.ts"
import type { ReasonTag } from "../../RetryExhausted.ts"
import * as Stepper from "../../Stepper.ts"
import { endsOuter, handedOver } from "../layer.ts"
import * as names from "../observe/names.ts"
import { isUnclassified } from "../transience/unclassified.ts"
import { predicates } from "../policy.ts"
import { Attempt, isTimeoutOf, limited } from "./attempt.ts"
import * as budgeted from "./budgeted.ts"
import { called } from "./called.ts"
import { exhausted } from "./giveUp.ts"
import type { AnyEffect } from "./settings.ts"
import { firstOf, type Found, lastErrorOf, monotonic, remember, type Run, start, tick } from "./state.ts"
import * as watch from "./watch.ts"

/** The first failure of a cause without defect and interruption, or `undefined`. */
const failureOf = (cause: Cause.Cause<unknown>): Cause.Fail<unknown> | undefined => {
  const { reasons } = cause
  for (let i = 0; i < reasons.length; i++) if (reasons[i]!._tag !== "Fail") return undefined
  return reasons[0] as Cause.Fail<unknown> | undefined // The loop has just shown that it is one.
}

const isExhaustion = (reason: Cause.Reason<unknown>): boolean => reason._tag === "Fail" && endsOuter(reason.error)

/** Tells of the run to those who watch it, then goes on. */
const telling = (run: Run, event: watch.Particulars, next: () => AnyEffect): AnyEffect => {
  const told = watch.tellOf(run, event)
  return told === undefined ? next() : Effect.flatMap(told, next)
}

const giveUp = (run: Run, tag: ReasonTag): AnyEffect => {
  budgeted.release(run)
  run.told = true
  const error = exhausted(run, tag)
  return telling(run, { _tag: "Exhausted", error }, () => Effect.fail(error))
}

/** Gives up on an error that the policy would have retried. */
const stop = (run: Run, error: unknown, tag: ReasonTag): AnyEffect => {
  remember(run, error, undefined)
  return giveUp(run, tag)
}

/** An error that is not worth a retry, or a cause that is none: it leaves as it is. */
const leave = (run: Run, error: unknown, cause: Cause.Cause<unknown>): AnyEffect => {
  run.told = true
  if (run.found.watch === undefined) return Effect.failCause(cause)
  const unclassified = isUnclassified(predicates(run.found.settings.policy), error)
  return telling(run, { _tag: "Terminal", error, unclassified }, () => Effect.failCause(cause))
}

/** Why a retry may not start so many milliseconds from now: time that the functions of the options took counts too. */
const lateness = (run: Run, delay: number): ReasonTag | undefined => {
  const at = tick(run) + delay
  if (at > run.state.limit) return "Elapsed"
  return at >= run.found.deadline ? "Deadline" : undefined
}

const inTime = (run: Run, error: unknown, delay: number, next: () => AnyEffect): AnyEffect => {
  const late = lateness(run, delay)
  return late === undefined ? next() : stop(run, error, late)
}

/** A wait, counted by those who watch. One of zero still lets other fibres run. */
const slept = ({ found }: Run, delay: number): Effect.Effect<void> => {
  const sleep = delay === 0 ? Effect.yieldNow : found.site.clock.sleep(Duration.millis(delay))
  const { watch: watching } = found
  return watching === undefined ? sleep : Effect.suspend(() => {
    // Those who were told of its beginning are told of its end, though their layer be gone by then.
    const observers = watching.observers.slice()
    watch.waiting(observers, found.settings.name, 1)
    return Effect.onExitPrimitive(sleep, () => {
      watch.waiting(observers, found.settings.name, -1)
      return undefined
    })
  })
}

/** The wait itself, told to those who watch. */
const announced = (run: Run, error: unknown, delay: number): AnyEffect => {
  const { found } = run
  const { onRetry } = found.settings
  const sleep = (): AnyEffect => {
    remember(run, error, delay)
    run.waits++
    run.waited += delay
    if (found.watch === undefined) return slept(run, delay)
    return telling(run, { _tag: "RetryScheduled", error, delay: Duration.millis(delay) }, () => slept(run, delay))
  }
  if (onRetry === undefined) return sleep()
  const event = {
    name: found.settings.name,
    attempt: run.attempt,
    // The types of `Retry.run` have checked that the functions can read the error.
    error: error as never,
    elapsed: Duration.millis(run.elapsed),
    delay: Duration.millis(delay)
  }
  return Effect.flatMap(
    called("onRetry", found.settings.name, () => onRetry(event)),
    () => inTime(run, error, delay, sleep)
  )
}

const denied = (run: Run, error: unknown): AnyEffect =>
  telling(run, { _tag: "BudgetDenied", error }, () => giveUp(run, "Budget"))

/** A retry that waited while an operator lowered the ratio is paid for once more, as the switch stands now. */
const repaid = (run: Run): AnyEffect => {
  const error = lastErrorOf(run)
  budgeted.release(run)
  const payer = budgeted.payerOf(run)
  return payer === undefined ? wake(run) : budgeted.withdraw(
    run,
    payer,
    error,
    (yes) => yes === false ? denied(run, error) : wake(run)
  )
}

/** What the run around is to retry: paid for here, unless it pays from the same budget. */
const handOver = (run: Run, error: unknown): AnyEffect => {
  const { counted } = run.found.site
  const payer = counted ? undefined : budgeted.payerOf(run)
  if (payer === undefined) return stop(run, error, "Collapsed")
  return budgeted.withdraw(run, payer, error, (yes) => {
    remember(run, error, undefined)
    if (yes === false) return denied(run, error)
    budgeted.start(run)
    return giveUp(run, "Collapsed")
  })
}

/** The budget's word, then `onRetry` and the wait, then the retry. */
const granted = (run: Run, error: unknown, delay: number): AnyEffect => {
  const { found } = run
  if (found.site.collapsed) return handOver(run, error)
  const payer = budgeted.payerOf(run)
  if (payer === undefined && found.watch === undefined) {
    return Effect.flatMap(announced(run, error, delay), () => wake(run))
  }
  const paid = payer === undefined ? announced(run, error, delay) : budgeted.withdraw(run, payer, error, (yes) => {
    if (yes === false) {
      remember(run, error, undefined)
      return denied(run, error)
    }
    // Only one that had to be asked over a wire has taken time.
    return yes === true ? announced(run, error, delay) : inTime(run, error, delay, () => announced(run, error, delay))
  })
  return Effect.flatMap(paid, () => wake(run))
}

/** The caller's `when`, where it has something to say. */
const asked = (run: Run, error: unknown, cause: Cause.Cause<unknown>, delay: number): AnyEffect => {
  const { name, when } = run.found.settings
  const yes = () => {
    budgeted.failed(run, error)
    return granted(run, error, delay)
  }
  return when === undefined || run.timedOut ? yes() : Effect.flatMap(
    called("when", name, () => when(error as never)), // As `onRetry`.
    (answer) => answer === true ? inTime(run, error, delay, yes) : leave(run, error, cause)
  )
}

const isRepeatable = ({ found: { settings: { repeatable } } }: Run, error: unknown): boolean =>
  repeatable === undefined || repeatable(error as never) // As `onRetry`.

/** The decision on a failed attempt, with the error that counts: that of a run inside that handed it over. */
const decided = (run: Run, cause: Cause.Cause<unknown>, failed: unknown): AnyEffect => {
  const { found: { deadline, fiber, owner, settings, site: { clock } }, state } = run
  const { allows, stepper } = settings
  const error = handedOver(failed)
  run.timedOut = owner !== undefined && isTimeoutOf(owner, error)
  if (stepper.readsHints) run.now = clock.currentTimeMillisUnsafe()
  let decision: Stepper.Decision
  try {
    decision = allows === undefined || allows(error)
      ? stepper.step(state, run, error, fiber.getRef(Random.Random))
      : Stepper.stops.Terminal
  } catch (defect) {
    return Effect.die(defect)
  }
  // Beside the first failure there may be others, of effects that ran in parallel.
  if (decision !== Stepper.stops.Terminal && cause.reasons.length > 1 && cause.reasons.some(isExhaustion)) {
    decision = Stepper.stops.Layer
  }
  run.lastCause = cause
  if (decision >= 0) {
    if (run.elapsed + decision >= deadline) return counted(run, error, "Deadline")
    if (budgeted.isOff(run.found)) return counted(run, error, "SwitchedOff")
    return isRepeatable(run, error) ? asked(run, error, cause, decision) : counted(run, error, "Unsafe")
  }
  const tag = Stepper.reason(decision)
  if (tag === undefined) return leave(run, failed, cause)
  return tag === "Layer" ? stop(run, error, tag) : counted(run, error, tag)
}

/** Gives up on an error that counts as a failure of what is called. */
const counted = (run: Run, error: unknown, tag: ReasonTag): AnyEffect => {
  budgeted.failed(run, error)
  return stop(run, error, tag)
}

const decide = (run: Run, cause: Cause.Cause<unknown>): AnyEffect => {
  const { found } = run
  tick(run)
  const failure = failureOf(cause)
  if (failure === undefined) {
    return found.watch === undefined || Cause.hasInterruptsOnly(cause)
      ? Effect.failCause(cause)
      : leave(run, Cause.squash(cause), cause)
  }
  return found.watch === undefined
    ? decided(run, cause, failure.error)
    : telling(run, { _tag: "AttemptFailed", error: failure.error }, () => decided(run, cause, failure.error))
}

/** Whether a retry is late because of a hint that another run was given; then that is why, and when to come back. */
const held = (run: Run): boolean => {
  const hint = budgeted.heldFor(run)
  if (hint === 0) return false
  run.state.hint = hint
  run.now = run.found.site.clock.currentTimeMillisUnsafe()
  run.allowed = Math.max(0, Math.min(run.state.limit, run.found.deadline) - run.elapsed)
  return true
}

/** The next attempt, unless the process was frozen past the time at which it may start. */
const wake = (run: Run): AnyEffect => {
  const { found } = run
  const late = lateness(run, 0)
  if (late !== undefined) return giveUp(run, late)
  if (budgeted.isOff(found)) return giveUp(run, "SwitchedOff")
  if (budgeted.isLowered(run)) return repaid(run)
  const more = budgeted.start(run)
  if (more > 0) {
    const tooLate = lateness(run, more)
    if (tooLate !== undefined) return giveUp(run, held(run) ? "RetryAfterTooLong" : tooLate)
    run.waited += more
    return Effect.flatMap(slept(run, more), () => wake(run))
  }
  run.attempt++
  if (found.watch !== undefined) watch.retried(found.watch)
  const info: AttemptInfo = {
    number: run.attempt,
    previous: lastErrorOf(run),
    elapsed: Duration.millis(run.elapsed)
  }
  return Effect.catchCause(
    attempt(found, run, Context.add(found.site.inside, Attempt, info), run.elapsed),
    (cause) => decide(run, cause)
  )
}

/** What is done when an attempt has ended, whether or not somebody catches what it ended with. */
const ended = (found: Found, run: Run | undefined) => (exit: Exit.Exit<unknown, unknown>): AnyEffect | undefined => {
  const { site: { counted, meter }, watch: watching } = found
  meter?.exit?.()
  if (run !== undefined) budgeted.settle(run)
  if (exit._tag === "Failure") {
    if (watching === undefined || run !== undefined || !Cause.hasInterruptsOnly(exit.cause)) return undefined
    const at = firstOf(found)
    tick(at)
    return watch.tellOf(at, { _tag: "Interrupted" }, true)
  }
  if (meter?.success === undefined && watching === undefined) return undefined
  const at = run ?? firstOf(found)
  tick(at)
  if (!counted) (at.spent?.by ?? meter)?.success?.(monotonic(at), at.spent?.withdrawal)
  return watch.tellOf(at, { _tag: "Succeeded" }, run === undefined)
}

/** One attempt in its context. `run` is `undefined` in the first. */
const attempt = (
  found: Found,
  run: Run | undefined,
  context: Context.Context<never>,
  elapsed: number
): AnyEffect => {
  const { operation, owner, settings, site: { counted, meter }, watch: watching } = found
  let self = owner === undefined ? operation : limited(operation, owner, found.deadline - elapsed)
  if (settings.attemptSpans) {
    self = Effect.withSpan(self, settings.name ?? "attempt", { attributes: { [names.attempt]: run?.attempt ?? 1 } })
  }
  // It holds all that the context around has.
  self = Effect.updateContext(self, () => context as Context.Context<unknown>)
  const watched = (meter?.success !== undefined && !counted) || settings.onEvent !== undefined ||
    (run === undefined
      ? watching !== undefined && watch.wantsFirst(watching.observers)
      : run.paid !== undefined || run.spent !== undefined || watching !== undefined)
  const entered = meter?.enter !== undefined
  if (!watched && !entered) return self
  return Effect.onExitPrimitive(
    // Counted inside, so that each entry has its exit.
    entered ? Effect.suspend(() => (meter.enter?.(), self)) : self,
    ended(found, run)
  )
}

/** What comes after the first attempt has failed. */
export const failedFirst = (found: Found, cause: Cause.Cause<unknown>): AnyEffect => {
  // Told when the attempt ended.
  if (Cause.hasInterruptsOnly(cause)) return Effect.failCause(cause)
  const run = start(found, cause)
  if (found.watch === undefined && found.site.meter === undefined && found.site.control === undefined) {
    return decide(run, cause)
  }
  return Effect.onExitPrimitive(Effect.suspend(() => decide(run, cause)), (exit) => closed(run, exit))
}

/** Leaves nothing of a run that ended where it tells nobody: interrupted, or by a defect of what the caller gave it. */
const closed = (run: Run, exit: Exit.Exit<unknown, unknown>): AnyEffect | undefined => {
  if (exit._tag === "Success") return undefined
  tick(run)
  budgeted.release(run)
  budgeted.settle(run)
  if (run.told) return undefined
  run.told = true
  return watch.tellOf(
    run,
    Cause.hasInterruptsOnly(exit.cause)
      ? { _tag: "Interrupted" }
      : { _tag: "Terminal", error: Cause.squash(exit.cause), unclassified: false }
  )
}

/** A run, from its first attempt on. */
export const first = (found: Found): AnyEffect =>
  Effect.catchCause(attempt(found, undefined, found.site.inside, 0), (cause) => failedFirst(found, cause))
