import { describe, expect, it, vi } from "@effect/vitest"
import { Policy, Retry } from "@reprise/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import { getHeapStatistics } from "node:v8"
import * as VirtualClock from "./VirtualClock.ts"

/**
 * Bytes that a run of an effect allocates: of many short measurements the lower quartile, as a collection makes some
 * of them negative, and the compiler, which allocates too, some of them large.
 */
const bytesPerRun = (effect: Effect.Effect<unknown>): number => {
  const runs = 200
  const repeated = Effect.gen(function* () {
    for (let i = 0; i < runs; i++) yield* effect
  })
  for (let warmUp = 0; warmUp < 40; warmUp++) Effect.runSync(repeated)
  const bytes = Array.from({ length: 60 }, () => {
    const before = getHeapStatistics().used_heap_size
    Effect.runSync(repeated)
    return (getHeapStatistics().used_heap_size - before) / runs
  }).filter((used) => used > 0).toSorted((a, b) => a - b)
  return bytes[Math.floor(bytes.length / 4)]!
}

describe("R13: the success path allocates no run state", () => {
  // Reading the time allocates; under this clock it does not.
  const clock = VirtualClock.instant()
  const now = clock.monotonicTimeNanosUnsafe()
  const still: VirtualClock.VirtualClock = { ...clock, monotonicTimeNanosUnsafe: () => now }

  it("costs little more than a bare, lazy catch that knows its clock and start", () => {
    const operation = Effect.succeed(1)
    const bare = Effect.withFiber((fiber) => {
      const startedAt = fiber.getRef(Clock.Clock).monotonicTimeNanosUnsafe()
      return Effect.catchCause(operation, (cause) => startedAt === 0n ? Effect.failCause(cause) : Effect.die(startedAt))
    })
    const run = Retry.run(operation, Policy.standard)
    // Turn by turn, as what the compiler makes of either changes while it runs.
    const rounds = Array.from({ length: 4 }, () => ({
      least: bytesPerRun(VirtualClock.provide(still)(bare)),
      cost: bytesPerRun(VirtualClock.provide(still)(run))
    }))
    const least = Math.min(...rounds.map((_) => _.least))
    const cost = Math.min(...rounds.map((_) => _.cost))
    expect(least).toBeGreaterThan(0)
    // What the handler closes over, as far as the compiler leaves it; a rough bound, for what is kept or copied.
    expect(cost - least).toBeLessThan(300)
  })

  it("makes no state: the stepper is started by the first failure", () => {
    const policy = Policy.attempts(Policy.constant(5), 3)
    const start = vi.spyOn(Policy.stepper(policy), "start")
    Effect.runSync(Retry.run(Effect.void, policy))
    expect(start).toHaveBeenCalledTimes(0)
    Effect.runSyncExit(VirtualClock.provide(VirtualClock.instant())(Retry.run(Effect.fail("busy"), policy)))
    expect(start).toHaveBeenCalledTimes(1)
  })

  it("reads the time once, the date never, and draws nothing", () => {
    const read = { monotonic: 0, wall: 0, random: 0 }
    const counting: VirtualClock.VirtualClock = {
      ...clock,
      currentTimeMillisUnsafe: () => ++read.wall,
      currentTimeNanosUnsafe: () => BigInt(++read.wall),
      monotonicTimeNanosUnsafe: () => BigInt(++read.monotonic)
    }
    Effect.runSync(
      Retry.run(Effect.void, Policy.standard.pipe(Policy.honoringRetryAfter())).pipe(
        VirtualClock.provide(counting),
        Effect.provideService(Random.Random, {
          nextDoubleUnsafe: () => ++read.random,
          nextIntUnsafe: () => ++read.random
        })
      )
    )
    expect(read).toEqual({ monotonic: 1, wall: 0, random: 0 })
  })
})
