// googleapis/gaxios#333: the first retry came at once, and only the second was delayed.
// The first delay precedes attempt 2.
import { describe, expect, it } from "@effect/vitest"
import { Policy, Retry } from "@reprise/core"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { draws, recordWith } from "../core/Recording.ts"

const first: ReadonlyArray<readonly [notation: string, policy: Policy.Unrestricted, delay: number]> = ([
  [Policy.exponential(300), 300],
  [Policy.exponential(300, 10), 300],
  [Policy.linear(300), 300],
  [Policy.linear(300, 7), 300],
  [Policy.fibonacci(300), 300],
  [Policy.constant(300), 300],
  [Policy.decorrelated({ base: 300, cap: 5000 }), 600],
  [Policy.delays([300, 5]), 300],
  [Policy.exponential(300).pipe(Policy.jittered), 150],
  [Policy.exponential(300).pipe(Policy.capped(200)), 200],
  [Policy.max([Policy.constant(300), Policy.constant(5)]), 300],
  [Policy.min([Policy.constant(300), Policy.constant(500)]), 300],
  [Policy.concat(Policy.delays([300]), Policy.constant(5)), 300],
  [Policy.concat(Policy.none, Policy.constant(300)), 300],
  [Policy.constant(300).pipe(Policy.honoringRetryAfter()), 300],
  [Policy.standard, 100]
] as const).map(([policy, delay]) => [Policy.format(policy), Policy.attempts(policy, 3), delay])

type Drive = (policy: Policy.Unrestricted) => (self: Effect.Effect<never, string>) => Effect.Effect<unknown, unknown>

const drivers: ReadonlyArray<readonly [name: string, drive: Drive]> = [
  ["Retry.run", (policy) => Retry.run(policy)],
  ["Effect.retry", (policy) => Effect.retry(policy)],
  ["Stream.retry", (policy) => (self) => Stream.fromEffect(self).pipe(Stream.retry(policy), Stream.runDrain)]
]

describe.each(drivers)("F21: the first delay precedes attempt 2: %s", (_, drive) => {
  it.each(first)("%s", (_, policy, delay) => {
    const { starts } = recordWith(() => Effect.fail("busy"), drive(policy), { random: draws(0.5) })
    expect(starts.slice(0, 2)).toEqual([0, delay])
  })
})

describe("F21: and every later one the next attempt", () => {
  it("attempt n + 1 starts at the sum of the first n delays", () => {
    const { starts } = recordWith(() => Effect.fail("busy"), Retry.run(Policy.delays([1, 20, 300])))
    expect(starts).toEqual([0, 1, 21, 321])
  })

  it("onRetry is told of the wait that comes", () => {
    const told: Array<readonly [attempt: number, delay: number]> = []
    recordWith(
      () => Effect.fail("busy"),
      Retry.run(Policy.delays([1, 20, 300]), {
        onRetry: ({ attempt, delay }) => Effect.sync(() => void told.push([attempt, Duration.toMillis(delay)]))
      })
    )
    expect(told).toEqual([[1, 1], [2, 20], [3, 300]])
  })
})
