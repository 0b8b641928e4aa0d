// Runs and budgets together: what a run asks of its budget, and when. What budgets answer is in test/core/budget.
import { describe, expect, it } from "@effect/vitest"
import { Deadline, Policy, Retry, RetryBudget, RetryControl, RetryLayers } from "@reprise/core"
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import * as Random from "effect/Random"
import { TestClock } from "effect/testing"
import { type Meter, meterIn } from "./budget/meter.ts"
import { errorOf, reasonOf } from "./exits.ts"
import { recordWith, seeded } from "./Recording.ts"

class Busy extends Data.TaggedError("Busy")<{}> {}

const busy = Effect.fail(new Busy())
const ten = Policy.constant("1 second").pipe(Policy.attempts(10))

/** So many retries, and no more. */
const bucket = (retries: number, options?: Partial<RetryBudget.QuotaOptions>) =>
  RetryBudget.quota({ capacity: retries, retryCost: 1, timeoutCost: 1, perOperation: 1, ...options })

const balanceOf = (budget: RetryBudget.RetryBudget) => Effect.runSync(RetryBudget.balance(budget))

describe("a run and its budget", () => {
  const ways: ReadonlyArray<
    readonly [
      string,
      (budget: RetryBudget.RetryBudget) => (self: Effect.Effect<never, Busy>) => Effect.Effect<unknown, unknown>
    ]
  > = [
    ["of the context", (budget) => (self) => self.pipe(Retry.run(ten), Effect.provide(RetryBudget.layer(budget)))],
    ["of Retry.run", (budget) => (self) => Retry.run(self, ten, { budget })],
    ["of Retry.runKeyed", (budget) => (self) => Retry.runKeyed(ten, () => self, { budget })],
    [
      "of Retry.make",
      (budget) => Retry.make({ name: "charge", policy: ten, idempotency: "idempotent", budget })
    ]
  ]
  it.each(ways)("gives up with reason Budget when it says no: %s", (_, driver) => {
    const { attempts, exit, waits } = recordWith(() => busy, driver(bucket(2)))
    expect(attempts).toBe(3)
    expect(waits).toHaveLength(2)
    expect(reasonOf(exit)).toBe("Budget")
  })

  it("of the run wins over the one of the context", () => {
    const { attempts } = recordWith(() => busy, (self) =>
      self.pipe(
        Retry.run(ten, { budget: RetryBudget.unlimited }),
        Effect.provide(RetryBudget.layer(bucket(1)))
      ))
    expect(attempts).toBe(10)
  })

  it("is shared by all that use it, and the first attempt always goes", () => {
    const budget = bucket(3)
    const attempts = [1, 2, 3].map(() => recordWith(() => busy, Retry.run(ten, { budget })).attempts)
    expect(attempts).toEqual([4, 1, 1])
  })

  it("R8: outer layers do not retry what it refused", () => {
    const { attempts, exit } = recordWith(
      () => busy,
      (self) => self.pipe(Retry.run(ten, { budget: bucket(1) }), Retry.run(ten))
    )
    expect(attempts).toBe(2)
    expect(reasonOf(exit)).toBe("Budget")
  })

  it("refuses what is no budget", () => {
    expect(() => Retry.run(busy, ten, { budget: {} as never })).toThrow("run.budget")
  })
})

