import { describe, expect, it } from "@effect/vitest"
import { Policy, Retry, RetryBudget } from "@reprise/core"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { TestClock } from "effect/testing"
import { exhaustion, reasonOf } from "../exits.ts"
import * as VirtualClock from "../VirtualClock.ts"
import { meterOf, take } from "./meter.ts"

const busy = Effect.fail("busy")
const policy = Policy.constant("1 second").pipe(Policy.attempts(2))

describe("RetryBudget.holding", () => {
  it.effect("retries of all runs wait, spread over a tenth; first attempts do not", () =>
    Effect.gen(function* () {
      const budget = RetryBudget.holding(RetryBudget.unlimited)
      const retriedAt: Array<number> = []
      const clock = yield* TestClock.testClockWith(Effect.succeed)
      const operation = Effect.flatMap(Retry.Attempt, ({ number }) =>
        Effect.suspend(() => {
          if (number === 2) retriedAt.push(clock.currentTimeMillisUnsafe())
          return busy
        }))
      const fibers = yield* Effect.forEach(
        Array.from({ length: 100 }),
        () => Effect.forkChild(Effect.exit(Retry.run(operation, policy, { budget })))
      )
      yield* TestClock.adjust("500 millis")
      yield* budget.hold("10 seconds")
      yield* TestClock.adjust("10 seconds")
      expect(retriedAt).toEqual([])
      yield* TestClock.adjust("1 second")
      yield* Effect.forEach(fibers, Fiber.join)
      expect(retriedAt).toHaveLength(100)
      expect(Math.min(...retriedAt)).toBeGreaterThanOrEqual(10_500)
      expect(new Set(retriedAt.map((at) => Math.floor(at / 100))).size).toBeGreaterThan(5)
    }))

  it.effect("the latest hold counts, and a shorter one takes nothing back", () =>
    Effect.gen(function* () {
      const budget = RetryBudget.holding(RetryBudget.unlimited)
      const fiber = yield* Effect.forkChild(Effect.exit(Retry.run(busy, policy, { budget })))
      yield* TestClock.adjust(0)
      yield* budget.hold("10 seconds")
      yield* budget.hold("2 seconds")
      yield* TestClock.adjust("9999 millis")
      expect(fiber.pollUnsafe()).toBeUndefined()
      yield* budget.hold("10 seconds")
      yield* TestClock.adjust("9999 millis")
      expect(fiber.pollUnsafe()).toBeUndefined()
      yield* TestClock.adjust("3 seconds")
      yield* Fiber.join(fiber)
    }))

  it.effect("the limits of each run hold, and what was withdrawn is given back", () =>
    Effect.gen(function* () {
      const inner = RetryBudget.quota({ capacity: 3, retryCost: 1, perOperation: 1 })
      const budget = RetryBudget.holding(inner)
      const fiber = yield* Effect.forkChild(
        Effect.exit(Retry.run(busy, policy.pipe(Policy.within("5 seconds")), { budget }))
      )
      yield* TestClock.adjust(0)
      yield* budget.hold("10 seconds")
      yield* TestClock.adjust("1 second")
      const exit = yield* Fiber.join(fiber)
      expect(reasonOf(exit)).toBe("RetryAfterTooLong")
      const error = exhaustion(exit)
      expect(error.message).toContain("told to wait 9 s, at most 4 s allowed")
      expect(DateTime.toEpochMillis(error.retryAt!)).toBe(10_000)
      expect(yield* RetryBudget.balance(inner)).toBe(3)
    }))

  it.effect("leaves nothing with the others of all when runs end while it is held", () =>
    Effect.gen(function* () {
      const [slots, tokens] = [
        RetryBudget.concurrent(),
        RetryBudget.make({ initial: 3, window: "60 seconds", minPerSecond: 0 })
      ]
      const held = RetryBudget.holding(RetryBudget.unlimited)
      const budget = RetryBudget.all([slots, tokens, held])
      for (let i = 0; i < 5; i++) {
        yield* held.hold("10 seconds")
        const fiber = yield* Effect.forkChild(Retry.run(busy, policy, { budget }))
        yield* TestClock.adjust("2 seconds")
        yield* Fiber.interrupt(fiber)
      }
      expect([yield* RetryBudget.balance(slots), yield* RetryBudget.balance(tokens)]).toEqual([3, 3])
    }))

  it.effect("is its budget in all else", () =>
    Effect.gen(function* () {
      const budget = RetryBudget.holding(RetryBudget.quota({ capacity: 1, retryCost: 1 }))
      const exit = yield* Effect.exit(Retry.run(busy, Policy.immediate(5), { budget }))
      expect(reasonOf(exit)).toBe("Budget")
      expect(yield* RetryBudget.balance(budget)).toBe(0)
    }))

  it.effect("keeps the line of a paced budget in order, inside all too", () =>
    Effect.gen(function* () {
      const paced = () => RetryBudget.make({ initial: 20, ratio: 0, minPerSecond: 1, window: "60 seconds" })
      const startsOf = (budget: RetryBudget.RetryBudget) => {
        const meter = meterOf(budget)
        const waiting = Array.from({ length: 6 }, () => ({ token: take(meter, 0)!, at: 0 }))
        const starts: Array<number> = []
        for (let now = 0; now < 60_000; now += 10) {
          for (const one of waiting) {
            if (one.at > now) continue
            const wait = meter.start(now, one.token)
            one.at = wait === 0 ? Infinity : now + wait
            if (wait === 0) starts.push(now)
          }
        }
        // Long after, nobody waits: one that comes alone starts at once.
        starts.push(meter.start(120_000, take(meter, 120_000)!))
        return starts
      }
      const plain = startsOf(paced())
      expect(plain.at(-1)).toBe(0)
      expect(startsOf(RetryBudget.holding(paced()))).toEqual(plain)
      expect(startsOf(RetryBudget.all([RetryBudget.holding(paced()), RetryBudget.unlimited]))).toEqual(plain)
      expect(startsOf(RetryBudget.holding(RetryBudget.all([paced(), RetryBudget.unlimited])))).toEqual(plain)
    }))

  it.effect("holds no longer than it was told under a clock that begins anew", () =>
    Effect.gen(function* () {
      const budget = RetryBudget.holding(RetryBudget.unlimited)
      const meter = meterOf(budget)
      yield* TestClock.adjust("1 hour")
      yield* budget.hold("10 seconds")
      const token = take(meter, 3_600_000)!
      expect(meter.start(3_600_000, token)).toBeGreaterThan(0)
      expect(meter.start(0, token)).toBeLessThanOrEqual(11_000)
      expect(meter.start(11_000, token)).toBe(0)
      yield* budget.hold("10 seconds").pipe(VirtualClock.provide(VirtualClock.stopped()))
      expect(meter.start(0, take(meter, 0)!)).toBeLessThanOrEqual(11_000)
    }))

  it("refuses what is no budget", () => {
    expect(() => RetryBudget.holding({} as never)).toThrow("RetryBudget.holding.budget")
  })
})
