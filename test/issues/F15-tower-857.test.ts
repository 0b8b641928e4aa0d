// tower-rs/tower#857: whole-number arithmetic let a budget of 60 % through as one of 100 %.
// Of 10,000 requests that all fail, the retries are within 1 % of the ratio, for any ratio.
import { describe, expect, it } from "@effect/vitest"
import { RetryBudget } from "@reprise/core"
import * as fc from "fast-check"
import { meterOf, take } from "../core/budget/meter.ts"
import budgets from "../fixtures/budgets.json" with { type: "json" }
import { forAll } from "../laws/forAll.ts"

const requests = 10_000

/** The share of requests that are retried, at most 11 times each, as they come one after the other in so much time. */
const retried = (budget: RetryBudget.RetryBudget, time: number): number => {
  const meter = meterOf(budget)
  let retries = 0
  for (let request = 0; request < requests; request++) {
    const now = request * time / requests
    meter.request(now)
    for (let retry = 0; retry < 11; retry++) {
      const withdrawal = take(meter, now)
      if (withdrawal === undefined) break
      retries++
    }
  }
  return retries / requests
}

// One retry is one in 10,000, so a lower ratio cannot be told by them.
const ratios = fc.double({ min: 0.01, max: 10, noNaN: true })
const options = { minPerSecond: 0, maxWaiting: 200_000 }

describe.each([
  ["make", (ratio: number) => RetryBudget.make({ ...options, ratio, initial: 0 })],
  ["ratio", (ratio: number) => RetryBudget.ratio({ ...options, ratio })]
])("F15: %s", (_, budget) => {
  it("allows what its ratio says, within 1 %, of requests within its window", () => {
    forAll([ratios, fc.constantFrom(0, 1000, 9000)], (ratio, time) => {
      const share = retried(budget(ratio), time)
      expect(Math.abs(share - ratio)).toBeLessThanOrEqual(0.01 * ratio + 1 / requests)
    }, 40)
  })

  // A part of a retry is lost with its window, which is more than 1 % of a few.
  it("allows it of requests over ten windows, too", () => {
    forAll([fc.double({ min: 0.1, max: 10, noNaN: true })], (ratio) => {
      expect(Math.abs(retried(budget(ratio), 100_000) - ratio)).toBeLessThanOrEqual(0.01 * ratio + 3 / requests)
    }, 20)
  })

  it.each(budgets.windowed.towerEffectiveRatio)(
    "a ratio of $ratio is not $effective where tower makes it that",
    ({ ratio }) => {
      expect(Math.abs(retried(budget(ratio), 1000) / ratio - 1)).toBeLessThanOrEqual(0.01)
    }
  )
})