describe("R2: withdrawn last, and only for a retry that will happen", () => {
  const kept = (driver: (budget: RetryBudget.RetryBudget) => Effect.Effect<unknown, unknown>): number => {
    const budget = bucket(5)
    recordWith(() => busy, () => driver(budget))
    return balanceOf(budget)
  }

  it("not for the failure after which there is no retry", () => {
    expect(kept((budget) => Retry.run(busy, Policy.immediate(2), { budget }))).toBe(3)
    expect(kept((budget) => Retry.run(busy, Policy.none, { budget }))).toBe(5)
  })

  it("not where the elapsed limit or the policy says no", () => {
    const short = Policy.constant("2 seconds").pipe(Policy.within("1 second"))
    expect(kept((budget) => Retry.run(busy, short, { budget }))).toBe(5)
    expect(kept((budget) => Retry.run(busy, ten.pipe(Policy.whileTag("Other")), { budget }))).toBe(5)
  })

  it("not where `when` says no", () => {
    expect(kept((budget) => Retry.run(busy, ten, { budget, when: () => Effect.succeed(false) }))).toBe(5)
  })

  it("given back where `onRetry` took too long for the retry", () => {
    const policy = Policy.constant("1 second").pipe(Policy.within("2 seconds"))
    expect(kept((budget) => Retry.run(busy, policy, { budget, onRetry: () => Effect.sleep("5 seconds") }))).toBe(5)
  })

  it("an answer that came too late for the retry: given back, and nobody is told of a retry", () => {
    const budget = bucket(5)
    // As one that asks another process has it.
    const slow: RetryBudget.RetryBudget = {
      [RetryBudget.TypeId]: {
        at: (context: Context.Context<never>) => {
          const meter = meterIn(budget, context)
          return { ...meter, withdraw: (...of) => Effect.as(Effect.sleep("3 seconds"), meter.withdraw(...of)) } as Meter
        },
        idle: () => true
      }
    }
    const policy = Policy.constant("1 second").pipe(Policy.attempts(3))
    let told = 0
    const onRetry = () => Effect.sync(() => void told++)
    const { attempts, exit, waits } = recordWith(
      () => busy,
      (self): Effect.Effect<unknown, unknown> =>
        self.pipe(Retry.run(policy, { budget: slow, onRetry }), Deadline.within("3500 millis"))
    )
    expect([attempts, waits, reasonOf(exit), told, balanceOf(budget)]).toEqual([1, [3000], "Deadline", 0, 5])
  })

  it.effect("given back when the run is interrupted in the wait", () =>
    Effect.gen(function* () {
      const budget = bucket(5)
      const fiber = yield* Effect.forkChild(Retry.run(busy, ten, { budget }))
      yield* TestClock.adjust("1500 millis")
      expect(yield* RetryBudget.balance(budget)).toBe(3)
      yield* Fiber.interrupt(fiber)
      expect(yield* RetryBudget.balance(budget)).toBe(4)
    }))

  it.effect("given back when it is interrupted in `onRetry`, and kept in the retry itself", () =>
    Effect.gen(function* () {
      const budget = bucket(5)
      const waiting = yield* Effect.forkChild(Retry.run(busy, ten, { budget, onRetry: () => Effect.never }))
      yield* TestClock.adjust("1 minute")
      yield* Fiber.interrupt(waiting)
      expect(yield* RetryBudget.balance(budget)).toBe(5)

      const operation = Effect.flatMap(Retry.Attempt, ({ number }) => number === 1 ? busy : Effect.never)
      const retrying = yield* Effect.forkChild(Retry.run(operation, ten, { budget }))
      yield* TestClock.adjust("1 minute")
      yield* Fiber.interrupt(retrying)
      expect(yield* RetryBudget.balance(budget)).toBe(4)
    }))
})

describe("what earns a budget something", () => {
  const ratio = () => RetryBudget.ratio({ ratio: 1, minPerSecond: 0, perOperation: 1 })
  const earned = (self: (budget: RetryBudget.RetryBudget) => Effect.Effect<unknown, unknown>): number => {
    const budget = ratio()
    Effect.runSyncExit(self(budget))
    return balanceOf(budget)
  }
  const ok = (budget: RetryBudget.RetryBudget) => Retry.run(Effect.void, ten, { budget })

  it("an original request", () => {
    expect(earned(ok)).toBe(1)
    expect(earned((budget) => Effect.all([ok(budget), ok(budget)]))).toBe(2)
  })

  it("a run inside the first attempt of another", () => {
    expect(earned((budget) => Retry.run(ok(budget), ten))).toBe(1)
  })

  it("not a run inside another's retry, however deep", () => {
    const inside = (budget: RetryBudget.RetryBudget) =>
      Effect.flatMap(Retry.Attempt, ({ number }) => number === 1 ? busy : Retry.run(ok(budget), Policy.none))
    expect(earned((budget) => Retry.run(inside(budget), Policy.immediate(1)))).toBe(0)
  })

  it("not when the incoming request was a retry, nor a hedge or a redrive", () => {
    expect(earned((budget) => RetryLayers.incoming(ok(budget), { attempt: 1 }))).toBe(1)
    expect(earned((budget) => RetryLayers.incoming(ok(budget), { attempt: 2 }))).toBe(0)
    expect(earned((budget) => RetryLayers.incoming(ok(budget), { attempt: Number.NaN }))).toBe(1)
    expect(earned((budget) => RetryLayers.derived(ok(budget)))).toBe(0)
  })

  it("not a retry: one request of ten attempts earns one", () => {
    const { attempts } = recordWith(() => busy, Retry.run(ten, { budget: ratio() }))
    expect(attempts).toBe(2)
  })
})

