/**
 * What a run did, and when, in virtual time.
 *
 * ```ts
 * import { Policy } from "@reprise/core"
 * import { Script, Timeline } from "@reprise/testing"
 * import { Data, Effect } from "effect"
 *
 * class Timeout extends Data.TaggedError("Timeout")<{}> {}
 *
 * const script = Script.make([...Script.times(3, Script.fail(new Timeout())), Script.succeed("ok")])
 * const policy = Policy.exponential("500 millis").pipe(Policy.attempts(5))
 * const timeline = await Effect.runPromise(Timeline.record(script, policy))
 *
 * console.log(timeline.waits) // => [ 500, 1000, 2000 ]
 *
 * console.log(Timeline.render(timeline))
 * // => 1 |x.....                                  |   0ms  Timeout, then waited 500ms
 * // => 2 |      x..........                       | 500ms  Timeout, then waited 1s
 * // => 3 |                 x..................... |  1.5s  Timeout, then waited 2s
 * // => 4 |                                       o|  3.5s  succeeded
 * // => Succeeded after 4 attempts in 3.5s: "ok"
 * ```
 */
import type * as Policy from "@reprise/core/Policy"
import * as Retry from "@reprise/core/Retry"
import type { RetryExhausted } from "@reprise/core/RetryExhausted"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as internal from "./internal/record.ts"
import { render as renderTimeline } from "./internal/render.ts"
import * as validate from "./internal/validate.ts"

/**
 * One execution of the operation. Times are milliseconds from the start of the run.
 *
 * @category models
 */
export interface Attempt<out A = unknown, out E = unknown> {
  /** The first is 1. */
  readonly number: number
  readonly start: number
  readonly end: number
  /**
   * - `TimedOut`: it was interrupted after a timer of the run had ended: the attempt timeout, or with
   *   {@link recordWith} any other sleep of the run while the attempt was under way, such as one it is raced against
   * - `Hanging`: the recording had to end it, as nothing else was going to
   */
  readonly outcome: "Success" | "Failure" | "Defect" | "Interrupted" | "TimedOut" | "Hanging"
  /** How the operation itself ended: an attempt that timed out was interrupted. */
  readonly exit: Exit.Exit<A, E>
}

/**
 * A run as it was recorded, in plain data. Times are milliseconds of the virtual clock from the start of the run.
 *
 * - `A`, `E`: what the run succeeds and fails with
 * - `AttemptA`, `AttemptE`: what an attempt succeeds and fails with
 *
 * @category models
 */
export interface Timeline<out A = unknown, out E = unknown, out AttemptA = A, out AttemptE = E> {
  readonly attempts: ReadonlyArray<Attempt<AttemptA, AttemptE>>
  /**
   * For how long the run asked the clock to sleep between each attempt and the next; 0 where it did not sleep. A run
   * that is interrupted while it waits has as many waits as attempts, the last one as it was asked for, however little
   * of it was slept; others have one less.
   */
  readonly waits: ReadonlyArray<number>
  readonly elapsed: number
  /**
   * - `Exhausted`: failed with `RetryExhausted`; `Failure` is any other error
   * - `Hanging`: it waited for what never came, and was interrupted by the recording
   */
  readonly outcome: "Success" | "Failure" | "Exhausted" | "Defect" | "Interrupted" | "Hanging"
  readonly exit: Exit.Exit<A, E>
}

/**
 * Under which conditions a run is recorded. A value out of bounds throws `InvalidPolicy`, and so does another key.
 *
 * @category models
 */
