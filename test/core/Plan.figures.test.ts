import { describe, expect, it } from "@effect/vitest"
import { Plan, Policy } from "@reprise/core"
import { Result } from "effect"
import reference from "../fixtures/latency-sums.json" with { type: "json" }

const limited = (policy: Policy.Any, options?: Plan.Options): Plan.Limited => {
  const plan = Result.getOrThrow(Plan.of(policy, options))
  if (plan._tag !== "Limited") throw new Error(`${plan._tag}: ${plan.policy}`)
  return plan
}

const relative = (actual: number, expected: number): number => Math.abs(actual / expected - 1)

const capped = (k: number) => Policy.exponential("500 millis").pipe(Policy.capped("30 seconds"), Policy.attempts(k + 1))

describe("Plan: the reference figures", () => {
  it.each(reference.latencySums.rows)("full jitter, $k retries: percentiles within 0.001 %", ({ full, k }) => {
    const { total } = limited(Policy.jittered(capped(k)))
    expect(total).toMatchObject({ min: 0, mean: full.mean, max: full.max, precision: "computed" })
    expect(relative(total.p50, full.p50)).toBeLessThan(1e-5)
    expect(relative(total.p95, full.p95)).toBeLessThan(1e-5)
    expect(relative(total.p99, full.p99)).toBeLessThan(1e-5)
  })

  it.each(reference.latencySums.rows)("equal jitter, $k retries: percentiles within 0.001 %", ({ equal, k }) => {
    const { total } = limited(Policy.jitteredWith(capped(k), "equal"))
    expect(total).toMatchObject({ min: equal.min, mean: equal.mean, max: equal.max, precision: "computed" })
    expect(relative(total.p50, equal.p50)).toBeLessThan(1e-5)
    expect(relative(total.p95, equal.p95)).toBeLessThan(1e-5)
    expect(relative(total.p99, equal.p99)).toBeLessThan(1e-5)
  })

  it.each(reference.latencySums.rows)("no jitter, $k retries: exact", ({ delayCeilingsMs, k, none }) => {
    const { delays, total } = limited(capped(k))
    const sum = none.total
    expect(delays.map((_) => _.max)).toEqual(delayCeilingsMs)
    expect(total).toEqual({ min: sum, mean: sum, max: sum, p50: sum, p95: sum, p99: sum, precision: "exact" })
  })

  it("decorrelated jitter: the mean of each wait within 0.1 %", () => {
    const { delays } = limited(Policy.decorrelated({ base: 5, cap: 2000 }).pipe(Policy.attempts(21)))
    for (const [index, row] of reference.decorrelated.rows.entries()) {
      expect(relative(delays[index]!.mean, row.numericMean)).toBeLessThan(0.001)
    }
  })

  it.each(reference.decorrelated.rows)("decorrelated jitter, $n retries: the sum within 0.5 %", (row) => {
    const { total } = limited(Policy.decorrelated({ base: 5, cap: 2000 }).pipe(Policy.attempts(row.n + 1)))
    expect(total.precision).toBe("computed")
    expect(relative(total.mean, row.totalMean)).toBeLessThan(0.005)
    expect(relative(total.p50, row.totalP50)).toBeLessThan(0.005)
    expect(relative(total.p95, row.totalP95)).toBeLessThan(0.005)
    expect(relative(total.p99, row.totalP99)).toBeLessThan(0.005)
  })

  it.each(reference.nRetries.headline)("$retries retries, failure rate $p: success and load", (row) => {
    const policy = Policy.constant("1 second").pipe(Policy.recurs(row.retries))
    const found = Result.getOrThrow(Plan.success(policy, { failureRate: row.p }))
    expect(found.success).toBeCloseTo(row.success, 10)
    expect(found.executions).toBeCloseTo(row.load, 10)
    expect(found.attempts).toHaveLength(row.retries + 1)
    expect(found.attempts[0]).toEqual({ attempt: 1, success: 1 - row.p, executions: 1 })
  })

  it("sums a mixture: a wait that its cap holds back half of the time", () => {
    // U[500, 1500) held at 1000: half an atom, half uniform. Two of them: the mean is twice 875.
    const { total } = limited(
      Policy.constant(1000).pipe(Policy.jitteredWith({ min: 0.5, max: 1.5 }), Policy.capped(1000), Policy.attempts(3))
    )
    expect(total).toMatchObject({ min: 1000, mean: expect.closeTo(1750, 5), max: 2000 })
    // P(sum < x) is 1/2 where x = 1750 + 250 * (1 - …): 1/4 uniform + uniform, 1/2 uniform + atom, 1/4 atom + atom.
    const below = (y: number) => y <= 500 ? y * y / 2 / 500 / 500 / 4 : (1 - (1000 - y) ** 2 / 2 / 500 / 500) / 4
    const share = (x: number) => below(x - 1000) + (x > 1500 ? (x - 1500) / 500 / 2 : 0)
    expect(share(total.p50)).toBeCloseTo(0.5, 2)
    expect(relative(total.p95, 2000)).toBeLessThan(0.005)
  })

  it("sums waits of a millisecond and of days", () => {
    const { total } = limited(Policy.exponential(1).pipe(Policy.jittered, Policy.attempts(41)))
    expect(total.max).toBe(2 ** 40 - 1)
    expect(relative(total.p50, 2 ** 39)).toBeLessThan(1e-5)
  })
})
