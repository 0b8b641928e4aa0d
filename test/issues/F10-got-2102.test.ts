// sindresorhus/got#2102: a delay computed by the caller's own function escaped the limit on attempts.
// Limits hold whatever computes the delay.
import { describe, expect, it } from "@effect/vitest"
import { Policy, Retry } from "@reprise/core"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import { draws, recordWith, seeded } from "../core/Recording.ts"

const growing = Policy.exponential(100)
const busy = { _tag: "Busy", retryAfter: 500 }

const delays: ReadonlyArray<readonly [what: string, policy: Policy.Unrestricted]> = [
  ["a hint", growing.pipe(Policy.honoringRetryAfter())],
  ["jitter", growing.pipe(Policy.jitteredWith({ min: 0, max: 100 }))],
  ["another policy per error", Policy.byInput([["busy", () => true, Policy.linear(5)]], growing)],
  ["the longest of several", Policy.max([growing, Policy.fibonacci(1)])],
  ["the shortest of several", Policy.min([growing, Policy.fibonacci(1)])],
  ["one after another", Policy.concat(Policy.immediate(1), growing)],
  ["a zero of a list", Policy.concat(Policy.delays([0, 0]), growing)],
  ["decorrelated jitter", Policy.decorrelated({ base: 1, cap: 1000 })]
]

describe("F10: limits hold whatever computes the delay", () => {
  it.each(delays)("attempts, with %s", (_, policy) => {
    for (const drive of [Retry.run(policy.pipe(Policy.attempts(4))), Effect.retry(policy.pipe(Policy.attempts(4)))]) {
      expect(recordWith(() => Effect.fail(busy), drive).attempts).toBe(4)
    }
  })

  it.each(delays)("attempts that stand first, with %s", (_, policy) => {
    const limited = Policy.max([Policy.attempts(Policy.constant(1), 4), policy])
    expect(recordWith(() => Effect.fail(busy), Retry.run(limited)).attempts).toBe(4)
  })

  it.each(delays)("recurs, with %s", (_, policy) => {
    expect(recordWith(() => Effect.fail(busy), Retry.run(Policy.recurs(policy, 3))).attempts).toBe(4)
  })

  it.each(delays)("the elapsed limit, with %s", (_, policy) => {
    const { starts } = recordWith(() => Effect.fail(busy), Retry.run(Policy.within(policy, "10 seconds")), {
      random: seeded(7)
    })
    expect(starts.length).toBeGreaterThan(2)
    expect(Math.max(...starts)).toBeLessThanOrEqual(10_000)
  })

  it.each(delays)("the cap, with %s (of the policy's own delay)", (_, policy) => {
    const { waits } = recordWith(
      () => Effect.fail({ _tag: "Busy" }),
      Retry.run(policy.pipe(Policy.capped(250), Policy.attempts(30))),
      { random: draws(0.9) }
    )
    expect(Math.max(...waits)).toBeLessThanOrEqual(250)
  })

  it("a function of the caller's own, through Effect's combinators", () => {
    const limited = Policy.attempts(growing, 4)
    for (
      const schedule of [
        Schedule.modifyDelay(limited, () => Effect.succeed(Duration.millis(1))),
        Schedule.modifyDelay(limited, () => Effect.succeed(Duration.zero)),
        Schedule.addDelay(limited, () => Effect.succeed(Duration.seconds(1))),
        Schedule.jittered(limited)
      ]
    ) {
      expect(recordWith(() => Effect.fail(busy), Effect.retry(schedule)).attempts).toBe(4)
    }
  })
})