export interface Conditions {
  /**
   * The seed of the run's `Random`, a string or a finite number: the same seed, the same jitter. The numbers are those
   * of `Random.withSeed`, which another version of Effect may draw differently; `random` depends on nothing. Default:
   * the `Random` of the context.
   */
  readonly seed?: number | string | undefined
  /**
   * Exactly these draws, each in `[0, 1)`; a draw too many is a defect. `"lowest"` draws nothing but 0 and `"highest"`
   * the largest number below 1, so that two recordings bound every wait of a policy with jitter. Wins over `seed`.
   */
  readonly random?: "lowest" | "highest" | ReadonlyArray<number> | undefined
  /**
   * The time on the virtual clock at which the run is interrupted, as by a caller that goes away. At least 0. What is
   * due at that very time happens first: with waits of a minute and `"3 minutes"` the fourth attempt starts, and if it
   * fails at once, the run is interrupted at the beginning of its fourth wait. Default: never.
   */
  readonly interruptAfter?: Duration.Input | undefined
  /**
   * For how long, in real time, an attempt may wait for something that is not on the clock, such as a promise, before
   * the clock moves on to its attempt timeout; without one, the run is `Hanging`. Finite, at least 0. Default: 1
   * second.
   */
  readonly patience?: Duration.Input | undefined
}

/**
 * How a policy is run, and under which conditions.
 *
 * @category models
 */
export interface Options<in E = unknown, out R = never> extends Retry.Options<E, R>, Conditions {}

/**
 * Runs an operation under a policy, as `Retry.run` does, and returns what it did. Use it to assert the waits of a
 * policy, or what a run makes of a fault.
 *
 * The run gets a `TestClock` of its own that starts at 0 and is moved to the end of the next sleep whenever nothing
 * else can happen, so no real time passes, and a clock around it stays where it is: it works inside of `it.effect` and
 * with `Effect.runPromise` alike. It never fails: how the run ended is the timeline's `exit`.
 *
 * A run without an end is recorded without an end: give an `unlimited` policy an `interruptAfter`.
 *
 * What an attempt waits for off the clock is waited for in real time; see {@link Conditions.patience}. Where an attempt
 * races such a thing against a sleep of its own, as `Effect.timeout` inside the operation does, the sleep wins: give
 * the run an `attemptTimeout` instead.
 *
 * ```ts
 * import { Policy } from "@reprise/core"
 * import { Script, Timeline } from "@reprise/testing"
 * import { Effect } from "effect"
 *
 * const outage = Script.make([Script.fail("no answer")])
 * const policy = Policy.exponential("1 second").pipe(Policy.jittered, Policy.attempts(4))
 * const waits = (options: Timeline.Conditions) =>
 *   Effect.runPromise(Timeline.record(outage, policy, options)).then((_) => _.waits)
 *
 * console.log(await waits({ random: [0.5, 0.25, 0.125] })) // => [ 500, 500, 500 ]
 * console.log(await waits({ random: "lowest" })) // => [ 0, 0, 0 ]
 * console.log(await waits({ random: "highest" })) // => [ 1000, 2000, 4000 ]
 *
 * const same = [await waits({ seed: "storm" }), await waits({ seed: "storm" })]
 * console.log(String(same[0]) === String(same[1])) // => true
 * ```
 *
 * @throws `InvalidPolicy` as `Retry.run`, for a bad condition, and for an option that neither of them knows
 * @category recording
 */
export const record: {
  <A, E extends I, R, I, T, H>(self: Effect.Effect<A, E, R>, policy: Policy.Policy<I, T, H>): Effect.Effect<
    Timeline<
      A,
      | Exclude<E, H>
      | Extract<E, RetryExhausted>
      | Retry.Exhausted<Retry.Meet<Exclude<E, RetryExhausted>, T>>,
      A,
      E
    >,
    never,
    R
  >
  <A, E extends I, R, I, T, H, const O extends Options<Retry.Meet<Exclude<E, RetryExhausted>, T>, unknown>>(
    self: Effect.Effect<A, E, R>,
    policy: Policy.Policy<I, T, H>,
    options: Retry.Only<O, Options>
  ): Effect.Effect<
    Timeline<
      A,
      | Exclude<E, Retry.HandledWith<O, H>>
      | Extract<E, RetryExhausted>
      | Retry.Exhausted<Retry.Meet<Exclude<E, RetryExhausted>, T> | Retry.TimeoutOf<O>>,
      A,
      E
    >,
    never,
    R | Retry.NeededBy<O>
  >
} = <A, E, R>(
  self: Effect.Effect<A, E, R>,
  policy: Policy.Policy<E>,
  options: Options<never, unknown> = {}
): never => {
  validate.known("record", options, validate.runKeys)
  const { interruptAfter, patience, random, seed, ...rest } = options
  const runOptions = { ...rest, when: internal.asideWith(rest.when), onRetry: internal.asideWith(rest.onRetry) }
  const run = (operation: Effect.Effect<A, E, R>) =>
    // The types of the overloads have checked that the functions can read the errors.
    Retry.run(operation, policy, runOptions as Retry.Options<unknown, unknown>)
  const conditions = validate.conditions("record", { interruptAfter, patience, random, seed })
  // `never` fits both overloads, which say of the error what `Retry.run` says.
  return internal.record(self, run, conditions) as never
}

