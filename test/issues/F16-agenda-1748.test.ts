// agenda/agenda#1748, tim-kos/node-retry: jitter went beyond the maximum, or was lost at the cap.
// Rule R5: a delay is within its cap, in either order of cap and jitter, and at the cap full jitter still spreads.
import { describe, expect, it } from "@effect/vitest"
import { Policy } from "@reprise/core"
import * as Effect from "effect/Effect"
import { record, seeded } from "../core/Recording.ts"

const cap = 1000
const growing: ReadonlyArray<readonly [what: string, policy: Policy.Unrestricted]> = [
  ["exponential", Policy.exponential(100)],
  ["linear", Policy.linear(300)],
  ["fibonacci", Policy.fibonacci(100)],
  ["constant", Policy.constant(5000)],
  ["decorrelated", Policy.decorrelated({ base: 100, cap: 50_000 })],
  ["delays", Policy.delays(Array.from({ length: 300 }, (_, i) => 100 * i))],
  ["concat", Policy.concat(Policy.delays([5000]), Policy.exponential(100))],
  ["min", Policy.min([Policy.exponential(100), Policy.linear(500)])],
  ["max", Policy.max([Policy.exponential(100), Policy.linear(500)])],
  ["byInput", Policy.byInput([["odd", () => false, Policy.constant(1)]], Policy.exponential(100))]
]
const jitters: ReadonlyArray<readonly [what: string, jitter: Policy.Jitter, below: number]> = [
  ["full", "full", 1],
  ["equal", "equal", 1],
  ["± 20 %", { min: 0.8, max: 1.2 }, 0.5],
  ["far beyond", { min: 0, max: 10 }, 0.1]
]
const waitsOf = (policy: Policy.Unrestricted): ReadonlyArray<number> =>
  record(() => Effect.fail("busy"), Policy.attempts(policy, 250), { random: seeded(11) }).waits

describe.each(growing)("F16: %s", (_, policy) => {
  it.each(jitters)("%s jitter before and after the cap is the same", (_, jitter) => {
    const before = waitsOf(policy.pipe(Policy.jitteredWith(jitter), Policy.capped(cap)))
    const after = waitsOf(policy.pipe(Policy.capped(cap), Policy.jitteredWith(jitter)))
    expect(before).toEqual(after)
  })

  it.each(jitters)("%s jitter does not pass the cap, and spreads at it", (_, jitter, below) => {
    const waits = waitsOf(policy.pipe(Policy.capped(cap), Policy.jitteredWith(jitter)))
    expect(waits.length).toBeGreaterThanOrEqual(248)
    expect(Math.max(...waits)).toBeLessThanOrEqual(cap)
    // These have grown to the cap or beyond. Were jitter lost there, they would be one value; what it draws above the
    // cap is clamped, and the part that lies below is spread.
    const late = waits.slice(50)
    expect(new Set(late).size).toBeGreaterThan(late.length * below * 0.4)
  })

  it("two caps are the smaller, wherever jitter stands", () => {
    for (
      const capped of [
        policy.pipe(Policy.capped(cap), Policy.jittered, Policy.capped(400)),
        policy.pipe(Policy.capped(400), Policy.jittered, Policy.capped(cap)),
        policy.pipe(Policy.jittered, Policy.capped(400), Policy.capped(cap))
      ]
    ) {
      const waits = waitsOf(capped)
      expect(Math.max(...waits)).toBeLessThanOrEqual(400)
      expect(Math.max(...waits)).toBeGreaterThan(300)
    }
  })
})

describe("F16: full jitter at the cap is uniform", () => {
  it.each<[order: string, policy: Policy.Unrestricted]>([
    ["cap | jitter", Policy.constant(9000).pipe(Policy.capped(cap), Policy.jittered)],
    ["jitter | cap", Policy.constant(9000).pipe(Policy.jittered, Policy.capped(cap))]
  ])("%s", (_, policy) => {
    const waits = waitsOf(policy)
    const quarters = [0, 1, 2, 3].map((quarter) => waits.filter((wait) => Math.floor(wait / 250) === quarter).length)
    for (const quarter of quarters) expect(quarter).toBeGreaterThan(40)
  })
})
