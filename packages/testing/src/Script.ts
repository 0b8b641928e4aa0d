/**
 * Operations with scripted outcomes.
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Retry from "@reprise/core/Retry"
import * as Recording from "./internal/recording.ts"
import * as Turn from "./internal/turn.ts"

/**
 * What an attempt comes to. Any effect is one; the constructors of this module are names for the usual ones.
 *
 * @category models
 */
export type Outcome<A = unknown, E = unknown, R = unknown> = Effect.Effect<A, E, R>

export const make = <const Outcomes extends ReadonlyArray<Outcome>>(outcomes: Outcomes): Effect.Effect<
  Effect.Success<Outcomes[number]>,
  Effect.Error<Outcomes[number]>,
  Effect.Services<Outcomes[number]>
> => {
  const last = outcomes.length - 1
  if (last < 0) throw new RangeError("Script.make wants at least one outcome")
  return Effect.withFiber((fiber) => {
    const number = fiber.getRef(Turn.Turn) ?? fiber.getRef(Retry.Attempt).number
    return outcomes[Math.min(number - 1, last)] as never
  })
}

export const fail: <E>(error: E) => Outcome<never, E, never> = Effect.fail
export const succeed: <A>(value: A) => Outcome<A, never, never> = Effect.succeed
export const die: (defect: unknown) => Outcome<never, never, never> = Effect.die
export const interrupt: Outcome<never, never, never> = Effect.interrupt
export const hang: Outcome<never, never, never> = Effect.withFiber((fiber) => {
  const recording = fiber.getRef(Recording.Current)
  if (recording === undefined) return Effect.never
  return Effect.callback(() => {
    recording.hanging++
    recording.changed()
    return Effect.sync(() => {
      recording.hanging--
    })
  })
})
export const after = <A, E, R>(duration: Duration.Input, outcome: Outcome<A, E, R>): Outcome<A, E, R> =>
  Effect.delay(outcome, duration)
export const times = <A, E, R>(n: number, outcome: Outcome<A, E, R>): ReadonlyArray<Outcome<A, E, R>> =>
  Array.from({ length: n }, () => outcome)
