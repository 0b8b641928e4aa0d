import { type Policy, Retry } from "@reprise/core"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Random from "effect/Random"
import * as VirtualClock from "./VirtualClock.ts"

/** Draws the numbers given, again and again. */
export const draws = (...numbers: ReadonlyArray<number>): Random.Random => {
  let next = 0
  return {
    nextDoubleUnsafe: () => numbers[next++ % numbers.length]!,
    nextIntUnsafe: () => 0
  }
}

/** A generator of our own, so that no release of Effect moves what a test expects (mulberry32). */
export const seeded = (seed: number): Random.Random => {
  let state = seed
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
  return { nextDoubleUnsafe: next, nextIntUnsafe: () => Math.floor(next() * 2 ** 32) }
}

/** What a run did, in virtual milliseconds. */
export interface Recording<A, E> {
  readonly exit: Exit.Exit<A, E>
  readonly attempts: number
  /** When each attempt began. */
  readonly starts: ReadonlyArray<number>
  readonly waits: ReadonlyArray<number>
}

interface Settings {
  readonly clock?: VirtualClock.VirtualClock
  readonly random?: Random.Random
}

/** Runs what `driver` makes of an operation whose attempts are given by number. */
export const recordWith = <A, E, B, E2>(
  attempt: (number: number, clock: VirtualClock.VirtualClock) => Effect.Effect<A, E>,
  driver: (operation: Effect.Effect<A, E>) => Effect.Effect<B, E2>,
  { clock = VirtualClock.instant(), random = draws(0.5) }: Settings = {}
): Recording<B, E2> => {
  const starts: Array<number> = []
  const operation = Effect.suspend(() => {
    starts.push(clock.now)
    return starts.length > 20_000 ? Effect.die("It goes on for ever") : attempt(starts.length, clock)
  })
  const exit = driver(operation).pipe(
    VirtualClock.provide(clock),
    Effect.provideService(Random.Random, random),
    Effect.runSyncExit
  )
  return { exit, attempts: starts.length, starts, waits: clock.sleeps }
}

/** Runs an operation whose attempts are given by number under a policy. */
export const record = <A, E>(
  attempt: (number: number, clock: VirtualClock.VirtualClock) => Effect.Effect<A, E>,
  policy: Policy.Policy<E>,
  settings?: Settings
) => recordWith(attempt, Retry.run(policy), settings)
