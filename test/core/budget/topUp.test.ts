// The default budget, by its description.
import { describe, expect, it } from "@effect/vitest"
import { RetryBudget } from "@reprise/core"
import { grantedOf, meterOf, take } from "./meter.ts"

const make = (options?: RetryBudget.MakeOptions, drawn?: number) => meterOf(RetryBudget.make(options), drawn)

describe("make", () => {
  it("has its initial retry at once, and no second one", () => {
    expect(grantedOf(make(), 5000, 10)).toBe(1)
  })

  it("earns a tenth of each request", () => {
    const meter = make({ initial: 0, minPerSecond: 0 })
    for (let i = 0; i < 29; i++) meter.request(0)
    expect([meter.balance(0), grantedOf(meter, 0, 10)]).toEqual([2.9, 2])
  })

  it("trickles where there are no requests", () => {
    const meter = make({ initial: 0 })
    expect([0, 1000, 1500, 3334, 9999].map((now) => meter.balance(now))).toEqual([0, 0.3, 0.45, 1.0002, 2.9997])
  })

  it.each([[10_000], [15_500], [60_000], [1e12]])("holds one window's worth after %s ms without a call", (idle) => {
    const meter = make()
    meter.balance(0)
    expect(meter.balance(idle)).toBe(3)
    expect(grantedOf(meter, idle, 10)).toBe(3)
  })

  it.each([[0], [0.123], [0.999]])("holds it wherever its slices lie (%s)", (drawn) => {
    const meter = make({}, drawn)
    meter.balance(0)
    for (let now = 15_000; now < 40_000; now += 137) expect(meter.balance(now)).toBe(3)
  })

  it("tops up: a second is worth its requests or the trickle, not both", () => {
    const meter = make({ initial: 0 })
    for (let i = 0; i < 5; i++) meter.request(0)
    expect([0, 1000, 2000].map((now) => meter.balance(now))).toEqual([0.5, 0.5, 0.8])
  })

  it("has what it has at the start for no longer than a window, and not beside a window's worth", () => {
    const meter = make()
    expect([0, 5000, 7000, 9999, 11_000, 30_000].map((now) => meter.balance(now))).toEqual([1, 2.5, 3, 3, 3, 3])
    const still = make({ minPerSecond: 0, initial: 2 })
    expect([0, 9999, 10_500, 11_000].map((now) => still.balance(now))).toEqual([2, 2, 1, 0])
  })

  it("trickles as fast where it had much at the start", () => {
    const meter = make({ initial: 3 })
    expect([0, 3334, 6668, 9999, 11_000].map((now) => grantedOf(meter, now, 9))).toEqual([3, 1, 1, 0, 1])
  })

  it("forgets requests and retries together with their slice, which leaves within a second", () => {
    const meter = make({ initial: 0, minPerSecond: 0 })
    for (let i = 0; i < 40; i++) meter.request(500)
    grantedOf(meter, 500, 2)
    expect([500, 10_499, 11_000, 11_500].map((now) => meter.balance(now))).toEqual([2, 2, 1, 0])
  })

  it.each([[0, 3333.4], [0.5, 5000.1], [0.9, 6333.4]])(
    "begins to trickle late by a part drawn: %s",
    (drawn, second) => {
      const meter = make({}, drawn)
      expect(grantedOf(meter, 0, 5)).toBe(1)
      expect(grantedOf(meter, second - 1, 5)).toBe(0)
      expect(grantedOf(meter, second, 5)).toBe(1)
    }
  )

  it("does not let a few requests shorten that part", () => {
    const meter = make({}, 0.9)
    const granted = [0, 1, 2, 3, 4, 5, 6, 7].map((second) => {
      meter.request(second * 1000)
      return grantedOf(meter, second * 1000, 5)
    })
    expect(granted).toEqual([1, 0, 0, 0, 0, 0, 1, 0])
  })

  it("gives back exactly what a retry took that never started, until it has left the window", () => {
    const meter = make({ ratio: 0.3 })
    for (let i = 0; i < 50; i++) meter.request(0)
    const [one, other] = [take(meter, 900)!, take(meter, 900)!]
    const before = meter.balance(1000)
    meter.refund(1000, one)
    meter.refund(1000, one)
    expect(meter.balance(1000)).toBe(before + 1)
    const [late, later] = [meter.balance(10_500), meter.balance(11_000)]
    expect(later).toBe(3)
    meter.refund(11_000, other)
    expect([late, meter.balance(11_000)]).toEqual([late, later])
  })

  it("takes a clock that goes back for one that stands still", () => {
    const meter = make()
    meter.request(10_000)
    const before = meter.balance(12_345)
    expect(meter.balance(3000)).toBe(before)
    expect([grantedOf(meter, 0, 5), meter.balance(12_345)]).toEqual([1, before - 1])
  })

  it("does not drift", () => {
    const meter = make({ ratio: 0.1, minPerSecond: 0, initial: 0 })
    for (let i = 0; i < 300_000; i++) {
      meter.request(i)
      take(meter, i)
    }
    meter.balance(400_000)
    for (let i = 0; i < 10; i++) meter.request(400_000)
    expect(meter.balance(400_000)).toBe(1)
  })
})

describe("one run may take", () => {
  it.each([
    ["a fifth of what make has", () => RetryBudget.make({ initial: 21 }), 5],
    ["two where make has little", () => RetryBudget.make(), 2],
    ["one where ratio has nothing", () => RetryBudget.ratio({ minPerSecond: 0 }), 1],
    ["a fifth of Finagle's hundred", () => RetryBudget.ratio(), 20],
    ["a fifth of the quota's hundred", () => RetryBudget.quota(), 20],
    ["any number, where the share is 1", () => RetryBudget.ratio({ perOperation: 1 }), Infinity],
    ["one, where the share is 0", () => RetryBudget.ratio({ perOperation: 0 }), 1],
    ["any number of a throttle", () => RetryBudget.throttle(), Infinity],
    ["any number of the concurrent", () => RetryBudget.concurrent(), Infinity],
    ["any number of what has no limit", () => RetryBudget.unlimited, Infinity],
    ["the least of all", () => RetryBudget.all([RetryBudget.ratio(), RetryBudget.make()]), 2]
  ])("%s", (_, budget, most) => {
    expect(meterOf(budget()).ceiling(0)).toBe(most)
  })

  it("two, where more was taken than there is", () => {
    const meter = make({ minPerSecond: 0, initial: 0 })
    for (let i = 0; i < 100; i++) meter.request(0)
    grantedOf(meter, 9000, 10)
    expect([meter.balance(12_000), meter.ceiling(12_000)]).toEqual([-10, 2])
  })
})
