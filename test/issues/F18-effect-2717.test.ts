// Effect-TS/effect#2717: a jittered schedule combined with another turned into a flood of retries.
// `min` and `max` of jittered policies keep their spacing.
import { describe, expect, it } from "@effect/vitest"
import { Policy, Retry } from "@reprise/core"
import * as Effect from "effect/Effect"
import { recordWith, seeded } from "../core/Recording.ts"

const equal = Policy.jitteredWith("equal")
const second = Policy.constant("1 second").pipe(equal)
const growing = Policy.exponential(400).pipe(Policy.capped(8000), equal)

const least: ReadonlyArray<readonly [notation: string, policy: Policy.Unrestricted, least: number, most: number]> = [
  [Policy.max([second, second]), 500, 1000] as const,
  [Policy.max([second, growing]), 500, 8000] as const,
  [Policy.max([growing, second]), 500, 8000] as const,
  [Policy.min([second, second]), 500, 1000] as const,
  [Policy.min([second, growing]), 200, 1000] as const,
  [Policy.min([growing, second]), 200, 1000] as const,
  [Policy.min([Policy.max([second, growing]), second]), 500, 1000] as const,
  [Policy.concat(Policy.recurs(second, 20), Policy.max([growing, second])), 500, 8000] as const,
  [Policy.max([Policy.recurs(second, 199), Policy.unlimited(growing)]), 500, 8000] as const,
  [equal(Policy.max([second, second])), 250, 1000] as const
].map(([policy, atLeast, atMost]) => [Policy.format(policy), policy, atLeast, atMost])

describe.each(
  [
    ["Retry.run", (policy: Policy.Unrestricted) => Retry.run(policy)],
    ["Effect.retry", (policy: Policy.Unrestricted) => Effect.retry(policy)]
  ] as const
)("F18: combined jittered policies keep their spacing: %s", (_, drive) => {
  it.each(least)("%s", (_, policy, atLeast, atMost) => {
    for (let seed = 0; seed < 5; seed++) {
      const { attempts, waits } = recordWith(() => Effect.fail("busy"), drive(Policy.attempts(policy, 200)), {
        random: seeded(seed)
      })
      expect(attempts).toBe(200)
      expect(waits).toHaveLength(199)
      expect(Math.min(...waits)).toBeGreaterThanOrEqual(atLeast)
      expect(Math.max(...waits)).toBeLessThanOrEqual(atMost)
    }
  })

  it("no combination makes more attempts in an hour than its members would", () => {
    const count = (policy: Policy.Unrestricted) =>
      recordWith(() => Effect.fail("busy"), drive(Policy.within(policy, "1 hour")), { random: seeded(5) }).attempts
    const alone = count(second)
    expect(count(Policy.max([second, growing]))).toBeLessThanOrEqual(alone)
    // The shorter of two draws comes sooner, but never sooner than the shortest draw of one.
    expect(count(Policy.min([second, second]))).toBeLessThanOrEqual(7200 + 1)
  })
})
