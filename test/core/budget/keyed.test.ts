// A budget for each key.
import { beforeEach, describe, expect, it } from "@effect/vitest"
import { Policy, Retry, RetryBudget } from "@reprise/core"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Logger from "effect/Logger"
import * as Random from "effect/Random"
import * as References from "effect/References"
import * as VirtualClock from "../VirtualClock.ts"
import { grantedOf, type Meter, meterIn, take } from "./meter.ts"

const Tenant = Context.Reference("Tenant", { defaultValue: () => "nobody" })

const setup = (
  make: (key: string) => RetryBudget.RetryBudget = () => RetryBudget.make({ initial: 3 }),
  maxKeys?: number
) => {
  const clock = VirtualClock.stopped()
  const made: Array<string> = []
  const budget = RetryBudget.keyed(
    (key) => {
      made.push(key)
      return make(key)
    },
    (context) => Context.get(context, Tenant),
    { maxKeys }
  )
  const context = Context.make(Random.Random, { nextDoubleUnsafe: () => 0, nextIntUnsafe: () => 0 }).pipe(
    Context.add(Clock.Clock, clock)
  )
  const meter = (key: string) => meterIn(budget, Context.add(context, Tenant, key))
  return { budget, clock, context, made, meter }
}

/** Takes so many retries as it gives of three, and sees them through. */
const use = (meter: Meter, now: number): number => {
  let started = 0
  for (let i = 0; i < 3; i++) {
    const withdrawal = take(meter, now)
    if (withdrawal === undefined) break
    if (meter.start(now, withdrawal) > 0) {
      meter.refund(now, withdrawal)
    } else {
      started++
      meter.settle?.(withdrawal)
    }
  }
  return started
}

