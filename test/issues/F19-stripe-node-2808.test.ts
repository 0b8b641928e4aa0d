// stripe/stripe-node#2808: zero retries still retried once.
// attempts(1), recurs(0) and none are one execution, wherever they stand and whoever drives them.
import { describe, expect, it } from "@effect/vitest"
import { Policy, Retry } from "@reprise/core"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Stream from "effect/Stream"
import { recordWith } from "../core/Recording.ts"

const growing = Policy.exponential(100)

const zero: ReadonlyArray<readonly [notation: string, policy: Policy.Policy]> = ([
  Policy.attempts(growing, 1),
  Policy.recurs(growing, 0),
  Policy.none,
  growing.pipe(Policy.attempts(1), Policy.jittered, Policy.capped(5)),
  growing.pipe(Policy.recurs(0), Policy.honoringRetryAfter()),
  Policy.attempts(growing, 1).pipe(Policy.attempts(5)),
  Policy.attempts(growing, 5).pipe(Policy.attempts(1)),
  Policy.max([growing, Policy.recurs(growing, 0)]),
  Policy.max([growing, Policy.none]),
  Policy.min([Policy.recurs(growing, 0), Policy.none]),
  Policy.concat(Policy.none, Policy.recurs(growing, 0)),
  Policy.concat(Policy.recurs(growing, 0), Policy.attempts(growing, 1)),
  Policy.byInput([["busy", () => true, Policy.none]], Policy.attempts(growing, 9)),
  Policy.unlimited(Policy.none)
] as ReadonlyArray<Policy.Policy>).map((policy) => [Policy.format(policy), policy])

type Drive = (policy: Policy.Policy) => (self: Effect.Effect<unknown, string>) => Effect.Effect<unknown, unknown>

const drivers: ReadonlyArray<readonly [name: string, drive: Drive]> = [
  ["Retry.run", (policy) => Retry.run(policy)],
  ["Retry.runKeyed", (policy) => (self) => Retry.runKeyed(policy, () => self)],
  ["Retry.make", (policy) => Retry.make({ name: "it", policy, idempotency: "idempotent" })],
  ["Effect.retry", (policy) => Effect.retry(policy)],
  ["Stream.retry", (policy) => (self) => Stream.fromEffect(self).pipe(Stream.retry(policy), Stream.runDrain)]
]

describe.each(drivers)("F19: zero retries: %s", (_, drive) => {
  it.each(zero)("%s", (_, policy) => {
    const { attempts, exit, waits } = recordWith(
      (): Effect.Effect<unknown, string> => Effect.fail("busy"),
      drive(policy)
    )
    expect([attempts, waits]).toEqual([1, []])
    expect(Exit.isFailure(exit)).toBe(true)
  })

  it.each([1, 2, 3, 7])("%i retries are %i retries, no more", (n) => {
    const policies: ReadonlyArray<Policy.Policy> = [
      Policy.recurs(growing, n),
      Policy.attempts(growing, n + 1),
      Policy.immediate(n),
      Policy.delays(Array.from({ length: n }, () => 5))
    ]
    for (const policy of policies) {
      const { attempts } = recordWith((): Effect.Effect<unknown, string> => Effect.fail("busy"), drive(policy))
      expect(attempts).toBe(n + 1)
    }
  })
})
