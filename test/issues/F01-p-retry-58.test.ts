// sindresorhus/p-retry#58 and tim-kos/node-retry#84: with unlimited retries the delays were built up front, and the
// process crashed. An unlimited policy costs constant memory; nothing materialises its delays.
import { describe, expect, it } from "@effect/vitest"
import { Policy, Retry, RetryExhausted } from "@reprise/core"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { draws, recordWith, seeded } from "../core/Recording.ts"
import * as VirtualClock from "../core/VirtualClock.ts"

const endless: ReadonlyArray<readonly [notation: string, policy: Policy.Unrestricted]> = [
  Policy.constant(5),
  Policy.exponential(1).pipe(Policy.jittered),
  Policy.exponential(100).pipe(Policy.capped("30 seconds"), Policy.jittered, Policy.honoringRetryAfter()),
  Policy.linear(1, 1),
  Policy.fibonacci(1),
  Policy.decorrelated({ base: 1, cap: 1000 }),
  Policy.concat(Policy.immediate(3), Policy.constant(5)),
  Policy.min([Policy.exponential(1), Policy.fibonacci(1)]),
  Policy.max([Policy.exponential(1), Policy.fibonacci(1)]),
  Policy.byInput([["busy", () => false, Policy.linear(1)]], Policy.fibonacci(1))
].map((policy) => [Policy.format(policy), Policy.unlimited(policy)])

// The collector is asked for by a flag that can be set while the process runs.
setFlagsFromString("--expose-gc")
const collect: () => void = runInNewContext("gc")
setFlagsFromString("--no-expose-gc")

describe("F1: an unlimited policy costs constant memory", () => {
  it.each(endless)("the stepper's state does not grow: %s", (_, policy) => {
    const { start, step } = Policy.stepper(policy)
    const state = start()
    let longest = 0
    const random = seeded(1)
    for (let attempt = 1; attempt <= 10_000; attempt++) {
      step(state, { attempt, elapsed: 0, now: 0, timedOut: false }, "busy", random)
      if (attempt % 100 === 0) longest = Math.max(longest, JSON.stringify(state).length)
    }
    expect(longest).toBeLessThan(400)
    expect(state.slots.length).toBe(start().slots.length)
  })

  it("after 3,000 retries a run holds its last errors, and none before", async () => {
    const errors: Array<WeakRef<object>> = []
    const holding = await Effect.runPromise(
      Effect.gen(function* () {
        const paused = yield* Deferred.make<void>()
        const operation = Effect.suspend(() => {
          if (errors.length === 3000) return Effect.andThen(Deferred.succeed(paused, undefined), Effect.never)
          const error = { number: errors.length }
          errors.push(new WeakRef(error))
          return Effect.fail(error)
        })
        const fiber = yield* operation.pipe(
          Retry.run(Policy.unlimited(Policy.exponential(100))),
          VirtualClock.provide({ ...VirtualClock.instant(), sleep: () => Effect.yieldNow }),
          Effect.forkChild
        )
        yield* Deferred.await(paused)
        const heldNow = () => errors.flatMap((error, index) => error.deref() === undefined ? [] : [index])
        let held = heldNow()
        // A weak reference is strong until its task is over, and a register of the engine may hold one a while longer.
        for (let tries = 0; tries < 5 && held.length > RetryExhausted.mostHistory; tries++) {
          yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
          collect()
          held = heldNow()
        }
        yield* Fiber.interrupt(fiber)
        return held
      })
    )
    expect(holding.length).toBeLessThanOrEqual(RetryExhausted.mostHistory)
    expect(holding.every((index) => index >= 2990)).toBe(true)
  })

  it.each(endless)("runs on: %s", (_, policy) => {
    const { attempts } = recordWith(
      (n) => n < 2000 ? Effect.fail("busy") : Effect.void,
      Retry.run(policy),
      { random: draws(0.5) }
    )
    expect(attempts).toBe(2000)
  })
})
