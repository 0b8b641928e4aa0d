// How many granted retries may wait, for each kind of budget.
import { describe, expect, it } from "@effect/vitest"
import { RetryBudget } from "@reprise/core"
import { grantedOf, meterOf, take } from "./meter.ts"

type Make = (maxWaiting?: number) => RetryBudget.RetryBudget
// Budgets that have more than 1100 retries.
const kinds: ReadonlyArray<readonly [name: string, make: Make]> = [
  ["make", (maxWaiting) => RetryBudget.make({ initial: 5000, maxWaiting })],
  ["ratio", (maxWaiting) => RetryBudget.ratio({ minPerSecond: 500, maxWaiting })],
  ["throttle", (maxWaiting) => RetryBudget.throttle({ maxWaiting })],
  ["quota", (maxWaiting) => RetryBudget.quota({ capacity: 10_000, maxWaiting })],
  ["concurrent", (maxWaiting) => RetryBudget.concurrent({ minimum: 5000, maxWaiting })],
  [
    "all",
    (maxWaiting) =>
      RetryBudget.all([RetryBudget.quota({ capacity: 10_000 }), RetryBudget.make({ initial: 5000, maxWaiting })])
  ]
]

describe.each(kinds)("%s", (_, make) => {
  it("lets 1000 granted retries wait, and denies more", () => {
    expect(grantedOf(meterOf(make()), 0, 1100)).toBe(1000)
  })

  it("lets another one wait when one has started or never will", () => {
    const meter = meterOf(make(3))
    const [starts, ends] = [take(meter, 0)!, take(meter, 0)!]
    expect(grantedOf(meter, 0, 5)).toBe(1)
    expect(meter.start(0, starts)).toBe(0)
    expect(grantedOf(meter, 0, 5)).toBe(1)
    meter.refund(0, ends)
    expect(grantedOf(meter, 0, 5)).toBe(1)
  })

  it("counts each once, whatever is said of it again", () => {
    const meter = meterOf(make(2))
    const withdrawal = take(meter, 0)!
    expect(meter.start(0, withdrawal)).toBe(0)
    meter.start(0, withdrawal)
    meter.refund(0, withdrawal)
    expect(grantedOf(meter, 0, 5)).toBe(2)
  })

  it("takes nothing for what it denies because too many wait", () => {
    const meter = meterOf(make(1))
    take(meter, 0)
    const before = meter.balance(0)
    take(meter, 0)
    expect(meter.balance(0)).toBe(before)
  })
})

describe("unlimited", () => {
  it("lets any number wait", () => {
    expect(grantedOf(meterOf(RetryBudget.unlimited), 0, 2000)).toBe(2000)
  })
})
