/** Where they mean the same, Effect's own schedules say what a policy does. */
import { describe, expect, it } from "@effect/vitest"
import { Policy } from "@reprise/core"
import * as Schedule from "effect/Schedule"
import * as fc from "fast-check"
import { millis, Timeout } from "./generators.ts"
import { forAll } from "./forAll.ts"
import { runByEffect, runByRetry } from "./virtualTime.ts"

/** A policy and the schedule that means the same. */
type Pair = readonly [policy: Policy.Any, schedule: Schedule.Schedule<unknown>]

const base = millis(50, 1500)

const constructor: fc.Arbitrary<Pair> = fc.oneof(
  fc.tuple(base, fc.constantFrom(1, 1.5, 2, 3)).map(([base, factor]): Pair => [
    Policy.exponential(base, factor),
    Schedule.exponential(base, factor)
  ]),
  base.map((base): Pair => [Policy.constant(base), Schedule.spaced(base)]),
  base.map((base): Pair => [Policy.fibonacci(base), Schedule.fibonacci(base)]),
  fc.integer({ min: 1, max: 4 }).map((n): Pair => [Policy.immediate(n), Schedule.recurs(n)])
)

const nested = (depth: number): fc.Arbitrary<Pair> => {
  if (depth === 0) return constructor
  const inner = nested(depth - 1)
  const members = fc.array(inner, { minLength: 1, maxLength: 3 })
  const combined = (
    combinePolicies: typeof Policy.max | typeof Policy.min,
    combineSchedules: typeof Schedule.max | typeof Schedule.min
  ) =>
    members.map(([first, ...others]): Pair => [
      combinePolicies([first![0], ...others.map((_) => _[0])]),
      combineSchedules([first![1], ...others.map((_) => _[1])])
    ])
  return fc.oneof(
    constructor,
    fc.tuple(inner, fc.integer({ min: 0, max: 5 })).map(([[policy, schedule], times]): Pair => [
      Policy.recurs(policy, times),
      Schedule.upTo(schedule, { times })
    ]),
    fc.tuple(inner, inner).map(([first, second]): Pair => [
      Policy.concat(first[0], second[0]),
      Schedule.concat(first[1], second[1])
    ]),
    combined(Policy.max, Schedule.max),
    combined(Policy.min, Schedule.min)
  )
}

const failures = Array.from({ length: 12 }, () => ({
  error: new Timeout({ level: 1 }),
  hint: "none" as const,
  took: 10,
  timedOut: false
}))

describe("Effect's schedules mean the same", () => {
  it("under Effect.retry", () => {
    forAll([nested(3)], ([policy, schedule]) => {
      const [own, other] = [policy, schedule].map((_) => runByEffect(_, failures))
      expect([own!.attempts, own!.sleeps]).toEqual([other!.attempts, other!.sleeps])
    })
  })

  it("under Retry.run", () => {
    forAll([nested(3)], ([policy, schedule]) => {
      const [own, other] = [runByRetry(policy, failures, () => 0), runByEffect(schedule, failures)]
      expect([own.attempts, own.sleeps]).toEqual([other.attempts, other.sleeps])
    })
  })
})
