import { describe, expect, it } from "@effect/vitest"
import { Policy } from "@reprise/core"
import { Script, Timeline } from "@reprise/testing"
import { Effect, Exit, Random } from "effect"

const outage = Script.make([Script.fail("no answer")])
const policy = Policy.exponential("1 second").pipe(Policy.jittered, Policy.attempts(4))

const waits = (conditions: Timeline.Conditions) =>
  Effect.map(Timeline.record(outage, policy, conditions), (timeline) => timeline.waits)

describe("jitter", () => {
  it.effect("R11: the same seed gives the same waits", () =>
    Effect.gen(function* () {
      expect(yield* waits({ seed: 7 })).toEqual(yield* waits({ seed: 7 }))
      expect(yield* waits({ seed: "storm" })).toEqual(yield* waits({ seed: "storm" }))
    }))

  it.effect("another seed gives other waits", () =>
    Effect.gen(function* () {
      expect(yield* waits({ seed: 7 })).not.toEqual(yield* waits({ seed: 8 }))
    }))

  it.effect("a seed draws what Random.withSeed draws", () =>
    Effect.gen(function* () {
      const seeded = yield* Random.withSeed(waits({}), 7)
      expect(yield* waits({ seed: 7 })).toEqual(seeded)
    }))

  it.effect("without a seed the waits are those of the context's Random", () =>
    Effect.gen(function* () {
      const half = { nextDoubleUnsafe: () => 0.5, nextIntUnsafe: () => 0 }
      expect(yield* Effect.provideService(waits({}), Random.Random, half)).toEqual([500, 1000, 2000])
    }))

  it.effect("without a seed every wait is within the bounds", () =>
    Effect.gen(function* () {
      const low = yield* waits({ random: "lowest" })
      const high = yield* waits({ random: "highest" })
      expect([low, high]).toEqual([[0, 0, 0], [1000, 2000, 4000]])
      for (let run = 0; run < 50; run++) {
        for (const [index, wait] of (yield* waits({})).entries()) {
          expect(wait).toBeGreaterThanOrEqual(low[index]!)
          expect(wait).toBeLessThanOrEqual(high[index]!)
        }
      }
    }))

  it.effect("given draws give exact waits", () =>
    Effect.gen(function* () {
      expect(yield* waits({ random: [0.5, 0.25, 0.125] })).toEqual([500, 500, 500])
    }))

  it.effect("given draws begin anew for each recording", () =>
    Effect.gen(function* () {
      const recording = waits({ random: [0.5, 0.25, 0.125] })
      expect(yield* recording).toEqual(yield* recording)
    }))

  it.effect("a draw too many is a defect that says so", () =>
    Effect.gen(function* () {
      const timeline = yield* Timeline.record(outage, policy, { random: [0.5] })
      expect(timeline.outcome).toBe("Defect")
      expect(timeline.waits).toEqual([500])
      expect(String(timeline.exit)).toContain("drew more than the 1 numbers given")
    }))

  it.effect("the operation draws from the same source", () =>
    Effect.gen(function* () {
      const draws = Effect.all([Random.next, Random.nextIntBetween(1, 6), Random.nextInt])
      const { exit } = yield* Timeline.record(draws, policy, { random: [0.5, 0.5, 0] })
      expect(exit).toEqual(Exit.succeed([0.5, 4, Number.MIN_SAFE_INTEGER]))
    }))
})
