// Effect's own circuit breaker under a run. An open circuit is a hint: the run comes back when the circuit lets somebody
// through again. What it refused reached nobody, so it takes an attempt, and nothing from the budget.
import { describe, expect, it } from "@effect/vitest"
import { Deadline, Policy, Retry, RetryBudget, RetryEvents, Transience } from "@reprise/core"
import * as Clock from "effect/Clock"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as CircuitBreaker from "effect/persistence/CircuitBreaker"
import * as Random from "effect/Random"
import type * as Scope from "effect/Scope"
import { TestClock } from "effect/testing"
import { exhaustion } from "./exits.ts"
import { draws, seeded } from "./Recording.ts"

class Busy extends Data.TaggedError("Busy")<{}> {}

const busy = Effect.fail(new Busy())
const key = "payments"
const open = new CircuitBreaker.CircuitBreakerError({
  reason: new CircuitBreaker.CircuitOpen({ key, retryAfter: Duration.seconds(20) })
})
const halfOpen = new CircuitBreaker.CircuitBreakerError({ reason: new CircuitBreaker.CircuitHalfOpen({ key }) })

/** A breaker whose circuit has just opened for ten seconds. */
const opened = Effect.gen(function* () {
  const breaker = yield* CircuitBreaker.make({
    tripPolicy: CircuitBreaker.consecutive(1),
    openDuration: "10 seconds"
  })
  yield* Effect.exit(breaker.execute(busy, { key }))
  return breaker
})

const second = Policy.constant("1 second")
const patient = second.pipe(Policy.honoringRetryAfter(), Policy.attempts(4))

const tokens = (capacity = 5) => RetryBudget.quota({ capacity, retryCost: 1, timeoutCost: 1, perOperation: 1 })

/** The waits of a run, in milliseconds, whose draws are all `drawn`. */
const waitsOf = <A, E>(
  operation: Effect.Effect<A, E>,
  options: Retry.Options<E> = {},
  policy: Policy.Policy<E> = patient,
  drawn = 0.5
) =>
  Effect.gen(function* () {
    const waits: Array<number> = []
    const fiber = yield* Retry.run(operation, policy, {
      ...options,
      onEvent: (event) =>
        Effect.sync(() => {
          if (event._tag === "RetryScheduled") waits.push(Duration.toMillis(event.delay))
        })
    }).pipe(
      Effect.provideService(Random.Random, draws(drawn)),
      Effect.exit,
      Effect.forkChild
    )
    yield* TestClock.adjust("5 minutes")
    return { exit: yield* Fiber.join(fiber), waits }
  })

const circuits = <E>(test: Effect.Effect<void, E, Scope.Scope | CircuitBreaker.CircuitBreakerStore>) =>
  test.pipe(Effect.scoped, Effect.provide(CircuitBreaker.layerStoreMemory()))

describe("what a circuit refused", () => {
  it("is worth a retry, was not done, and says when to come back", () => {
    expect(Transience.classify(open)).toMatchObject({
      transience: "transient",
      applied: "no",
      throttled: false,
      hint: { _tag: "After", millis: 20_000 }
    })
  })

  it("is the same for the probe of a circuit that is half open, which says not when", () => {
    expect(Transience.classify(halfOpen)).toMatchObject({ transience: "transient", applied: "no", hint: undefined })
  })

  it("is retried even where an operation must not run twice", () => {
    let calls = 0
    const charge = Retry.make({ name: "charge", policy: Policy.immediate(1), idempotency: "none" })
    Effect.runSyncExit(charge(Effect.suspend(() => (calls++, Effect.fail(open)))))
    expect(calls).toBe(2)
  })

  it("is not confused with a store that is broken", () => {
    const store = new CircuitBreaker.CircuitBreakerError({
      reason: new CircuitBreaker.CircuitBreakerStoreError({ message: "no way to Redis" })
    })
    expect(Transience.classify(store).transience).toBe("unknown")
  })
})

describe("an open circuit is a hint", () => {
  it.effect("R7: the wait is what is left of the open time, the policy's own, and a spread", () =>
    circuits(Effect.gen(function* () {
      const breaker = yield* opened
      yield* TestClock.adjust("2 seconds")
      const { exit, waits } = yield* waitsOf(breaker.execute(Effect.succeed("charged"), { key }))
      // 8 s, 1 s and half of a tenth of 8 s.
      expect(waits).toEqual([9400])
      expect(exit).toEqual(Exit.succeed("charged"))
    })))

  it.effect("R7: the spread is at most five seconds", () =>
    Effect.gen(function* () {
      const long = new CircuitBreaker.CircuitBreakerError({
        reason: new CircuitBreaker.CircuitOpen({ key, retryAfter: Duration.seconds(58) })
      })
      expect((yield* waitsOf(Effect.fail(long), {}, patient, 0.5)).waits[0]).toBe(58_000 + 1000 + 2500)
    }))

  it.effect("takes an attempt", () =>
    Effect.gen(function* () {
      const { exit } = yield* waitsOf(Effect.fail(open))
      expect([exhaustion(exit).attempts, exhaustion(exit).reason._tag]).toEqual([4, "Attempts"])
    }))

  it.effect("that is open for longer than may be waited ends the run at once, and says when to come back", () =>
    Effect.gen(function* () {
      const short = second.pipe(Policy.honoringRetryAfter({ max: "5 seconds" }), Policy.attempts(4))
      const { exit, waits } = yield* waitsOf(Effect.fail(open), {}, short)
      expect([waits, exhaustion(exit).reason._tag]).toEqual([[], "RetryAfterTooLong"])
      expect(exhaustion(exit).retryAt).toBeDefined()

      const late = yield* Effect.exit(Deadline.within(Retry.run(Effect.fail(open), patient), "10 seconds"))
      expect(exhaustion(late).reason._tag).toBe("Deadline")
    }))

  it.effect("is waited for as any failure where the policy honours no hints", () =>
    Effect.gen(function* () {
      expect((yield* waitsOf(Effect.fail(open), {}, Policy.attempts(second, 3))).waits).toEqual([1000, 1000])
    }))

  it.effect("a circuit that is half open is waited for as any failure", () =>
    Effect.gen(function* () {
      expect((yield* waitsOf(Effect.fail(halfOpen))).waits).toEqual([1000, 1000, 1000])
    }))
})

