import { describe, expect, it } from "@effect/vitest"
import { InvalidPolicy, RetryBudget } from "@reprise/core"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import { draws } from "./Recording.ts"
import * as VirtualClock from "./VirtualClock.ts"

const { balance } = RetryBudget

/** What the argument is said to be wrong with. */
const refusal = (f: () => unknown): string => {
  try {
    f()
  } catch (error) {
    if (InvalidPolicy.is(error)) return error.message
    throw error
  }
  return "none"
}

describe("every constructor", () => {
  const constructors: ReadonlyArray<readonly [name: string, make: () => RetryBudget.RetryBudget, balance: number]> = [
    ["make", () => RetryBudget.make(), 1],
    ["ratio", () => RetryBudget.ratio(), 100],
    ["throttle", () => RetryBudget.throttle(), 4],
    ["quota", () => RetryBudget.quota(), 100],
    ["concurrent", () => RetryBudget.concurrent(), 3],
    ["all", () => RetryBudget.all([RetryBudget.make(), RetryBudget.quota()]), 1],
    ["keyed", () => RetryBudget.keyed(() => RetryBudget.quota(), () => "one"), 100]
  ]

  it.effect.each(constructors)(
    "%s makes a budget, and each call one of its own",
    ([, make, left]) =>
      Effect.gen(function* () {
        const [one, other] = [make(), make()]
        expect([RetryBudget.isRetryBudget(one), one === other]).toEqual([true, false])
        expect(yield* balance(one)).toBe(left)
      })
  )

  it.effect("unlimited has no limit", () =>
    Effect.gen(function* () {
      expect(yield* balance(RetryBudget.unlimited)).toBe(Infinity)
    }))
})

describe("isRetryBudget", () => {
  it.each([[undefined], [null], [{}], ["budget"], [Effect.void], [RetryBudget]])("is false for %s", (value) => {
    expect(RetryBudget.isRetryBudget(value)).toBe(false)
  })
})

describe("an option outside of its bounds is refused where the budget is made, with its name, rule and value", () => {
  const { all, concurrent, keyed, layer, make, quota, ratio, throttle } = RetryBudget
  it.each([
    [() => make({ ratio: -0.1 }), "RetryBudget.make.ratio must be a number from 0 to 10, got -0.1"],
    [() => make({ ratio: Number.NaN }), "RetryBudget.make.ratio must be a number from 0 to 10, got NaN"],
    [() => make({ ratio: 11 }), "RetryBudget.make.ratio must be a number from 0 to 10, got 11"],
    [() => make({ minPerSecond: -1 }), "RetryBudget.make.minPerSecond must be a finite number of at least 0, got -1"],
    [
      () => make({ minPerSecond: Infinity }),
      "RetryBudget.make.minPerSecond must be a finite number of at least 0, got Infinity"
    ],
    [() => make({ initial: -1 }), "RetryBudget.make.initial must be a finite number of at least 0, got -1"],
    [() => make({ window: 999 }), "RetryBudget.make.window must be a finite duration of at least 1000 ms, got 999"],
    [() => make({ window: "2 minutes" }), "RetryBudget.make.window must be at most 60 seconds, got \"2 minutes\""],
    [() => make({ perOperation: 2 }), "RetryBudget.make.perOperation must be a number from 0 to 1, got 2"],
    [() => make({ maxWaiting: 0 }), "RetryBudget.make.maxWaiting must be an integer of at least 1, got 0"],
    [() => ratio({ ratio: 10.5 }), "RetryBudget.ratio.ratio must be a number from 0 to 10, got 10.5"],
    [() => ratio({ maxWaiting: 1.5 }), "RetryBudget.ratio.maxWaiting must be an integer of at least 1, got 1.5"],
    [() => throttle({ maxTokens: 0 }), "RetryBudget.throttle.maxTokens must be a number from 0.001 to 1000, got 0"],
    [
      () => throttle({ maxTokens: 1001 }),
      "RetryBudget.throttle.maxTokens must be a number from 0.001 to 1000, got 1001"
    ],
    [() => throttle({ tokenRatio: 0 }), "RetryBudget.throttle.tokenRatio must be a number from 0.001 to 1000, got 0"],
    [() => quota({ capacity: 0 }), "RetryBudget.quota.capacity must be an integer of at least 1, got 0"],
    [() => quota({ retryCost: 0.5 }), "RetryBudget.quota.retryCost must be an integer of at least 1, got 0.5"],
    [() => quota({ timeoutCost: -1 }), "RetryBudget.quota.timeoutCost must be an integer of at least 1, got -1"],
    // @ts-expect-error no function
    [() => quota({ cost: 5 }), "RetryBudget.quota.cost must be a function, got 5"],
    [() => concurrent({ percent: 101 }), "RetryBudget.concurrent.percent must be a number from 0 to 100, got 101"],
    [() => concurrent({ minimum: -1 }), "RetryBudget.concurrent.minimum must be an integer of at least 0, got -1"],
    [() => all([]), "RetryBudget.all.budgets must be a list with at least one element, got []"],
    // @ts-expect-error no budget
    [() => all([make(), "quota"]), "RetryBudget.all.budgets must be a list of budgets, got \"quota\""],
    [
      () => keyed(() => make(), () => "", { maxKeys: 0 }),
      "RetryBudget.keyed.maxKeys must be an integer of at least 1, got 0"
    ],
    [() => layer({ ratio: 11 }), "RetryBudget.layer.ratio must be a number from 0 to 10, got 11"],
    // @ts-expect-error no options
    [() => make(null), "RetryBudget.make.options must be an object of options, got null"]
  ])("%s", (make, message) => {
    expect(refusal(make)).toBe(message)
  })

  it("the edges are inside", () => {
    expect(refusal(() => {
      make({ ratio: 0, minPerSecond: 0, initial: 0, window: 1000, perOperation: 0, maxWaiting: 1 })
      make({ ratio: 10, minPerSecond: 1e6, initial: 1e6, window: "60 seconds", perOperation: 1 })
      throttle({ maxTokens: 0.001, tokenRatio: 0.001 })
      throttle({ maxTokens: 1000, tokenRatio: 1000 })
      quota({ capacity: 1, retryCost: 1, timeoutCost: 1 })
      concurrent({ percent: 0, minimum: 0 })
      concurrent({ percent: 100 })
    })).toBe("none")
  })

  it("undefined is the default", () => {
    expect(refusal(() => {
      make({ ratio: undefined, window: undefined, maxWaiting: undefined })
      quota({ cost: undefined, perOperation: undefined })
    })).toBe("none")
  })
})

