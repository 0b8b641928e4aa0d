// octokit/plugin-throttling.js#442: concurrent operations shared one counter of retries.
// Rule R10: one policy value, any number of runs.
import { describe, expect, it } from "@effect/vitest"
import { Policy, Retry } from "@reprise/core"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import * as VirtualClock from "../core/VirtualClock.ts"

const policies: ReadonlyArray<readonly [notation: string, policy: Policy.Unrestricted]> = [
  Policy.exponential(100).pipe(Policy.attempts(4)),
  Policy.linear(100).pipe(Policy.recurs(3)),
  Policy.fibonacci(100).pipe(Policy.attempts(4)),
  Policy.delays([100, 200, 300]),
  Policy.immediate(3),
  Policy.constant(100).pipe(Policy.within("300 millis")),
  Policy.decorrelated({ base: 100, cap: 1000 }).pipe(Policy.attempts(4)),
  Policy.concat(Policy.immediate(1), Policy.recurs(Policy.constant(100), 2)),
  Policy.min([Policy.recurs(Policy.constant(100), 3), Policy.delays([200])]),
  Policy.max([Policy.recurs(Policy.constant(100), 3), Policy.exponential(1)]),
  Policy.byInput([["even", (n: unknown) => Number(n) % 2 === 0, Policy.delays([1, 2, 3])]], Policy.delays([4, 5, 6]))
].map((policy) => [Policy.format(policy), policy])

const drivers: ReadonlyArray<
  readonly [
    name: string,
    drive: (policy: Policy.Unrestricted) => (self: Effect.Effect<never, number>) => Effect.Effect<unknown, unknown>
  ]
> = [
  ["Retry.run", (policy) => Retry.run(policy)],
  ["one Retry.make", (policy) => Retry.make({ name: "it", policy, idempotency: "idempotent" })],
  ["Effect.retry", (policy) => Effect.retry(policy)],
  ["Stream.retry", (policy) => (self) => Stream.fromEffect(self).pipe(Stream.retry(policy), Stream.runDrain)]
]

describe.each(drivers)("F8: concurrent operations share a policy and no counter: %s", (_, drive) => {
  it.effect.each(policies)("%s", ([, policy]) =>
    Effect.gen(function* () {
      const attempts = Array.from({ length: 50 }, () => 0)
      const driven = drive(policy)
      const fibers = yield* Effect.forEach(attempts, (_, i) =>
        // They start one after the other, in the midst of each other's waits.
        Effect.sleep(i * 7).pipe(
          Effect.andThen(driven(Effect.suspend(() => {
            attempts[i]!++
            return Effect.fail(i)
          }))),
          Effect.exit,
          Effect.forkChild
        ))
      yield* TestClock.adjust("1 minute")
      yield* Fiber.awaitAll(fibers)
      expect(new Set(attempts)).toEqual(new Set([4]))
    }))
})

describe("F8: an operation that is run again starts anew", () => {
  it.each(policies)("%s", (_, policy) => {
    let attempts = 0
    const run = Retry.run(
      Effect.suspend(() => {
        attempts++
        return attempts % 3 === 0 ? Effect.void : Effect.fail(1)
      }),
      policy
    )
    Effect.runSync(VirtualClock.provide(VirtualClock.instant())(Effect.repeat(run, { times: 9 })))
    expect(attempts).toBe(30)
  })
})
