// A budget that outlives its clock: used by a program and under a test's clock, or by two tests.
import { describe, expect, it } from "@effect/vitest"
import { Policy, Retry, RetryBudget } from "@reprise/core"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { TestClock } from "effect/testing"
import { grantedOf, type Meter, meterOf, take } from "./meter.ts"

const kinds: ReadonlyArray<readonly [name: string, make: () => RetryBudget.RetryBudget]> = [
  ["make", () => RetryBudget.make({ initial: 2, perOperation: 1, minPerSecond: 1, ratio: 0 })],
  ["ratio", () => RetryBudget.ratio({ perOperation: 1, minPerSecond: 1, ratio: 0 })],
  ["holding", () => RetryBudget.holding(RetryBudget.make({ initial: 2, perOperation: 1, minPerSecond: 1, ratio: 0 }))]
]

describe.each(kinds)("%s, when its clock goes back", (_, make) => {
  /** How long each of several retries waits that want to start at once. */
  const waits = (meter: Meter, now: number): ReadonlyArray<number> =>
    [1, 2].map(() => {
      const token = take(meter, now)!
      let at = now
      for (let wait = meter.start(at, token); wait > 0; wait = meter.start(at, token)) at += wait
      return at - now
    })

  it("goes on from where it was", () => {
    const meter = meterOf(make())
    const before = waits(meter, 3_600_000)
    // Two clocks later, and back at the first.
    for (const now of [1e9, 0, 100_000, 0, 100_000, 3_600_000, 2e9]) {
      const after = waits(meter, now)
      expect(Math.max(...after)).toBeLessThanOrEqual(Math.max(...before) + 1100)
      // What was taken is forgotten with the window, and what trickles comes.
      expect(grantedOf(meter, now + 30_000, 20)).toBeGreaterThanOrEqual(2)
      for (const wait of [40_000, 60_000]) meter.idle(now + wait)
    }
  })

  it.effect("hangs no run", () =>
    Effect.gen(function* () {
      const budget = make()
      const run = Retry.run(Effect.fail("busy"), Policy.constant("1 millis").pipe(Policy.attempts(2)), { budget })
      yield* Effect.promise(() => Effect.runPromiseExit(run))
      for (let test = 0; test < 3; test++) {
        const fiber = yield* Effect.forkChild(Effect.exit(run))
        yield* TestClock.adjust("10 seconds")
        expect(fiber.pollUnsafe()).toBeDefined()
        yield* Fiber.interrupt(fiber)
      }
    }))

  it.each([[[1, 50, 999, 5000]], [[5000, 999, 50, 1]], [[5000, 1, 5000, 1]]])(
    "does not run ahead where somebody has looked at the clock so many milliseconds ago: %j",
    (agos) => {
      const [late, prompt] = [meterOf(make()), meterOf(make())]
      const differences: Array<number> = []
      for (let now = 0; now < 60_000; now += 100) {
        for (const meter of [late, prompt]) meter.request(now)
        // As by runs whose observers take their time.
        for (const ago of agos) late.balance(Math.max(0, now - ago))
        if (now % 1000 === 0) differences.push(grantedOf(late, now, 3) - grantedOf(prompt, now, 3))
        differences.push(late.balance(now) - prompt.balance(now))
      }
      expect(new Set(differences)).toEqual(new Set([0]))
    }
  )
})