describe("keyed", () => {
  it("has a budget for each key, which it makes when it is first used", () => {
    const { made, meter } = setup()
    expect(grantedOf(meter("a"), 0, 10)).toBe(3)
    expect([grantedOf(meter("b"), 0, 10), grantedOf(meter("a"), 0, 10)]).toEqual([3, 0])
    expect(made).toEqual(["a", "b"])
  })

  it("has the budget of a key for who knows it, whatever the context", () => {
    const { budget, context, meter } = setup()
    take(meter("a"), 0)
    expect(meterIn(budget.at("a"), context)).toBe(meter("a"))
    expect(meterIn(budget.at("a"), Context.add(context, Tenant, "b")).balance(0)).toBe(2)
  })

  it("gives keys beyond the most one budget together", () => {
    const { made, meter } = setup(undefined, 2)
    for (const key of ["a", "b"]) take(meter(key), 0)
    expect(grantedOf(meter("c"), 0, 10) + grantedOf(meter("d"), 0, 10)).toBe(3)
    expect(meter("c")).toBe(meter("_OTHER"))
    expect(made).toEqual(["a", "b", "_OTHER"])
  })

  it("has a place again when a key was not used for long", () => {
    const { clock, made, meter } = setup(() => RetryBudget.make(), 2)
    for (const key of ["a", "b"]) use(meter(key), 0)
    clock.now = 60_000
    expect(meter("c")).not.toBe(meter("_OTHER"))
    expect(made).toEqual(["a", "b", "c", "_OTHER"])
  })

  it("keeps what is in use, also where it is the oldest", () => {
    const { clock, meter } = setup(() => RetryBudget.make(), 2)
    const [a, b] = [meter("a"), meter("b")]
    use(a, 0)
    use(b, 0)
    a.request(59_000)
    clock.now = 60_000
    expect(meter("c")).not.toBe(meter("_OTHER"))
    expect([meter("a") === a, meter("b") === b]).toEqual([true, false])
  })

  it.each([
    ["make", () => RetryBudget.make(), 10],
    ["ratio", () => RetryBudget.ratio({ minPerSecond: 0.3 }), 10],
    // What depends on no time stays where it is, used up, and the other two keys share one.
    ["throttle", () => RetryBudget.throttle(), 1],
    ["quota", () => RetryBudget.quota({ capacity: 20 }), 1],
    ["concurrent", () => RetryBudget.concurrent(), 10]
  ])("of %s refills nothing by making room", (_, make, most) => {
    // One place, and three keys that are used up again and again: one for a while, and after a pause the next.
    const few = setup(make, 1)
    const many = setup(make, 100)
    const granted = ({ clock, meter }: ReturnType<typeof setup>): number => {
      let sum = 0
      for (let now = 0; now < 600_000; now += 700) {
        if (now % 20_000 >= 6000) continue
        clock.now = now
        const one = meter(`key ${Math.floor(now / 20_000) % 3}`)
        one.request(now)
        one.failure?.(now)
        sum += use(one, now)
      }
      return sum
    }
    expect(granted(few)).toBeLessThanOrEqual(granted(many))
    expect(few.made.length).toBeGreaterThan(most)
  })

  it("looks for room in a bounded time, whatever the number of keys", () => {
    const { clock, meter } = setup(() => RetryBudget.quota(), 1000)
    for (let key = 0; key < 1000; key++) {
      const withdrawal = take(meter(`key ${key}`), 0)!
      if (key < 999) continue
      // Only the last key could go. Each new one looks at eight, which go to the end of the line.
      meter(`key ${key}`).start(0, withdrawal)
      meter(`key ${key}`).success?.(0, withdrawal)
    }
    clock.now = 1000
    let flood = 0
    while (flood < 1000 && meter(`new ${flood}`) === meter("_OTHER")) flood++
    expect(flood).toBe(124)
  })

  it("may be kept by keys again", () => {
    const { meter } = setup((key) =>
      RetryBudget.keyed(
        () => RetryBudget.make({ initial: key === "a" ? 5 : 2 }),
        (context) => Context.get(context, Tenant)
      )
    )
    expect([meter("a").balance(0), meter("b").balance(0)]).toEqual([5, 2])
  })

  it("is a member of all, for each key on its own", () => {
    const { budget, context } = setup()
    const shared = RetryBudget.quota({ capacity: 20 })
    const both = RetryBudget.all([budget, shared])
    const meter = (key: string) => meterIn(both, Context.add(context, Tenant, key))
    const withdrawal = take(meter("a"), 0)!
    expect([meter("a").balance(0), meter("b").balance(0)]).toEqual([2, 3])
    expect(grantedOf(meter("b"), 0, 9)).toBe(3)
    meter("a").refund(0, withdrawal)
    expect([meter("a").balance(0), meterIn(shared, context).balance(0)]).toEqual([1, 1])
  })
})

