import { describe, expect, it } from "@effect/vitest"
import { Plan, Policy } from "@reprise/core"
import { Result } from "effect"
import * as fc from "fast-check"
import { forAll } from "./forAll.ts"
import * as generators from "./generators.ts"

const timeout = fc.constantFrom(undefined, 50, 700, 5000)

/** Policies that follow hints and end. */
const hinted = fc.tuple(generators.member, fc.array(generators.limit, { maxLength: 2 })).map(([self, limits]) =>
  limits.reduce(
    (limited, limit) => limit(limited),
    self.pipe(Policy.attempts(4), Policy.honoringRetryAfter({ max: "46 seconds" }))
  )
)

/** What a policy can come to; nothing where a plan would be too large. */
const planOf = (policy: Policy.Any, options: Plan.Options): Plan.Plan | undefined => {
  const result = Plan.of(policy, options)
  if (Result.isSuccess(result)) return result.success
  expect(result.failure._tag).toBe("PlanTooLarge")
  return undefined
}

/** When a run ends of which every attempt fails by the script, over and over, or takes as long as it may. */
const end = (policy: Policy.Any, script: generators.Script, draws: generators.Draws, most: number): number => {
  const { start, step } = Policy.stepper(policy)
  const state = start()
  let drawn = 0
  const random = { nextDoubleUnsafe: () => draws(drawn++) }
  let elapsed = 0
  for (let attempt = 1; attempt <= 200; attempt++) {
    const { error, timedOut, took } = script[(attempt - 1) % script.length]!
    elapsed += Math.min(timedOut ? most : took, most)
    const failure = { attempt, elapsed, now: generators.epoch + elapsed, timedOut }
    const decision = step(state, failure, error, random)
    if (decision < 0) return elapsed
    elapsed += decision
  }
  return elapsed
}

/** Sums of the same numbers in another order differ by that much. */
const atMost = (value: number): number => value * (1 + 1e-9) + 1e-6

describe("Plan", () => {
  it("what fits ends in time, whatever fails and whatever is drawn", () => {
    forAll(
      [
        fc.oneof({ weight: 1, arbitrary: generators.policy }, { weight: 3, arbitrary: hinted }),
        fc.constantFrom(500, 5000, 60_000),
        timeout,
        fc.array(fc.tuple(generators.scriptWithTimeouts, generators.draws), { minLength: 8, maxLength: 8 })
      ],
      (policy, within, attemptTimeout, runs) => {
        const result = Plan.fits(policy, { within, attemptTimeout })
        if (Result.isFailure(result)) return
        for (const [script, draws] of runs) {
          expect(end(policy, script, draws, attemptTimeout ?? 0)).toBeLessThanOrEqual(atMost(within))
        }
      },
      100
    )
  })

  it("the worst case does not fall when attempts rise", () => {
    forAll([generators.policy, fc.integer({ min: 1, max: 6 })], (policy, attempts) => {
      const worst = (most: number) => {
        const plan = planOf(Policy.attempts(policy, most), { attemptTimeout: 50 })
        return plan?._tag === "Limited" ? plan.worstCase! : undefined
      }
      const few = worst(attempts)
      const more = worst(attempts + 1)
      expect(few ?? 0).toBeLessThanOrEqual(atMost(more ?? few ?? 0))
    }, 200)
  })

  it("the least, the mean and the most stand in this order", () => {
    forAll([generators.policy, timeout], (policy, attemptTimeout) => {
      const plan = planOf(policy, { attemptTimeout })
      for (const { max, mean, min, startEarliest, startLatest } of plan?.delays ?? []) {
        expect(min).toBeGreaterThanOrEqual(0)
        expect(min).toBeLessThanOrEqual(atMost(mean))
        expect(mean).toBeLessThanOrEqual(atMost(max))
        expect(startEarliest).toBeLessThanOrEqual(atMost(startLatest))
      }
      if (plan === undefined || plan._tag === "Unlimited") return
      const { max, mean, min, p50, p95, p99 } = plan.total
      expect(min).toBeLessThanOrEqual(atMost(mean))
      expect(mean).toBeLessThanOrEqual(atMost(max))
      expect(p50).toBeLessThanOrEqual(p95)
      expect(p95).toBeLessThanOrEqual(p99)
    }, 150)
  })

  it("every plan can be drawn", () => {
    forAll([generators.policy, timeout], (policy, attemptTimeout) => {
      const plan = planOf(policy, { attemptTimeout })
      if (plan === undefined) return
      expect(Plan.toAscii(plan)).not.toMatch(/NaN|Infinity|undefined/)
      expect(Plan.toSvg(plan)).not.toMatch(/NaN|Infinity|undefined|height="-/)
    }, 150)
  })
})