describe("balance", () => {
  it.effect("is that of the monotonic clock's time", () =>
    Effect.gen(function* () {
      const clock = VirtualClock.stopped()
      const budget = RetryBudget.make({ minPerSecond: 1 })
      const read = balance(budget).pipe(VirtualClock.provide(clock), Effect.provideService(Random.Random, draws(0.5)))
      expect(yield* read).toBe(1)
      clock.wall = 1e12
      expect(yield* read).toBe(1)
      // The trickle begins half a second late.
      clock.now = 2000
      expect(yield* read).toBe(2.5)
    }))

  it.effect("draws the phase once", () =>
    Effect.gen(function* () {
      let drawn = 0
      const random = { nextDoubleUnsafe: () => (drawn++, 0.5), nextIntUnsafe: () => 0 }
      const budget = RetryBudget.make()
      yield* balance(budget).pipe(Effect.repeat({ times: 3 }), Effect.provideService(Random.Random, random))
      expect(drawn).toBe(1)
    }))

  it.effect("of a keyed budget is that of the context's key", () =>
    Effect.gen(function* () {
      const Tenant = Context.Reference("Tenant", { defaultValue: () => "a" })
      const budget = RetryBudget.keyed(
        (key) => RetryBudget.make({ initial: key === "a" ? 5 : 2 }),
        (context) => Context.get(context, Tenant)
      )
      expect(yield* balance(budget)).toBe(5)
      expect(yield* balance(budget).pipe(Effect.provideService(Tenant, "b"))).toBe(2)
      expect(yield* balance(budget.at("b"))).toBe(2)
    }))
})

describe("the budget of the context", () => {
  it.effect("is none by default", () =>
    Effect.gen(function* () {
      expect(yield* RetryBudget.Current).toBeUndefined()
    }))

  it.effect("is the one that a layer provides", () =>
    Effect.gen(function* () {
      const budget = RetryBudget.quota()
      expect(yield* RetryBudget.Current.pipe(Effect.provide(RetryBudget.layer(budget)))).toBe(budget)
    }))

  it.effect("is made by the layer, with options or without, each time that it is built", () =>
    Effect.gen(function* () {
      const layer = RetryBudget.layer({ initial: 7 })
      const one = yield* RetryBudget.Current.pipe(Effect.provide(layer, { local: true }))
      const other = yield* RetryBudget.Current.pipe(Effect.provide(layer, { local: true }))
      expect(one).not.toBe(other)
      expect(yield* balance(one!)).toBe(7)
      const plain = yield* RetryBudget.Current.pipe(Effect.provide(RetryBudget.layer()))
      expect(yield* balance(plain!)).toBe(1)
    }))
})