describe("keyed, where what it was given throws", () => {
  const boom = (): never => {
    throw new Error("secret")
  }
  const lines: Array<unknown> = []
  const quiet = Context.make(References.CurrentLoggers, new Set([Logger.make(({ message }) => lines.push(message))]))
  beforeEach(() => void lines.splice(0))

  it("takes a run without a key for one of those that share a budget", () => {
    const made: Array<string> = []
    for (const key of [boom, () => undefined as never]) {
      const budget = RetryBudget.keyed((key) => (made.push(key), RetryBudget.quota()), key)
      expect(meterIn(budget, quiet)).toBe(meterIn(budget.at("_OTHER"), quiet))
    }
    expect(made).toEqual(["_OTHER", "_OTHER"])
  })

  it("has no budget of its own for a key of which none can be made", () => {
    const budget = RetryBudget.keyed((key) => key === "_OTHER" ? RetryBudget.quota() : boom(), () => "a")
    expect(meterIn(budget, quiet)).toBe(meterIn(budget.at("_OTHER"), quiet))
    const nothing = RetryBudget.keyed((key) => key === "_OTHER" ? RetryBudget.quota() : undefined as never, () => "a")
    expect(meterIn(nothing, quiet).balance(0)).toBe(100)
  })

  it("has no retries where there is no budget at all, until there is one", () => {
    let broken = true
    const budget = RetryBudget.keyed(() => broken ? boom() : RetryBudget.quota(), () => "a")
    const meter = meterIn(budget, quiet)
    expect([take(meter, 0), meter.balance(0), meter.ceiling(0), meter.idle(0)]).toEqual([undefined, 0, 1, true])
    broken = false
    expect(meterIn(budget, quiet).balance(0)).toBe(100)
  })

  it("says so once, and nothing of what was thrown but its type", async () => {
    const budget = RetryBudget.keyed(boom, boom)
    for (let i = 0; i < 3; i++) meterIn(budget, quiet)
    await new Promise((resolve) => setImmediate(resolve))
    expect(lines).toEqual([[
      expect.stringMatching(/^RetryBudget.keyed was given a function that threw, or .* no retries where there is none$/)
    ]])
  })

  it.effect("holds back no first attempt", () =>
    Effect.gen(function* () {
      const policy = Policy.immediate(2)
      for (const budget of [RetryBudget.keyed(boom, () => "a"), RetryBudget.keyed(() => RetryBudget.make(), boom)]) {
        expect(yield* Retry.run(Effect.succeed(1), policy, { budget })).toBe(1)
        expect(Exit.isFailure(yield* Effect.exit(Retry.run(Effect.fail("busy"), policy, { budget })))).toBe(true)
      }
    }).pipe(Effect.provideContext(quiet)))
})

describe("idle", () => {
  it.each([
    ["make", () => RetryBudget.make()],
    ["ratio", () => RetryBudget.ratio()],
    ["throttle", () => RetryBudget.throttle()],
    ["quota", () => RetryBudget.quota()],
    ["concurrent", () => RetryBudget.concurrent()]
  ])("%s: as made, and not while a retry waits", (_, make) => {
    const meter = meterIn(make(), Context.empty())
    expect(meter.idle(0)).toBe(true)
    meter.failure?.(0)
    const withdrawal = take(meter, 0)!
    expect([meter.idle(0), meter.idle(1e6)]).toEqual([false, false])
    meter.start(0, withdrawal)
    meter.settle?.(withdrawal)
    meter.success?.(0, withdrawal)
    for (let i = 0; i < 10; i++) meter.success?.(0, undefined)
    expect(meter.idle(2e6)).toBe(true)
  })

  it.each([["make", () => RetryBudget.make()], ["ratio", () => RetryBudget.ratio()]])(
    "%s: not within a window of what was asked or taken",
    (_, make) => {
      const meter = meterIn(make(), Context.empty())
      meter.request(0)
      expect([meter.idle(9000), meter.idle(30_000)]).toEqual([false, true])
      const withdrawal = take(meter, 30_000)!
      meter.start(30_000, withdrawal)
      expect([meter.idle(39_000), meter.idle(60_000)]).toEqual([false, true])
    }
  )

  it.each([["make", () => RetryBudget.make()], ["ratio", () => RetryBudget.ratio()]])(
    "%s: not within a second of a retry that has started, however long it waited",
    (_, make) => {
      const meter = meterIn(make(), Context.empty())
      meter.start(30_000, take(meter, 0)!)
      expect([meter.idle(30_500), meter.idle(31_200)]).toEqual([false, true])
    }
  )

  it("concurrent: not while an attempt is in flight", () => {
    const meter = meterIn(RetryBudget.concurrent(), Context.empty())
    meter.enter?.()
    expect(meter.idle(0)).toBe(false)
    meter.exit?.()
    expect(meter.idle(0)).toBe(true)
  })

  it("make: never where what it has at the start does not come back", () => {
    const meter = meterIn(RetryBudget.make({ minPerSecond: 0 }), Context.empty())
    take(meter, 0)
    expect(meter.idle(1e9)).toBe(false)
  })
})
