// timgit/pg-boss#441: a base of one second reached fourteen hours, unseen until it happened.
// What a policy will do shows before it runs: in its words, in its bounds, and in its stepper, which is the one that runs.
import { describe, expect, it } from "@effect/vitest"
import { Policy, Spec } from "@reprise/core"
import * as Effect from "effect/Effect"
import { draws, record } from "../core/Recording.ts"

const hour = 3_600_000

/** The waits of a policy, without running anything. */
const foreseen = (policy: Policy.Unrestricted): ReadonlyArray<number> => {
  const { start, step } = Policy.stepper(policy)
  const state = start()
  const waits: Array<number> = []
  let elapsed = 0
  for (;;) {
    const wait = step(state, { attempt: waits.length + 1, elapsed, now: 0, timedOut: false }, "busy", draws(0.5))
    if (wait < 0) return waits
    waits.push(wait)
    elapsed += wait
  }
}

describe("F17: the growth of a policy shows before it runs", () => {
  it("one second, doubled sixteen times, is seen to reach hours", () => {
    const policy = Policy.exponential("1 second").pipe(Policy.attempts(18))
    const waits = foreseen(policy)
    expect(Math.max(...waits)).toBeGreaterThan(14 * hour)
    expect(record(() => Effect.fail("busy"), policy).waits).toEqual(waits)
  })

  it.each<[policy: Policy.Unrestricted]>([
    [Policy.exponential(100).pipe(Policy.capped(500), Policy.jittered, Policy.attempts(9))],
    [Policy.fibonacci(100).pipe(Policy.within("10 seconds"))],
    [Policy.concat(Policy.immediate(2), Policy.delays([5, 6]))],
    [Policy.decorrelated({ base: 100, cap: 900 }).pipe(Policy.attempts(9))]
  ])("what is foreseen is what happens: %s", (policy) => {
    const { starts } = record(() => Effect.fail("busy"), policy)
    const waits = foreseen(policy)
    expect(starts).toHaveLength(waits.length + 1)
    for (const [i, wait] of waits.entries()) expect(starts[i + 1]! - starts[i]!).toBeCloseTo(wait, 5)
  })

  it("a growth without a cap has no largest delay; a cap gives it one", () => {
    expect(Spec.largestDelay(Policy.exponential("1 second").spec)).toBe(Infinity)
    expect(Spec.largestDelay(Policy.exponential("1 second").pipe(Policy.capped("30 seconds")).spec)).toBe(30_000)
    expect(Spec.largestDelay(Policy.exponential("1 second").pipe(Policy.capped("30 seconds"), Policy.jittered).spec))
      .toBe(
        30_000
      )
    expect(Spec.largestDelay(Policy.standard.spec)).toBe(5000)
  })

  it("its words name the growth, and the cap where there is one", () => {
    const policy = Policy.exponential("1 second").pipe(Policy.attempts(18))
    expect(Policy.describe(policy)).toContain("grow from 1 s, doubling")
    expect(Policy.describe(policy)).not.toContain("at most")
    expect(Policy.describe(policy.pipe(Policy.capped("1 minute")))).toContain("at most 1 m")
  })
})
