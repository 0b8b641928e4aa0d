import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Random from "effect/Random"
import type { Attempt as AttemptInfo, RetryEvent } from "../Retry.ts"
import * as RetryExhausted from "../RetryExhausted.ts"
import * as Stepper from "../Stepper.ts"
import { format } from "./notation/format.ts"
import { hidesExhausted, isExhausted } from "./layer.ts"
import type { Any } from "./policy.ts"
import { millisSince } from "./time.ts"

const firstAttempt: AttemptInfo = { number: 1, previous: undefined, elapsed: Duration.zero }

/** See `Retry.Attempt`. */
export const Attempt: Context.Reference<AttemptInfo> = /* @__PURE__ */ Context.Reference(
  "@reprise/core/Retry/Attempt",
  {
    defaultValue: () => firstAttempt
  }
)

/** What all runs of one configuration share. */
export interface Settings {
  readonly policy: Any
  readonly stepper: Stepper.Stepper
  readonly name: string | undefined
  readonly attemptTimeout: Duration.Duration | undefined
  /** An error that it rejects is terminal, whatever the policy says. */
  readonly allows: ((error: unknown) => boolean) | undefined
  readonly when: ((error: never) => Effect.Effect<boolean, never, unknown>) | undefined
  readonly onRetry: ((event: RetryEvent<never>) => Effect.Effect<void, never, unknown>) | undefined
}

type AnyEffect = Effect.Effect<unknown, unknown, unknown>

/** Stands for one run of an effect that has an attempt timeout. */
interface Owner {
  readonly timeout: Duration.Duration
}

/** The timeout of one attempt. It knows its run, so that no other run takes it for its own. */
class AttemptTimeout extends Cause.TimeoutError {
  readonly owner: Owner

  constructor(owner: Owner) {
    super(`An attempt took longer than ${Duration.format(owner.timeout)}`)
    this.owner = owner
    // It is nothing to print.
    Object.defineProperty(this, "owner", { enumerable: false })
  }
}

const isTimeoutOf = (owner: Owner, error: unknown): boolean => {
  try {
    return error instanceof AttemptTimeout && error.owner === owner
  } catch {
    // A Proxy that does not let its prototype be seen.
    return false
  }
}

/** One failed attempt, in milliseconds. */
interface Entry {
  readonly attempt: number
  readonly error: unknown
  readonly elapsed: number
  readonly delay: number | undefined
}

/** A run after its first failure; the success path makes none. It is the `Failure` that the stepper reads. */
interface Run extends Stepper.Failure {
  readonly settings: Settings
  readonly operation: AnyEffect
  readonly owner: Owner | undefined
  readonly fiber: Fiber.Fiber<unknown, unknown>
  readonly clock: Clock.Clock
  readonly startedAt: bigint
  readonly state: Stepper.State
  attempt: number
  elapsed: number
  now: number
  timedOut: boolean
  waits: number
  waited: number
  lastCause: Cause.Cause<unknown>
  /** The last failures, the newest last; `undefined` before the first is remembered, as an empty list is not small. */
  history: Array<Entry> | undefined
}

/** `Effect.provideService`, by the way that costs a third less. */
const provideAttempt = (self: AnyEffect, info: AttemptInfo): AnyEffect =>
  Effect.updateContext(self, (context: Context.Context<unknown>) => Context.add(context, Attempt, info))

/** The first failure of a cause without defect and interruption, or `undefined`. */
const failureOf = (cause: Cause.Cause<unknown>): Cause.Fail<unknown> | undefined => {
  const { reasons } = cause
  for (let i = 0; i < reasons.length; i++) if (reasons[i]!._tag !== "Fail") return undefined
  return reasons[0] as Cause.Fail<unknown> | undefined // The loop has just shown that it is one.
}

const isExhaustion = (reason: Cause.Reason<unknown>): boolean =>
  reason._tag === "Fail" && (isExhausted(reason.error) || hidesExhausted(reason.error))

const published = ({ delay, elapsed, ...entry }: Entry): RetryExhausted.Failed => ({
  ...entry,
  elapsed: Duration.millis(elapsed),
  delay: delay === undefined ? undefined : Duration.millis(delay)
})

const reasonOf = (tag: RetryExhausted.ReasonTag, run: Run): RetryExhausted.Reason =>
  tag === "RetryAfterTooLong"
    ? {
      _tag: tag,
      hint: Duration.millis(Math.min(run.state.hint ?? 0, Number.MAX_SAFE_INTEGER)),
      max: Duration.millis(run.settings.stepper.hintLimit ?? 0)
    }
    : { _tag: tag }

const retryAtOf = ({ now, state: { hint } }: Run): DateTime.Utc | undefined => {
  if (hint === undefined || hint < 0) return undefined
  const at = DateTime.make(now + hint)
  return at._tag === "Some" ? DateTime.toUtc(at.value) : undefined
}

