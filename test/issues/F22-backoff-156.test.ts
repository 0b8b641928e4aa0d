// cenkalti/backoff#156 and #159: a limit of zero meant no limit, and a hint that was too long silently ended the retries.
// Rule R1: zero is refused or means zero. Rule R7: a hint too long gives up with that reason, and says when to come back.
import { describe, expect, it } from "@effect/vitest"
import { InvalidPolicy, Policy, Retry } from "@reprise/core"
import * as Effect from "effect/Effect"
import { exhaustion } from "../core/exits.ts"
import { recordWith } from "../core/Recording.ts"

const growing = Policy.exponential(100)

describe("F22: zero never means without limit", () => {
  it.each<[what: string, build: () => Policy.Any]>([
    ["attempts(0)", () => Policy.attempts(growing, 0)],
    ["within(0)", () => Policy.within(growing, 0)],
    ["capped(0)", () => Policy.capped(growing, 0)],
    ["immediate(0)", () => Policy.immediate(0)],
    ["honoringRetryAfter({ max: 0 })", () => Policy.honoringRetryAfter(growing, { max: 0 })],
    ["attempts(-1)", () => Policy.attempts(growing, -1)],
    ["recurs(-1)", () => Policy.recurs(growing, -1)],
    ["attempts(Infinity)", () => Policy.attempts(growing, Infinity)],
    ["recurs(Infinity)", () => Policy.recurs(growing, Infinity)],
    ["within('Infinity')", () => Policy.within(growing, "Infinity")],
    ["attempts(undefined)", () => Policy.attempts(growing, undefined as never)],
    ["recurs(null)", () => Policy.recurs(growing, null as never)]
  ])("%s is refused", (_, build) => {
    expect(build).toThrow(InvalidPolicy.InvalidPolicy)
  })

  it.each([-0, 0])("recurs(%d) is zero retries", (n) => {
    expect(recordWith(() => Effect.fail("busy"), Retry.run(Policy.recurs(growing, n))).attempts).toBe(1)
  })

  it("an attempt timeout of zero is refused", () => {
    expect(() => Retry.run(Policy.standard, { attemptTimeout: 0 })).toThrow(InvalidPolicy.InvalidPolicy)
  })
})

describe("F22: a hint too long is no silent end", () => {
  const policies: ReadonlyArray<readonly [notation: string, policy: Policy.Unrestricted]> = [
    growing.pipe(Policy.honoringRetryAfter({ max: "10 seconds" }), Policy.attempts(5)),
    growing.pipe(Policy.attempts(5), Policy.honoringRetryAfter({ max: "10 seconds" })),
    growing.pipe(Policy.honoringRetryAfter({ max: "10 seconds" }), Policy.within("1 hour")),
    Policy.max([growing.pipe(Policy.honoringRetryAfter({ max: "10 seconds" })), Policy.attempts(growing, 5)]),
    Policy.min([growing.pipe(Policy.honoringRetryAfter({ max: "10 seconds" })), growing]).pipe(Policy.attempts(5)),
    Policy.concat(Policy.immediate(2), Policy.attempts(growing, 5)).pipe(
      Policy.honoringRetryAfter({ max: "10 seconds" })
    ),
    growing.pipe(Policy.honoringRetryAfter({ max: "10 seconds" }), Policy.unlimited)
  ].map((policy) => [Policy.format(policy), policy])

  it.each(policies)("%s", (_, policy) => {
    for (const [retryAfter, told] of [[10_001, "10 s"], [12_000, "12 s"]] as const) {
      const { attempts, exit } = recordWith(
        (n) => Effect.fail({ retryAfter: n === 2 ? retryAfter : 10_000 }),
        Retry.run(policy)
      )
      expect(attempts).toBe(2)
      const error = exhaustion(exit)
      expect(error.reason._tag).toBe("RetryAfterTooLong")
      expect(error.retryAt).toBeDefined()
      expect(error.message).toContain(`(told to wait ${told}, at most 10 s allowed)`)
    }
  })
})