/**
 * As {@link record}, for runs of every other kind: a `Retry.make`, `Retry.runKeyed`, `Effect.retry` with a schedule.
 * `run` gets the operation, whose executions are the attempts, and returns the run. Its waits are what the fibre of
 * the run sleeps between attempts; sleeps of an `onRetry` count among them.
 *
 * ```ts
 * import { Script, Timeline } from "@reprise/testing"
 * import { Effect, Schedule } from "effect"
 *
 * const script = Script.make([...Script.times(2, Script.fail("no answer")), Script.succeed("answered")])
 * const timeline = await Effect.runPromise(Timeline.recordWith(script, Effect.retry(Schedule.exponential("1 second"))))
 *
 * console.log(timeline.waits) // => [ 1000, 2000 ]
 * ```
 *
 * @throws `InvalidPolicy` for a bad condition
 * @category recording
 */
export const recordWith = <A, E, R, B, E2, R2, const O extends Conditions = Conditions>(
  self: Effect.Effect<A, E, R>,
  run: (operation: Effect.Effect<A, E, R>) => Effect.Effect<B, E2, R2>,
  conditions?: Retry.Only<O, Conditions>
): Effect.Effect<Timeline<B, E2, A, E>, never, R2> => {
  const given: Conditions = conditions === undefined ? {} : conditions
  validate.known("recordWith", given, [])
  return internal.record(self, run, validate.conditions("recordWith", given))
}

/**
 * Draws a timeline: a line for each attempt, each where it stands in time, and one for the run. The drawing is ASCII;
 * beside it stand the texts of errors and values as they are, each kept to its line. Use it in snapshots and in
 * messages of failed assertions, there with a line break before it: `"\n" + Timeline.render(timeline)`.
 *
 * - `width`: columns of the drawing, an integer of at least 1; default 40
 *
 * An attempt is drawn as `=` for as long as it takes and then a mark: `o` succeeded, `x` failed, `t` timed out,
 * `!` died, `/` was interrupted, `?` hung. A wait is drawn as `.`. Of more than 36 attempts those in the middle are left out.
 *
 * ```ts
 * import { Policy } from "@reprise/core"
 * import { Script, Timeline } from "@reprise/testing"
 * import { Effect } from "effect"
 *
 * const script = Script.make([Script.hang, Script.fail("no answer"), Script.after("1 second", Script.succeed(42))])
 * const policy = Policy.constant("2 seconds").pipe(Policy.attempts(3))
 * const timeline = await Effect.runPromise(Timeline.record(script, policy, { attemptTimeout: "5 seconds" }))
 *
 * console.log(Timeline.render(timeline, { width: 20 }))
 * // => 1 |==========t..       | 0ms  timed out after 5s, then waited 2s
 * // => 2 |             x...   |  7s  "no answer", then waited 2s
 * // => 3 |                 ==o|  9s  succeeded after 1s
 * // => Succeeded after 3 attempts in 10s: 42
 * ```
 *
 * @throws `InvalidPolicy` for a bad width
 * @category rendering
 */
export const render = (timeline: Timeline, options?: { readonly width?: number | undefined }): string =>
  renderTimeline(timeline, validate.integer("render.width", options?.width ?? 40, 1))
