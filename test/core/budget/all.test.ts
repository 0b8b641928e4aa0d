// Budgets of which each must agree.
import { describe, expect, it } from "@effect/vitest"
import { RetryBudget } from "@reprise/core"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { TestClock } from "effect/testing"
import { failure, grantedOf, type Meter, meterOf, take, type Withdrawal } from "./meter.ts"

const { all, concurrent, holding, make, quota, ratio, throttle } = RetryBudget

/** A budget of a meter of the test's own, as one that asks another process would have it. */
const budgetOf = (meter: Partial<Meter>): RetryBudget.RetryBudget => ({
  [RetryBudget.TypeId]: { at: () => ({ ...meterOf(RetryBudget.unlimited), ...meter }), idle: () => true }
})

describe("all", () => {
  it("grants what each grants, and has what the poorest has", () => {
    const meter = meterOf(all([quota(), concurrent(), throttle()]))
    expect([meter.balance(0), grantedOf(meter, 0, 10)]).toEqual([3, 3])
  })

  it("takes from each", () => {
    const [one, other] = [quota(), ratio()]
    take(meterOf(all([one, other])), 0)
    expect([meterOf(one).balance(0), meterOf(other).balance(0)]).toEqual([99, 99])
  })

  it("leaves nothing with the others when one says no, wherever it stands", () => {
    const none = () => concurrent({ minimum: 0 })
    const [one, other] = [quota(), ratio()]
    for (const members of [[none(), one, other], [one, none(), other], [one, other, none()]]) {
      expect(take(meterOf(all(members)), 0)).toBeUndefined()
      expect([meterOf(one).balance(0), meterOf(other).balance(0)]).toEqual([100, 100])
    }
  })

  it("gives back to each what was taken for a retry that never started", () => {
    const [one, other] = [quota(), concurrent()]
    const meter = meterOf(all([one, other]))
    meter.refund(0, take(meter, 0)!)
    expect([meterOf(one).balance(0), meterOf(other).balance(0)]).toEqual([100, 3])
  })

  it("tells each what it is told", () => {
    const [one, other, third] = [throttle(), quota(), concurrent()]
    const meter = meterOf(all([one, other, third]))
    meter.failure?.(0)
    meter.enter?.()
    const withdrawal = take(meter, 0)!
    meter.start(0, withdrawal)
    expect([one, other, third].map((_) => meterOf(_).balance(0))).toEqual([3, 99, 2])
    meter.settle?.(withdrawal)
    meter.exit?.()
    meter.success?.(0, withdrawal)
    expect([one, other, third].map((_) => meterOf(_).balance(0))).toEqual([3.1, 100, 3])
    meter.success?.(0, undefined)
    expect(meterOf(one).balance(0)).toBe(3.2)
  })

  it("has only what its members have", () => {
    const { enter, exit, failure, settle, success } = meterOf(all([make(), ratio()]))
    expect([enter, exit, failure, settle, success]).toEqual([undefined, undefined, undefined, undefined, undefined])
  })

  it("deposits in each, and in one that is there twice once", () => {
    const one = make({ initial: 0, minPerSecond: 0 })
    const meter = meterOf(all([one, one, all([one, quota()])]))
    for (let i = 0; i < 20; i++) meter.request(0)
    expect(meter.balance(0)).toBe(2)
    const twice = make({ initial: 4 })
    expect(grantedOf(meterOf(all([twice, twice])), 0, 10)).toBe(4)
  })

  it("starts a retry when all are ready, and counts no start with one while another is not", () => {
    // The slow one lets one start a second; the quick one many.
    const [slow, quick] = [make({ initial: 9 }), ratio({ minPerSecond: 2 })]
    const meter = meterOf(all([quick, slow]))
    const [first, second] = [take(meter, 0)!, take(meter, 0)!]
    expect(meter.start(0, first)).toBe(0)
    const wait = meter.start(0, second)
    expect(wait).toBeGreaterThan(1000)
    // Nothing has been counted for the second: the quick one has room for its second start.
    const alone = meterOf(quick)
    expect(alone.start(0, take(alone, 0)!)).toBe(0)
    expect(meter.start(wait, second)).toBe(0)
  })

  it("is idle when each is", () => {
    const one = quota()
    const meter = meterOf(all([one, make()]))
    expect(meter.idle(0)).toBe(true)
    take(meterOf(one), 0)
    expect(meter.idle(0)).toBe(false)
  })

  it("inside all is the same as flat", () => {
    const members = () => [quota({ capacity: 20 }), concurrent({ minimum: 5 }), ratio({ minPerSecond: 0.3 })] as const
    const [a, b, c] = members()
    const [d, e, f] = members()
    const flat = meterOf(all([a, b, c]))
    const nested = meterOf(all([d, all([e, f])]))
    expect([grantedOf(nested, 0, 9), nested.balance(0)]).toEqual([grantedOf(flat, 0, 9), flat.balance(0)])
  })
})