describe("published budgets under a run", () => {
  it("throttle: each failure counts, the last one too; what `when` refuses does not", () => {
    const budget = RetryBudget.throttle()
    recordWith(() => busy, Retry.run(Policy.immediate(1), { budget }))
    // Of 10 tokens 8 are left, and retries go above 5.
    const more = recordWith(() => busy, Retry.run(ten, { budget }))
    expect(more.attempts).toBe(3)
    expect(reasonOf(more.exit)).toBe("Budget")
  })

  it("throttle: what gave up inside is no failure of its own", () => {
    const inner = errorOf(recordWith(() => busy, Retry.run(Policy.immediate(1))).exit)
    const budget = RetryBudget.throttle()
    const before = balanceOf(budget)
    const { attempts, exit } = recordWith(
      () => Effect.fail({ _tag: "Mapped", cause: inner }),
      Retry.run(ten, { budget })
    )
    expect([attempts, reasonOf(exit), balanceOf(budget)]).toEqual([1, "Layer", before])
  })

  it("throttle: successes bring it back", () => {
    const budget = RetryBudget.throttle({ maxTokens: 4, tokenRatio: 1 })
    const flaky = () => Effect.flatMap(Retry.Attempt, ({ number }) => number === 1 ? busy : Effect.void)
    // 4 - 1 = 3 is above 2, and 3 + 1 = 4 again.
    for (let n = 0; n < 20; n++) {
      expect(Exit.isSuccess(recordWith(flaky, Retry.run(ten, { budget })).exit)).toBe(true)
    }
  })

  it("quota: success returns the last cost", () => {
    const budget = bucket(5)
    const third = () => Effect.flatMap(Retry.Attempt, ({ number }) => number < 3 ? busy : Effect.void)
    recordWith(third, Retry.run(ten, { budget }))
    expect(balanceOf(budget)).toBe(4)
    recordWith(() => Effect.void, Retry.run(ten, { budget }))
    expect(balanceOf(budget)).toBe(5)
  })

  it.effect("quota: an attempt timeout costs what timeouts cost", () =>
    Effect.gen(function* () {
      const budget = RetryBudget.quota({ capacity: 10, retryCost: 1, timeoutCost: 4, perOperation: 1 })
      const fiber = yield* Effect.forkChild(
        Retry.run(Effect.never, Policy.immediate(5), { budget, attemptTimeout: "1 second" }).pipe(Effect.exit)
      )
      yield* TestClock.adjust("1 minute")
      const exit = yield* Fiber.join(fiber)
      expect(reasonOf(exit)).toBe("Budget")
      expect(yield* RetryBudget.balance(budget)).toBe(2)
    }))

  it.effect("concurrent: slots follow the retries in flight, whatever becomes of them", () =>
    Effect.gen(function* () {
      const budget = RetryBudget.concurrent({ percent: 0, minimum: 2 })
      const start = (effect: Effect.Effect<unknown, unknown>) =>
        Effect.forkChild(Effect.exit(Retry.run(effect, ten, { budget })))
      const hanging = Effect.flatMap(Retry.Attempt, ({ number }) => number === 1 ? busy : Effect.never)
      const first = yield* start(hanging)
      const second = yield* start(hanging)
      yield* TestClock.adjust("1 second")
      expect(reasonOf(yield* Fiber.join(yield* start(busy)))).toBe("Budget")
      yield* Fiber.interrupt(first)
      const third = yield* start(Effect.flatMap(Retry.Attempt, ({ number }) => number === 1 ? busy : Effect.void))
      yield* TestClock.adjust("1 second")
      expect(Exit.isSuccess(yield* Fiber.join(third))).toBe(true)
      yield* Fiber.interrupt(second)
      expect(yield* RetryBudget.balance(budget)).toBe(2)
    }))
})

describe("bounds", () => {
  it("one run takes at most its share of the balance, and one retry at least", () => {
    const shared = bucket(20, { perOperation: 0.2 })
    expect(recordWith(() => busy, Retry.run(ten, { budget: shared })).attempts).toBe(5)
    expect(recordWith(() => busy, Retry.run(ten, { budget: bucket(2, { perOperation: 0.2 }) })).attempts).toBe(2)
  })

  it.effect("a retry that is paid for once more, as an operator lowered the ratio meanwhile, counts once", () =>
    Effect.gen(function* () {
      const control = RetryControl.make()
      const budget = bucket(2, { perOperation: 0.2 })
      let attempts = 0
      const counted = Effect.suspend(() => (attempts++, busy))
      const switched = Effect.provide(RetryControl.layer(control))
      const fiber = yield* Effect.forkChild(switched(Effect.exit(Retry.run(counted, ten, { budget }))))
      yield* TestClock.adjust("500 millis")
      yield* control.set({ ratio: 1 })
      // The new ratio has something to give.
      for (let n = 0; n < 5; n++) yield* switched(Retry.run(Effect.void, ten))
      yield* TestClock.adjust("500 millis")
      expect(attempts).toBe(2)
      expect([reasonOf(yield* Fiber.join(fiber)), balanceOf(budget)]).toEqual(["Budget", 1])
    }).pipe(Effect.provide(Logger.layer([]))))

  it.effect("the number of runs that wait is bounded", () =>
    Effect.gen(function* () {
      const budget = bucket(50, { maxWaiting: 3 })
      const fibers = yield* Effect.forEach(
        [1, 2, 3, 4, 5],
        () => Effect.forkChild(Effect.exit(Retry.run(busy, ten, { budget })))
      )
      yield* TestClock.adjust(0)
      expect(fibers.filter((fiber) => fiber.pollUnsafe() !== undefined)).toHaveLength(2)
      yield* TestClock.adjust("1 minute")
    }))
})

