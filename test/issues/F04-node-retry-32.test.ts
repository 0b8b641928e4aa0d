// tim-kos/node-retry#32, ydb-platform/ydb-js-sdk#536: an endless loop without delay took the whole process.
// Rule R1: an endless policy without delay cannot be built; a zero delay in a finite one still yields to other fibres.
import { describe, expect, it } from "@effect/vitest"
import { InvalidPolicy, Policy, Retry } from "@reprise/core"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Random from "effect/Random"
import { draws } from "../core/Recording.ts"

const always = (): boolean => true
const almostNone = Policy.jitteredWith({ min: 0, max: 1e-6 })

describe("F4: an endless policy without delay cannot be built", () => {
  it.each<[what: string, build: () => Policy.Any]>([
    ["constant(0)", () => Policy.constant(0)],
    ["constant(less than a millisecond)", () => Policy.constant("999 micros")],
    ["exponential(0)", () => Policy.exponential(0)],
    ["linear(0, 0)", () => Policy.linear(0, 0)],
    ["fibonacci(0)", () => Policy.fibonacci(0)],
    ["decorrelated(0, 0)", () => Policy.decorrelated({ base: 0, cap: 0 })],
    ["capped(0)", () => Policy.constant(5).pipe(Policy.capped(0))],
    ["jitter to nothing", () => Policy.constant(5).pipe(almostNone)],
    ["cap, then jitter to nothing", () => Policy.exponential(5).pipe(Policy.capped(100), almostNone)],
    ["jitter to nothing, then cap", () => Policy.exponential(5).pipe(almostNone, Policy.capped(100), almostNone)],
    ["jitter twice", () => Policy.constant(1).pipe(Policy.jitteredWith({ min: 0, max: 0.5 }), Policy.unlimited)],
    [
      "behind a long wait, in concat",
      () => Policy.concat(Policy.delays(["1 hour"]), Policy.constant(1)).pipe(almostNone, Policy.unlimited)
    ],
    [
      "beside a long wait, in min",
      () => Policy.min([Policy.constant(1), Policy.constant("1 hour")]).pipe(almostNone, Policy.unlimited)
    ],
    [
      "for one kind of error, in byInput",
      () =>
        Policy.byInput([["fast", always, Policy.constant(1)]], Policy.constant("1 hour")).pipe(
          almostNone,
          Policy.unlimited
        )
    ]
  ])("%s", (_, build) => {
    expect(build).toThrow(InvalidPolicy.InvalidPolicy)
  })

  it("nor one whose wait Effect would round away", () => {
    expect(() => Policy.constant("1 nanos")).toThrow(/at least 1 ms/)
  })
})

describe("F4: a zero delay in a finite policy yields", () => {
  it.effect.each<readonly [notation: string, policy: Policy.Unrestricted]>([
    ["immediate", Policy.immediate(100)],
    ["delays", Policy.delays(Array.from({ length: 100 }, () => 0))],
    ["full jitter that draws zero", Policy.constant(1).pipe(Policy.jittered, Policy.attempts(101))]
  ])("%s: another fibre runs between two attempts", ([, policy]) =>
    Effect.gen(function* () {
      const order: Array<string> = []
      const retrying = Effect.suspend(() => {
        order.push("attempt")
        return Effect.fail("busy")
      }).pipe(Retry.run(policy), Effect.ignore, Effect.provideService(Random.Random, draws(0)))
      const other = Effect.forEach(
        Array.from({ length: 5 }),
        () => Effect.andThen(Effect.sync(() => order.push("other")), Effect.yieldNow)
      )
      const fibers = [yield* Effect.forkChild(retrying), yield* Effect.forkChild(other)]
      yield* Fiber.joinAll(fibers)
      // No two attempts stand together while the other fibre has work.
      expect(order.slice(0, 8).join()).toContain("attempt,other,attempt,other,attempt")
      expect(order).toHaveLength(106)
    }))

  it.live("and a timer of the process fires in the midst", () =>
    Effect.gen(function* () {
      let attempts = 0
      let stop = false
      const timer = setImmediate(() => stop = true)
      yield* Effect.suspend(() => {
        attempts++
        return stop ? Effect.void : Effect.fail("busy")
      }).pipe(Retry.run(Policy.immediate(100_000)))
      clearImmediate(timer)
      expect(attempts).toBeLessThan(100_000)
    }))
})