const giveUp = (run: Run, tag: RetryExhausted.ReasonTag): AnyEffect => {
  const { history = [], settings } = run
  return Effect.fail(
    new RetryExhausted.RetryExhausted({
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
  )
}

const remember = (run: Run, error: unknown, delay: number | undefined): void => {
  const entry = { attempt: run.attempt, error, elapsed: run.elapsed, delay }
  const { history } = run
  if (history === undefined) {
    run.history = [entry]
  } else {
    if (history.length === RetryExhausted.mostHistory) history.shift()
    history.push(entry)
  }
}

const lastErrorOf = ({ history }: Run): unknown => history?.[history.length - 1]?.error

/** Sleeps, then tries again. A wait of zero still lets other fibres run. */
const waitFor = (run: Run, delay: number): AnyEffect => {
  run.waits++
  run.waited += delay
  return Effect.flatMap(delay === 0 ? Effect.yieldNow : run.clock.sleep(Duration.millis(delay)), () => wake(run))
}

/** What a function of the options returns; a defect that names the function where that is no effect. */
const called = <A>(
  option: string,
  run: Run,
  f: () => Effect.Effect<A, never, unknown>
): Effect.Effect<A, never, unknown> => {
  const returned = f()
  return Effect.isEffect(returned) ? returned : Effect.die(
    new TypeError(
      `The option "${option}" of ${run.settings.name ?? "a run"} must return an Effect, got ${typeof returned}`
    )
  )
}

/** Gives up when the functions of the options took so long that the wait would now pass the elapsed limit. */
const inTime = (run: Run, error: unknown, delay: number, next: () => AnyEffect): AnyEffect => {
  run.elapsed = millisSince(run.clock, run.startedAt)
  if (run.elapsed + delay <= run.state.limit) return next()
  remember(run, error, undefined)
  return giveUp(run, "Elapsed")
}

/** What `when` and `onRetry` have to say before the wait; a budget is withdrawn between them. */
const granted = (run: Run, error: unknown, cause: Cause.Cause<unknown>, delay: number): AnyEffect => {
  const { name, onRetry } = run.settings
  const when = run.timedOut ? undefined : run.settings.when
  const sleep = () => {
    remember(run, error, delay)
    return waitFor(run, delay)
  }
  if (when === undefined && onRetry === undefined) return sleep()
  const announce = () => {
    if (onRetry === undefined) return sleep()
    const event = {
      name,
      attempt: run.attempt,
      // The types of `Retry.run` have checked that the functions can read the error.
      error: error as never,
      elapsed: Duration.millis(run.elapsed),
      delay: Duration.millis(delay)
    }
    return Effect.flatMap(called("onRetry", run, () => onRetry(event)), () => inTime(run, error, delay, sleep))
  }
  return when === undefined ? announce() : Effect.flatMap(
    called("when", run, () => when(error as never)), // As above.
    (yes) => yes === true ? inTime(run, error, delay, announce) : Effect.failCause(cause)
  )
}

/** Rule R2: what comes after a failed attempt. */
const decide = (run: Run, cause: Cause.Cause<unknown>): AnyEffect => {
  const failure = failureOf(cause)
  if (failure === undefined) return Effect.failCause(cause)
  const { clock, fiber, settings, state } = run
  const { allows, stepper } = settings
  const { error } = failure
  run.elapsed = millisSince(clock, run.startedAt)
  run.timedOut = run.owner !== undefined && isTimeoutOf(run.owner, error)
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
  // The stepper has looked at the policy's elapsed limit; the caller's deadline has its place here.
  if (decision >= 0) return granted(run, error, cause, decision)
  const tag = Stepper.reason(decision)
  if (tag === undefined) return Effect.failCause(cause)
  remember(run, error, undefined)
  return giveUp(run, tag)
}

/** The next attempt, unless the process was frozen past the time at which it may start. */
const wake = (run: Run): AnyEffect => {
  run.elapsed = millisSince(run.clock, run.startedAt)
  // The deadline and the switch have their place here once more.
  if (run.elapsed > run.state.limit) return giveUp(run, "Elapsed")
  run.attempt++
  const info: AttemptInfo = {
    number: run.attempt,
    previous: lastErrorOf(run),
    elapsed: Duration.millis(run.elapsed)
  }
  return Effect.catchCause(provideAttempt(run.operation, info), (cause) => decide(run, cause))
}

const start = (
  settings: Settings,
  operation: AnyEffect,
  owner: Owner | undefined,
  fiber: Fiber.Fiber<unknown, unknown>,
  clock: Clock.Clock,
  startedAt: bigint,
  lastCause: Cause.Cause<unknown>
): Run => ({
  settings,
  operation,
  owner,
  fiber,
  clock,
  startedAt,
  state: settings.stepper.start(),
  attempt: 1,
  elapsed: 0,
  now: 0,
  timedOut: false,
  waits: 0,
  waited: 0,
  lastCause,
  history: undefined
})

const limited = (self: AnyEffect, owner: Owner): AnyEffect =>
  Effect.timeoutOrElse(self, {
    duration: owner.timeout,
    orElse: () => Effect.fail(new AttemptTimeout(owner))
  })

/** An effect under the settings. */
export const run = (self: AnyEffect, settings: Settings): AnyEffect =>
  Effect.withFiber((fiber) => {
    const { attemptTimeout } = settings
    const owner = attemptTimeout === undefined ? undefined : { timeout: attemptTimeout }
    const operation = owner === undefined ? self : limited(self, owner)
    const clock = fiber.getRef(Clock.Clock)
    const startedAt = clock.monotonicTimeNanosUnsafe()
    // The default is attempt 1, so nothing is provided, unless this run stands inside a later attempt of another.
    const first = fiber.getRef(Attempt) === firstAttempt ? operation : provideAttempt(operation, firstAttempt)
    return Effect.catchCause(
      first,
      (cause) => decide(start(settings, operation, owner, fiber, clock, startedAt, cause), cause)
    )
  })
