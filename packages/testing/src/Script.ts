/**
 * Operations with scripted outcomes: a dependency that fails twice and then answers, hangs, or takes three seconds.
 *
 * ```ts
 * import { Policy } from "@reprise/core"
 * import { Script, Timeline } from "@reprise/testing"
 * import { Data, Effect } from "effect"
 *
 * class Unavailable extends Data.TaggedError("Unavailable")<{}> {}
 *
 * const charge = Script.make([
 *   Script.fail(new Unavailable()),
 *   Script.after("3 seconds", Script.fail(new Unavailable())),
 *   Script.succeed("charged")
 * ])
 *
 * const policy = Policy.exponential("500 millis").pipe(Policy.attempts(5))
 * const timeline = await Effect.runPromise(Timeline.record(charge, policy))
 *
 * console.log(timeline.attempts.map((_) => _.start)) // => [ 0, 500, 4500 ]
 * ```
 */
import * as Retry from "@reprise/core/Retry"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Recording from "./internal/recording.ts"
import * as validate from "./internal/validate.ts"

/**
 * What one attempt comes to. Any effect is an outcome; this module names the usual ones.
 *
 * @category models
 */
export type Outcome<A = unknown, E = unknown, R = unknown> = Effect.Effect<A, E, R>

/**
 * An operation of which attempt 1 comes to the first outcome, attempt 2 to the second, and so on. The last outcome
 * repeats: a script of one failure is an outage that does not end.
 *
 * It is a plain effect and keeps no state: it reads the number of the attempt under way, so every run of it begins at
 * the first outcome, and runs at the same time do not disturb each other. `Retry.run` and {@link Timeline.recordWith}
 * count attempts; outside of both, under `Effect.retry` alone, every attempt is the first.
 *
 * ```ts
 * import { Policy, Retry } from "@reprise/core"
 * import { Script } from "@reprise/testing"
 * import { Effect } from "effect"
 *
 * const script = Script.make([...Script.times(2, Script.fail("no answer")), Script.succeed("answered")])
 *
 * console.log(await Effect.runPromise(Retry.run(script, Policy.immediate(5)))) // => answered
 * ```
 *
 * @throws `InvalidPolicy` for an empty list
 * @category constructors
 */
export const make = <const Outcomes extends ReadonlyArray<Outcome>>(outcomes: Outcomes): Effect.Effect<
  Effect.Success<Outcomes[number]>,
  Effect.Error<Outcomes[number]>,
  Effect.Services<Outcomes[number]>
> => {
  const list = validate.nonEmpty("make.outcomes", outcomes)
  return Effect.withFiber((fiber) => {
    const number = fiber.getRef(Recording.Turn) ?? fiber.getRef(Retry.Attempt).number
    // What the array's type says of its elements in sum, the compiler does not see in one of them.
    return (list[number - 1] ?? list[list.length - 1]) as Effect.Effect<never>
  })
}

/**
 * The attempt fails with an error.
 *
 * @category outcomes
 */
export const fail: <E>(error: E) => Outcome<never, E, never> = Effect.fail

/**
 * The attempt succeeds with a value.
 *
 * @category outcomes
 */
export const succeed: <A>(value: A) => Outcome<A, never, never> = Effect.succeed

/**
 * The attempt dies with a defect, which no policy retries.
 *
 * @category outcomes
 */
export const die: (defect: unknown) => Outcome<never, never, never> = Effect.die

/**
 * The attempt interrupts itself. To interrupt a run from outside, see `interruptAfter` of {@link Timeline.record}.
 *
 * @category outcomes
 */
export const interrupt: Outcome<never, never, never> = Effect.interrupt

/**
 * The attempt never ends by itself; only an attempt timeout or an interruption ends it. A recording knows at once that
 * it need not wait for it, where `Effect.never` takes the recording's patience, in real time.
 *
 * ```ts
 * import { Policy } from "@reprise/core"
 * import { Script, Timeline } from "@reprise/testing"
 * import { Effect } from "effect"
 *
 * const script = Script.make([Script.hang, Script.succeed("answered")])
 * const policy = Policy.constant("1 second").pipe(Policy.attempts(3))
 * const timeline = await Effect.runPromise(Timeline.record(script, policy, { attemptTimeout: "2 seconds" }))
 *
 * console.log(timeline.attempts.map((_) => _.outcome)) // => [ 'TimedOut', 'Success' ]
 * ```
 *
 * @category outcomes
 */
export const hang: Outcome<never, never, never> = Effect.withFiber((fiber) => {
  const recording = fiber.getRef(Recording.Current)
  if (recording === undefined) return Effect.never
  return Effect.callback(() => {
    recording.hanging++
    Recording.change(recording)
    return Effect.sync(() => {
      recording.hanging--
    })
  })
})

/**
 * The attempt takes this long on the clock before it comes to the outcome.
 *
 * @category outcomes
 */
export const after = <A, E, R>(duration: Duration.Input, outcome: Outcome<A, E, R>): Outcome<A, E, R> =>
  Effect.delay(outcome, duration)

/**
 * The same outcome `n` times, to be spread into the list of {@link make}.
 *
 * - `n`: an integer of at least 0
 *
 * @throws `InvalidPolicy` for any other `n`
 * @category outcomes
 */
export const times = <A, E, R>(n: number, outcome: Outcome<A, E, R>): ReadonlyArray<Outcome<A, E, R>> =>
  Array.from({ length: validate.integer("times.n", n, 0) }, () => outcome)
