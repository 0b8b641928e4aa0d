// jd/tenacity#423: the elapsed limit was looked at before the sleep, and overshot by the last one.
// Rule R4: the limit includes the delay about to be slept; when it would overshoot, the run gives up at once.
import { describe, expect, it } from "@effect/vitest"
import { Policy, Retry } from "@reprise/core"
import * as Effect from "effect/Effect"
import { recordWith, seeded } from "../core/Recording.ts"

const limit = 10_000
const within = Policy.within(limit)

const policies: ReadonlyArray<readonly [notation: string, policy: Policy.Unrestricted]> = [
  within(Policy.constant(3000)),
  within(Policy.exponential(700)),
  within(Policy.linear(900)),
  within(Policy.fibonacci(500)),
  within(Policy.decorrelated({ base: 400, cap: 9000 })),
  within(Policy.delays([2000, 9000, 100])),
  within(Policy.exponential(700)).pipe(Policy.jittered),
  within(Policy.constant(2000)).pipe(Policy.jitteredWith({ min: 1, max: 4 })),
  Policy.constant(2000).pipe(Policy.jitteredWith({ min: 1, max: 4 }), within),
  within(Policy.constant(900)).pipe(Policy.honoringRetryAfter()),
  Policy.constant(900).pipe(Policy.honoringRetryAfter(), within),
  Policy.max([within(Policy.constant(500)), Policy.exponential(900)]),
  Policy.max([Policy.exponential(900), within(Policy.constant(500))]),
  Policy.min([within(Policy.constant(1100)), within(Policy.exponential(900))]),
  Policy.concat(Policy.delays([4000]), within(Policy.constant(2500))),
  Policy.byInput([["busy", () => true, within(Policy.constant(2600))]], within(Policy.constant(1)))
].map((policy) => [Policy.format(policy), policy])

const drivers: ReadonlyArray<
  readonly [
    name: string,
    drive: (policy: Policy.Unrestricted) => (self: Effect.Effect<never, unknown>) => Effect.Effect<never, unknown>
  ]
> = [
  ["Retry.run", (policy) => Retry.run(policy)],
  ["Effect.retry", (policy) => Effect.retry(policy)]
]

describe.each(drivers)("F14: nothing is slept past the limit: %s", (_, drive) => {
  it.each(policies)("%s", (_, policy) => {
    for (let seed = 0; seed < 20; seed++) {
      const { attempts, starts, waits } = recordWith(
        (n, clock) => {
          // An attempt takes its time too.
          clock.now += 120 * n
          return Effect.fail({ retryAfter: 1500 })
        },
        drive(policy),
        { random: seeded(seed) }
      )
      expect(attempts).toBeGreaterThan(1)
      expect(Math.max(...starts)).toBeLessThanOrEqual(limit)
      // Every sleep led to an attempt: none was in vain.
      expect(waits.length).toBeLessThanOrEqual(attempts - 1)
    }
  })
})