describe("all, of what starts when", () => {
  it("takes once from one that is there twice, also in an all inside", () => {
    const [a, b, c] = [quota(), quota(), quota()]
    const meter = meterOf(all([a, all([b, all([a, c])]), all([c, a])]))
    take(meter, 0)
    expect([a, b, c].map((_) => meterOf(_).balance(0))).toEqual([99, 99, 99])
  })

  it.effect("starts none while another is held, so that a run which gives up leaves nothing", () =>
    Effect.gen(function* () {
      const held = holding(RetryBudget.unlimited)
      const [one, other, third] = [concurrent(), quota(), make({ initial: 3 })]
      const before = [3, 100, 3]
      for (const members of [[one, other, third, held], [held, one, other, third], [one, all([held, other]), third]]) {
        yield* held.hold("10 seconds")
        const meter = meterOf(all(members))
        const withdrawal = take(meter, 0)!
        expect(meter.start(0, withdrawal)).toBeGreaterThanOrEqual(10_000)
        meter.refund(0, withdrawal)
        expect([one, other, third].map((_) => meterOf(_).balance(0))).toEqual(before)
      }
    }))

  it("undoes what has started when a later one says only then that it is not ready", () => {
    const late = budgetOf({ start: () => 1000 })
    const members = [concurrent(), quota(), make({ initial: 3 }), ratio(), throttle(), holding(concurrent())]
    const balances = () => members.map((_) => meterOf(_).balance(0))
    const before = balances()
    const meter = meterOf(all([...members, late]))
    for (let i = 0; i < 5; i++) {
      const withdrawal = take(meter, 0)!
      meter.start(0, withdrawal)
      meter.refund(0, withdrawal)
      meter.refund(0, withdrawal)
    }
    expect(balances()).toEqual(before)
    expect(members.filter((_) => !meterOf(_).idle(60_000))).toEqual([])
  })

  it("gets on with a pace that it asks twice, and gives back what that took", () => {
    const paced = make({ initial: 9, minPerSecond: 0.5, ratio: 0 })
    const meter = meterOf(all([quota(), paced, holding(paced)]))
    const withdrawal = take(meter, 0)!
    const wait = meter.start(0, withdrawal)
    expect(wait).toBeGreaterThan(1000)
    meter.refund(0, withdrawal)
    expect(meter.balance(0)).toBe(9)
    const next = take(meter, 5000)!
    const more = meter.start(5000, next)
    expect(more).toBeGreaterThan(1000)
    expect(meter.start(5000 + more, next)).toBe(0)
  })

  it("does not ask again whether one is ready that has started", () => {
    let answer = 1000
    const paced = make({ initial: 9 })
    const meter = meterOf(all([paced, budgetOf({ start: () => answer })]))
    const withdrawal = take(meter, 0)!
    expect(meter.start(0, withdrawal)).toBe(1000)
    // With the pace used up, a second question would send away what has started.
    expect(meter.start(500, withdrawal)).toBe(1000)
    answer = 0
    expect(meter.start(1000, withdrawal)).toBe(0)
    const alone = meterOf(paced)
    expect(alone.start(2000, take(alone, 2000)!)).toBe(0)
  })
})

describe("all, with a member that takes its time", () => {
  const asked = (meter: Meter): Effect.Effect<Withdrawal | undefined> => {
    const answer = meter.withdraw(0, failure)
    // A meter's effect is one of a withdrawal.
    return Effect.isEffect(answer) ? answer as Effect.Effect<Withdrawal | undefined> : Effect.succeed(answer)
  }

  it.effect("takes from each when it says yes", () =>
    Effect.gen(function* () {
      const [one, other] = [quota(), quota()]
      const slow = budgetOf({ withdraw: () => Effect.succeed({}) })
      const meter = meterOf(all([one, slow, other]))
      expect(yield* asked(meter)).toBeDefined()
      expect([meterOf(one).balance(0), meterOf(other).balance(0)]).toEqual([99, 99])
    }))

  it.effect.each([0, 1, 2])("leaves nothing when it says no (at place %s)", (place) =>
    Effect.gen(function* () {
      const [one, other] = [quota(), quota()]
      const members = [one, other]
      members.splice(place, 0, budgetOf({ withdraw: () => Effect.succeed(undefined) }))
      expect(yield* asked(meterOf(all(members)))).toBeUndefined()
      expect([meterOf(one).balance(0), meterOf(other).balance(0)]).toEqual([100, 100])
    }))

  it.effect("asks those behind it at the time of its answer", () =>
    Effect.gen(function* () {
      const slow = budgetOf({ withdraw: () => Effect.delay(Effect.succeed({}), "3 seconds") })
      const times: Array<number> = []
      const other = budgetOf({
        withdraw: (now) => {
          times.push(now)
          return undefined
        },
        refund: (now) => void times.push(now)
      })
      const fiber = yield* Effect.forkChild(asked(meterOf(all([slow, other]))))
      yield* TestClock.adjust("3 seconds")
      expect(yield* Fiber.join(fiber)).toBeUndefined()
      expect(times).toEqual([3000])
      const first = budgetOf({ refund: (now) => void times.push(now) })
      const no = budgetOf({ withdraw: () => Effect.delay(Effect.succeed(undefined), "2 seconds") })
      const refused = yield* Effect.forkChild(asked(meterOf(all([first, no]))))
      yield* TestClock.adjust("2 seconds")
      yield* Fiber.join(refused)
      expect(times).toEqual([3000, 5000])
    }))

  it.effect("leaves nothing when it is interrupted", () =>
    Effect.gen(function* () {
      const one = quota()
      const never = yield* Deferred.make<Withdrawal>()
      const meter = meterOf(all([one, budgetOf({ withdraw: () => Deferred.await(never) })]))
      const fiber = yield* Effect.forkChild(asked(meter), { startImmediately: true })
      expect(meterOf(one).balance(0)).toBe(99)
      yield* Fiber.interrupt(fiber)
      expect(meterOf(one).balance(0)).toBe(100)
    }))
})