describe("many calls that fail at once, with no requests after them", () => {
  it.effect("are retried at the pace that the documentation of `make` has", () =>
    Effect.gen(function* () {
      const budget = RetryBudget.make()
      const retries: Array<number> = []
      const call = Effect.gen(function* () {
        if ((yield* Retry.Attempt).number > 1) retries.push((yield* Clock.currentTimeMillis) / 1000)
        return yield* busy
      })
      const run = Retry.run(call, Policy.attempts(Policy.constant("2 seconds"), 2), { budget })
      for (let calls = 0; calls < 700; calls++) yield* Effect.forkChild(Effect.exit(run))
      for (let second = 0; second < 120; second++) yield* TestClock.adjust("1 second")
      expect(retries).toHaveLength(70)
      // The first, the last of the half and the last of all, in whole seconds that they are within.
      expect([retries[0]!, retries[34]!, retries[69]!].map(Math.ceil)).toEqual([2, 41, 84])
    }).pipe(Effect.provideService(Random.Random, seeded(1))))
})

describe("one call through several runs", () => {
  const nested = (budget: RetryBudget.RetryBudget, layers: number, self: Effect.Effect<unknown, unknown>) => {
    let run = self
    for (let layer = 0; layer < layers; layer++) run = Retry.run(run, ten, { budget })
    return run.pipe(Effect.provide(Logger.layer([])))
  }

  it("earns once", () => {
    for (const layers of [1, 3]) {
      const budget = RetryBudget.ratio({ ratio: 1, minPerSecond: 0 })
      Effect.runSync(nested(budget, layers, Effect.void))
      expect(balanceOf(budget)).toBe(1)
    }
  })

  it("succeeds once", () => {
    const budget = RetryBudget.throttle({ maxTokens: 10, tokenRatio: 1 })
    recordWith(() => busy, Retry.run(Policy.immediate(3), { budget }))
    const before = balanceOf(budget)
    Effect.runSync(nested(budget, 3, Effect.void))
    expect(balanceOf(budget)).toBe(before + 1)
  })

  it("earns in each of two budgets", () => {
    const one = RetryBudget.ratio({ ratio: 1, minPerSecond: 0 })
    const other = RetryBudget.ratio({ ratio: 1, minPerSecond: 0 })
    Effect.runSync(nested(one, 1, nested(other, 1, Effect.void)))
    expect([balanceOf(one), balanceOf(other)]).toEqual([1, 1])
  })
})

describe("what a budget holds does not depend on who watches", () => {
  const refused = { _tag: "RateLimitExceeded", limit: 1, retryAfter: 0 }
  const failures = [new Busy(), refused]
  const watchers: ReadonlyArray<Retry.Options> = [{}, { onEvent: () => Effect.void }]

  it("quota: success after a refused retry gives back what the last one cost", () => {
    for (const options of watchers) {
      const budget = RetryBudget.quota({ capacity: 100, retryCost: 5, timeoutCost: 5 })
      recordWith(
        (n) => n <= 2 ? Effect.fail(failures[n - 1]) : Effect.void,
        (self) => Retry.run(self, Policy.immediate(5), { ...options, budget } as {})
      )
      expect(balanceOf(budget)).toBe(20)
    }
  })

  it("throttle: success after a refused call counts", () => {
    for (const options of watchers) {
      const budget = RetryBudget.throttle({ maxTokens: 10, tokenRatio: 0.5 })
      recordWith(
        (n) => n <= 2 ? Effect.fail(failures[n - 1]) : Effect.void,
        (self) => Retry.run(self, Policy.immediate(5), { ...options, budget } as {})
      )
      // 10 - 1 + 0.5, of which half and one more are out of reach.
      expect(balanceOf(budget)).toBe(3.5)
    }
  })
})
