import { describe, expect, it } from "@effect/vitest"
import { Plan, Policy } from "@reprise/core"
import { Result } from "effect"
import reference from "../fixtures/plan-sums.json" with { type: "json" }

const { computed, heavy, simulated } = reference

const total = (notation: string, hint: number | undefined): Plan.Total => {
  const plan = Result.getOrThrow(Plan.of(Result.getOrThrow(Policy.parse(notation)), { hint }))
  if (plan._tag === "Unlimited") throw new Error(plan.policy)
  return plan.total
}

describe("Plan: sums of waits that depend on each other, or draw more than once", () => {
  it.each([...computed.rows, ...heavy.rows])(
    "$policy, hint $hint: mean and percentiles within 0.5 % of a large simulation",
    ({ figures, hint, policy }) => {
      const { mean, p50, p95, p99, precision } = total(policy, hint)
      expect(precision).toBe("computed")
      expect([mean, p50, p95, p99].map((found, index) => Math.abs(found / figures[index]! - 1) < 0.005)).toEqual(
        Array(4).fill(true)
      )
    }
  )

  it("loses no mass: before a cap binds, the mean of each decorrelated wait is the exact one", () => {
    const { delays } = Result.getOrThrow(Plan.of(Policy.attempts(Policy.decorrelated({ base: 1, cap: 1e15 }), 31)))
    let exact = 1
    for (const { mean } of delays) {
      exact = (1 + 3 * exact) / 2
      expect(Math.abs(mean / exact - 1)).toBeLessThan(0.005)
    }
    expect(delays).toHaveLength(30)
  })

  it.each([
    "decorrelated(100ms, 100ms)",
    "decorrelated(100ms, 101ms)",
    "decorrelated(100ms, 250ms)",
    "decorrelated(1ms, 10d)",
    "decorrelated(1s, 10s) | jitter",
    "decorrelated(1s, 10s) | retryAfter(1h)",
    "max(decorrelated(1s, 10s); constant(3s))",
    "concat(immediate(1); decorrelated(1s, 10s) | recurs(2); constant(7s) | jitter)",
    "constant(1s) | jitter | jitter",
    "min(constant(1s) | jitter; decorrelated(1s, 2s))",
    "exponential(1s) | jitter(0.5, 1.5) | cap(4s) | jitter | retryAfter(1h)"
  ])("%s: shortest, percentiles and longest stand in their order", (notation) => {
    for (const attempts of [2, 3, 4, 6, 11, 40]) {
      for (const hint of [0, 1, 60_000]) {
        const { max, mean, min, p50, p95, p99 } = total(`${notation} | attempts(${attempts})`, hint)
        expect([min, p50, p95, p99, max]).toEqual([min, p50, p95, p99, max].toSorted((a, b) => a - b))
        expect(mean).toBeGreaterThanOrEqual(min)
        expect(mean).toBeLessThanOrEqual(max)
      }
    }
  })

  it("a share of the runs that is always at the cap stays at the longest sum", () => {
    // Of the waits of a decorrelated(100ms, 130ms), 85 % and more are at the cap.
    const { max, p50, p95, p99 } = total("decorrelated(100ms, 130ms) | attempts(4)", 0)
    expect([p50, p95, p99]).toEqual([max, max, max])
  })

  it("is quick for 1,000 attempts", () => {
    // A test may take a second of the processor: ten plans, and each would be too slow at 100 ms.
    const policy = Policy.attempts(Policy.decorrelated({ base: 100, cap: 10_000 }), 1000)
    for (let plans = 0; plans < 10; plans++) expect(Result.isSuccess(Plan.of(policy))).toBe(true)
  })
})

describe.each(simulated.kinds)("Plan: simulated for $kind", ({ meanWithin, percentilesWithin, rows }) => {
  it.each(rows)("$policy: as near to a large simulation as the documentation has it", ({ figures, policy }) => {
    const { mean, p50, p95, p99, precision } = total(policy, undefined)
    expect(precision).toBe("simulated")
    const off = [mean, p50, p95, p99].map((found, index) => Math.abs(found / figures[index]! - 1))
    expect(off[0]).toBeLessThan(meanWithin)
    expect(Math.max(...off.slice(1))).toBeLessThan(percentilesWithin)
  })
})