describe("the runs that wait for a circuit", () => {
  /** When each of 1,000 runs that found the circuit open at one time was called again. */
  const returns = Effect.gen(function* () {
    const breaker = yield* opened
    const at: Array<number> = []
    const call = Effect.flatMap(Clock.currentTimeMillis, (now) => Effect.sync(() => void at.push(now)))
    yield* Effect.replicateEffect(
      Effect.forkChild(Retry.run(breaker.execute(call, { key }), patient)),
      1000
    )
    yield* TestClock.adjust("1 minute")
    return at
  }).pipe(Effect.provideService(Random.Random, seeded(7)))

  it.effect("come back when it lets somebody through, and not before", () =>
    circuits(Effect.gen(function* () {
      const at = yield* returns
      expect(at).toHaveLength(1000)
      expect(Math.min(...at)).toBeGreaterThanOrEqual(11_000)
      expect(Math.max(...at)).toBeLessThan(12_000)
    })))

  it.effect("are spread evenly over a tenth of the time that it was open", () =>
    circuits(Effect.gen(function* () {
      const tenths = Array.from({ length: 10 }, () => 0)
      for (const at of yield* returns) tenths[Math.floor((at - 11_000) / 100)]!++
      for (const count of tenths) expect([count, count > 60 && count < 140]).toEqual([count, true])
    })))
})

describe("what a circuit refused, and budgets", () => {
  const budgets: Readonly<Record<string, () => RetryBudget.RetryBudget>> = {
    make: () => RetryBudget.make({ initial: 5, ratio: 0, minPerSecond: 0, perOperation: 1 }),
    ratio: () => RetryBudget.ratio({ ratio: 0, minPerSecond: 1, window: "60 seconds", perOperation: 1 }),
    throttle: () => RetryBudget.throttle(),
    quota: () => tokens()
  }

  /** What a budget has, and has after a run that was refused twice. */
  const beforeAndAfter = (budget: RetryBudget.RetryBudget, refusal: CircuitBreaker.CircuitBreakerError) =>
    Effect.gen(function* () {
      const before = yield* RetryBudget.balance(budget)
      const fiber = yield* Effect.forkChild(
        Effect.exit(Retry.run(Effect.fail(refusal), Policy.constant("1 milli").pipe(Policy.attempts(2)), { budget }))
      )
      yield* TestClock.adjust("1 second")
      expect(exhaustion(yield* Fiber.join(fiber)).attempts).toBe(2)
      return [before, yield* RetryBudget.balance(budget)] as const
    })

  for (const [name, make] of Object.entries(budgets)) {
    for (const refusal of [open, halfOpen]) {
      it.effect(`takes nothing from RetryBudget.${name}: ${refusal.reason._tag}`, () =>
        Effect.gen(function* () {
          const [before, after] = yield* beforeAndAfter(make(), refusal)
          expect(after).toBe(before)
        }))
    }
  }

  it.effect("comes back where the budget is empty", () =>
    circuits(Effect.gen(function* () {
      const breaker = yield* opened
      const budget = RetryBudget.make({ initial: 0, ratio: 0, minPerSecond: 0 })
      const { exit } = yield* waitsOf(breaker.execute(Effect.succeed("charged"), { key }), { budget })
      expect(exit).toEqual(Exit.succeed("charged"))
    })))

  it.effect(
    "denies nobody: a thousand runs that wait for one circuit leave the budget to others",
    () =>
      circuits(Effect.gen(function* () {
        const breaker = yield* opened
        const budget = tokens(500)
        const { exits, events } = yield* crowd(breaker.execute(Effect.void, { key }), budget)
        expect(events).not.toContain("BudgetDenied")
        expect(exits.every(Exit.isSuccess)).toBe(true)
        expect(yield* RetryBudget.balance(budget)).toBe(500)
      }))
  )

  const crowd = <E>(call: Effect.Effect<void, E>, budget: RetryBudget.RetryBudget) =>
    Effect.gen(function* () {
      const events: Array<string> = []
      const fibers = yield* Effect.replicateEffect(
        Effect.forkChild(Effect.exit(Retry.run(call, patient, { budget }))),
        1000
      ).pipe(Effect.provide(RetryEvents.layer([RetryEvents.observer({ event: ({ _tag }) => void events.push(_tag) })])))
      yield* TestClock.adjust("2 minutes")
      return { exits: yield* Effect.forEach(fibers, Fiber.join), events }
    })

  it.effect("does not hide that other failures take their tokens", () =>
    Effect.gen(function* () {
      const budget = tokens()
      const operation = Effect.flatMap(
        Retry.Attempt,
        ({ number }): Effect.Effect<never, unknown> => number < 3 ? busy : Effect.die("the end")
      )
      yield* waitsOf(operation, { budget })
      expect(yield* RetryBudget.balance(budget)).toBe(3)
    }))
})
