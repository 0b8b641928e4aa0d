// Effect's own rate limiter under a run. `RateLimitExceeded.retryAfter` is a hint, and what the limiter refused reached
// nobody, so it takes an attempt, and nothing from the budget.
import { describe, expect, it } from "@effect/vitest"
import { Policy, Retry, RetryBudget, Transience } from "@reprise/core"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as RateLimiter from "effect/persistence/RateLimiter"
import * as Random from "effect/Random"
import { TestClock } from "effect/testing"
import { exhaustion } from "./exits.ts"
import { draws, seeded } from "./Recording.ts"

const exceeded = new RateLimiter.RateLimiterError({
  reason: new RateLimiter.RateLimitExceeded({
    key: "search",
    retryAfter: Duration.seconds(20),
    limit: 10,
    remaining: 0
  })
})

const patient = Policy.constant("1 second").pipe(Policy.honoringRetryAfter(), Policy.attempts(4))

/** A limiter of one call in ten seconds. */
const limiting = Effect.map(
  RateLimiter.make,
  (limiter) => limiter.consume({ key: "search", limit: 1, window: "10 seconds" })
)

const limits = <A, E>(test: Effect.Effect<A, E, RateLimiter.RateLimiterStore>) =>
  Effect.provide(test, RateLimiter.layerStoreMemory)

describe("what a rate limiter refused", () => {
  it("is worth a retry, was not done, and says when to come back", () => {
    expect(Transience.classify(exceeded)).toMatchObject({
      transience: "transient",
      applied: "no",
      throttled: true,
      hint: { _tag: "After", millis: 20_000 }
    })
  })

  it("is not confused with a store that is broken", () => {
    const store = new RateLimiter.RateLimiterError({
      reason: new RateLimiter.RateLimitStoreError({ message: "no way to Redis" })
    })
    expect(Transience.classify(store).transience).toBe("unknown")
  })
})

describe("a limit that is exceeded is a hint", () => {
  it.effect("R7: the wait is what is left of the window, the policy's own, and a spread", () =>
    limits(Effect.gen(function* () {
      const consume = yield* limiting
      yield* consume
      yield* TestClock.adjust("2 seconds")
      let startedAt = 0
      const fiber = yield* Effect.andThen(
        consume,
        Effect.flatMap(Clock.currentTimeMillis, (now) =>
          Effect.sync(() => {
            startedAt = now
          }))
      ).pipe(
        Retry.run(patient),
        Effect.provideService(Random.Random, draws(0.5)),
        Effect.forkChild
      )
      yield* TestClock.adjust("1 minute")
      yield* Fiber.join(fiber)
      // 2 s are over; 8 s, 1 s and half of a tenth of 8 s.
      expect(startedAt).toBe(2000 + 9400)
    })))

  it.effect("takes an attempt", () =>
    Effect.gen(function* () {
      const fiber = yield* Effect.forkChild(Effect.exit(Retry.run(Effect.fail(exceeded), patient)))
      yield* TestClock.adjust("5 minutes")
      const { attempts, reason } = exhaustion(yield* Fiber.join(fiber))
      expect([attempts, reason._tag]).toEqual([4, "Attempts"])
    }))

  it.effect("that is longer than may be waited ends the run at once, and says when to come back", () =>
    Effect.gen(function* () {
      const short = patient.pipe(Policy.honoringRetryAfter({ max: "5 seconds" }))
      const { reason, retryAt } = exhaustion(yield* Effect.exit(Retry.run(Effect.fail(exceeded), short)))
      expect([reason._tag, retryAt === undefined]).toEqual(["RetryAfterTooLong", false])
    }))

  it.effect("those that were refused together come back spread", () =>
    limits(Effect.gen(function* () {
      const consume = yield* limiting
      yield* consume
      const at: Array<number> = []
      const call = Effect.andThen(
        Effect.flatMap(Retry.Attempt, ({ number }) =>
          number === 2
            ? Effect.flatMap(Clock.currentTimeMillis, (now) => Effect.sync(() => void at.push(now)))
            : Effect.void),
        consume
      )
      yield* Effect.replicateEffect(Effect.forkChild(Effect.exit(Retry.run(call, patient))), 1000)
      yield* TestClock.adjust("12 seconds")
      expect([at.length, Math.min(...at) >= 11_000, Math.max(...at) < 12_000]).toEqual([1000, true, true])
      const tenths = Array.from({ length: 10 }, () => 0)
      for (const millis of at) tenths[Math.floor((millis - 11_000) / 100)]!++
      for (const count of tenths) expect([count, count > 60 && count < 140]).toEqual([count, true])
    })).pipe(Effect.provideService(Random.Random, seeded(7))))
})

describe("what a rate limiter refused, and budgets", () => {
  const budgets: Readonly<Record<string, () => RetryBudget.RetryBudget>> = {
    make: () => RetryBudget.make({ initial: 5, ratio: 0, minPerSecond: 0, perOperation: 1 }),
    throttle: () => RetryBudget.throttle(),
    quota: () => RetryBudget.quota({ capacity: 5, retryCost: 1, timeoutCost: 1, perOperation: 1 })
  }

  for (const [name, make] of Object.entries(budgets)) {
    it.effect(`takes nothing from RetryBudget.${name}`, () =>
      Effect.gen(function* () {
        const budget = make()
        const before = yield* RetryBudget.balance(budget)
        const run = Retry.run(Effect.fail(exceeded), Policy.constant("1 milli").pipe(Policy.attempts(2)), { budget })
        const fiber = yield* Effect.forkChild(Effect.exit(run))
        yield* TestClock.adjust("1 second")
        yield* Fiber.join(fiber)
        expect(yield* RetryBudget.balance(budget)).toBe(before)
      }))
  }
})
