// A hundred processes start together, each with a request a second, and everything fails. Each may retry 0.3 times a
// second, so 30 are expected, and as nobody tells the processes of each other, their number spreads as any count does:
// by 4.6. More than 45 are 3.4 of these.
//
// Of 400 fleets in their first minute, 1 % have more than 45 in a whole second (48 at most), and 8 % in a second that
// begins anywhere (14 % where all requests come at one instant; 51 at most).
import { describe, expect, it } from "@effect/vitest"
import { RetryBudget } from "@reprise/core"
import { fleet } from "./fleet.ts"

const seeds = Array.from({ length: 40 }, (_, seed) => seed + 1)

describe.each([
  ["at random times", (_: number, draw: { readonly nextDoubleUnsafe: () => number }) => draw.nextDoubleUnsafe() * 1000],
  ["evenly", (process: number) => process * 10],
  ["all at once", () => 0]
])("a hundred fresh processes, whose requests come %s", (_, first) => {
  const fleets = (budget: () => RetryBudget.RetryBudget, seconds: number) =>
    seeds.map((seed) => fleet(budget, first, seed, 100, seconds))

  it("retry at most once each in the first second", () => {
    for (const { each } of fleets(() => RetryBudget.make(), 2)) {
      expect(Math.max(...each.map((starts) => starts.filter((at) => at < 1000).length))).toBe(1)
    }
  })

  it("send 45 retries at most in any second after, but for one fleet in a hundred", () => {
    const worst = fleets(() => RetryBudget.make(), 30).map(({ perSecond }) => Math.max(...perSecond.slice(1)))
    expect(worst.filter((_) => _ > 45).length).toBeLessThanOrEqual(1)
    expect(Math.max(...worst)).toBeLessThanOrEqual(48)
  })

  it("seldom send more in a second that begins anywhere", () => {
    const worst = fleets(() => RetryBudget.make(), 30).map((_) => _.worst)
    expect(worst.filter((_) => _ > 45).length).toBeLessThanOrEqual(6)
    expect(Math.max(...worst)).toBeLessThanOrEqual(52)
  })

  it("send about 30 a second in the long run", () => {
    for (const { starts } of fleets(() => RetryBudget.make(), 30).slice(0, 5)) {
      expect(starts.filter((at) => at >= 5000).length / 25).toBeGreaterThan(24)
      expect(starts.filter((at) => at >= 5000).length / 25).toBeLessThan(31)
    }
  })

  it("send several times as many under Finagle's budget", () => {
    const worst = fleets(() => RetryBudget.ratio(), 10).slice(0, 5).map((_) => _.worst)
    expect(Math.min(...worst)).toBeGreaterThan(150)
  })
})
