import { describe, expect, it } from "@effect/vitest"
import { Policy, Stepper } from "@reprise/core"
import { draws } from "./Recording.ts"

const failure = (attempt: number, rest: Partial<Stepper.Failure> = {}): Stepper.Failure => ({
  attempt,
  elapsed: 0,
  now: 0,
  timedOut: false,
  ...rest
})

describe("Stepper", () => {
  it("is compiled once for a policy", () => {
    const policy = Policy.standard
    expect(Policy.stepper(policy)).toBe(Policy.stepper(policy))
  })

  it("R10: keeps the state of each run apart", () => {
    const { start, step } = Policy.stepper(Policy.exponential(100).pipe(Policy.attempts(9)))
    const one = start()
    const other = start()
    expect(step(one, failure(1), "error", draws(0))).toBe(100)
    expect(step(one, failure(2), "error", draws(0))).toBe(200)
    expect(step(other, failure(1), "error", draws(0))).toBe(100)
  })

  it.each<[reason: string | undefined, policy: Policy.Unrestricted, input: unknown]>([
    ["Attempts", Policy.constant(1).pipe(Policy.attempts(1)), "error"],
    ["Attempts", Policy.constant(1).pipe(Policy.recurs(0)), "error"],
    ["Elapsed", Policy.constant(10).pipe(Policy.within(9)), "error"],
    ["Pushback", Policy.constant(1).pipe(Policy.honoringRetryAfter()), { retryAfter: "do not retry" }],
    ["RetryAfterTooLong", Policy.constant(1).pipe(Policy.honoringRetryAfter()), { retryAfter: 60_001 }],
    [undefined, Policy.constant(1), "error"]
  ])("gives the reason %s", (reason, policy, input) => {
    const { start, step } = Policy.stepper(policy)
    expect(Stepper.reason(step(start(), failure(1), input, draws(0)))).toBe(reason)
  })

  it("a terminal error is a stop without a reason", () => {
    const { start, step } = Policy.stepper(Policy.constant(1).pipe(Policy.whileTag("Busy")))
    const decision = step(start(), failure(1), "error", draws(0))
    expect(decision).toBe(Stepper.stops.Terminal)
    expect(Stepper.reason(decision)).toBeUndefined()
  })

  it("every stop is below zero and its own", () => {
    const stops = Object.values(Stepper.stops)
    expect(stops.every((stop) => stop < 0)).toBe(true)
    expect(new Set(stops).size).toBe(stops.length)
  })

  it("reads no hints, and so no wall clock, unless the policy honours them", () => {
    expect(Policy.stepper(Policy.standard).readsHints).toBe(false)
    const honoring = Policy.stepper(Policy.standard.pipe(Policy.honoringRetryAfter({ max: "5 seconds" })))
    expect([honoring.readsHints, honoring.hintLimit]).toEqual([true, 5000])
  })

  it("an attempt timeout skips classification, and nothing else", () => {
    const { start, step } = Policy.stepper(Policy.constant(5).pipe(Policy.attempts(2), Policy.whileTag("Busy")))
    expect(step(start(), failure(1, { timedOut: true }), "error", draws(0))).toBe(5)
    expect(step(start(), failure(2, { timedOut: true }), "error", draws(0))).toBe(Stepper.stops.Attempts)
  })

  it("a broken source of randomness makes no broken wait", () => {
    const policy = Policy.exponential(100).pipe(Policy.jittered, Policy.capped(1000), Policy.honoringRetryAfter())
    for (const drawn of [NaN, -1, 2, Infinity, -Infinity]) {
      const { start, step } = Policy.stepper(policy)
      const wait = step(start(), failure(1), { retryAfter: 5000 }, draws(drawn))
      expect(wait).toBeGreaterThanOrEqual(5000)
      expect(Number.isFinite(wait)).toBe(true)
    }
    for (const drawn of [NaN, -1, 2, Infinity, -Infinity]) {
      const { start, step } = Policy.stepper(Policy.decorrelated({ base: 100, cap: 1000 }))
      const wait = step(start(), failure(1), "error", draws(drawn))
      expect(wait).toBeGreaterThanOrEqual(100)
      expect(wait).toBeLessThanOrEqual(1000)
    }
  })

  it("can be made of a spec alone, with its predicates by their order", () => {
    const { start, step } = Stepper.make(
      { _tag: "While", self: { _tag: "Constant", delay: 5 }, predicate: "isBusy" },
      [(error: unknown) => error === "busy"]
    )
    expect(step(start(), failure(1), "busy", draws(0))).toBe(5)
    expect(step(start(), failure(1), "declined", draws(0))).toBe(Stepper.stops.Terminal)
  })
})
