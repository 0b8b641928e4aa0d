import { describe, expect, it } from "@effect/vitest"
import { Policy, Retry } from "@reprise/core"
import * as Effect from "effect/Effect"
import * as fc from "fast-check"
import { Busy, draws, exhaustedInside, member, millis, policy, script, wrapper } from "./generators.ts"
import { forAll } from "./forAll.ts"
import { byStepper } from "./virtualTime.ts"

describe("hints (R7)", () => {
  it("govern the policy wherever honoringRetryAfter stands in the pipe", () => {
    forAll([policy, millis(500, 60_000), wrapper, script, draws], (policy, max, wrap, script, draws) => {
      const inside = wrap(Policy.honoringRetryAfter(policy, { max }))
      const outside = Policy.honoringRetryAfter(wrap(policy), { max })
      expect(byStepper(inside, script, draws)).toEqual(byStepper(outside, script, draws))
    })
  })

  it("govern the whole policy when one member honours them", () => {
    forAll([member, member, millis(500, 60_000), script, draws], (first, second, max, script, draws) => {
      for (const combine of combinations) {
        const inside = combine(first, Policy.honoringRetryAfter(second, { max }))
        const outside = Policy.honoringRetryAfter(combine(first, second), { max })
        expect(byStepper(inside, script, draws)).toEqual(byStepper(outside, script, draws))
      }
    })
  })

  it("of several limits the smallest counts", () => {
    forAll([policy, millis(500, 60_000), millis(500, 60_000), script, draws], (policy, one, other, script, draws) => {
      const both = Policy.honoringRetryAfter(Policy.honoringRetryAfter(policy, { max: one }), { max: other })
      const smallest = Policy.honoringRetryAfter(policy, { max: Math.min(one, other) })
      expect(byStepper(both, script, draws)).toEqual(byStepper(smallest, script, draws))
    })
  })

  it("a wait is the hint, the policy's own delay, and a spread of at most a tenth and five seconds", () => {
    forAll(
      [millis(0, 200_000), millis(1, 5000), fc.double({ min: 0, max: 0.999, noNaN: true })],
      (hint, delay, draw) => {
        const policy = Policy.constant(delay).pipe(Policy.honoringRetryAfter({ max: 200_000 }))
        const failure = {
          error: new Busy({ level: 1, retryAfter: hint }),
          hint: "none" as const,
          took: 0,
          timedOut: false
        }
        const [wait] = byStepper(policy, [failure], () => draw).waits
        expect(wait).toBeCloseTo(hint + delay + draw * Math.min(5000, hint / 10), 6)
      }
    )
  })

  it.each([
    ["in time without a spread", 0, [1500]],
    ["too late with one", 0.5, []]
  ])("count against within, hint and spread: %s", (_, draw, waits) => {
    const policy = Policy.constant(100).pipe(Policy.within(1500), Policy.honoringRetryAfter())
    const failure = { error: new Busy({ level: 1, retryAfter: 1400 }), hint: "none" as const, took: 0, timedOut: false }
    expect(byStepper(policy, [failure], () => draw).waits).toEqual(waits)
  })

  it("count against within for their own failure alone", () => {
    const policy = Policy.constant(100).pipe(Policy.within(2000), Policy.honoringRetryAfter())
    const failures = [1000, undefined].map((retryAfter) => ({
      error: new Busy({ level: 1, retryAfter }),
      hint: "none" as const,
      took: 0,
      timedOut: false
    }))
    expect(byStepper(policy, failures, () => 0).waits).toEqual([1100, 100])
  })

  it("without honoringRetryAfter there are none", () => {
    forAll([fc.integer({ min: 0, max: 90_000 })], (retryAfter) => {
      const failure = { error: new Busy({ level: 1, retryAfter }), hint: "none" as const, took: 0, timedOut: false }
      expect(byStepper(Policy.constant(100), [failure], () => 0).waits).toEqual([100])
    })
  })

  it("a run says when to come back by its last failure alone", () => {
    const failures = [
      new Busy({ level: 1, retryAfter: 0 }),
      new Busy({ level: 1, cause: exhaustedInside })
    ]
    let attempt = 0
    const operation = Effect.suspend(() => Effect.fail(failures[attempt++]!))
    const policy = Policy.immediate(3).pipe(Policy.honoringRetryAfter())
    const error = Effect.runSync(Effect.flip(Retry.run(operation, policy)))
    expect([error.reason._tag, error.retryAt]).toEqual(["Layer", undefined])
  })
})

const combinations: ReadonlyArray<(first: Policy.Any, second: Policy.Any) => Policy.Any> = [
  (first, second) => Policy.concat(first, second),
  (first, second) => Policy.min([first, second]),
  (first, second) => Policy.max([first, second])
]
