// softonic/axios-retry#268: the timer of a wait fired after its request had been aborted, and sent it again.
// Rule R9: interruption leaves no timer.
import { describe, expect, it } from "@effect/vitest"
import { Policy, Retry } from "@reprise/core"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { TestClock } from "effect/testing"

describe("F7: nothing fires after an abort", () => {
  it.effect.each<readonly [what: string, policy: Policy.Unrestricted, options: Pick<Retry.Options, "attemptTimeout">]>([
    ["a wait", Policy.constant("1 second").pipe(Policy.attempts(9)), {}],
    ["a hinted wait", Policy.constant("1 second").pipe(Policy.honoringRetryAfter(), Policy.attempts(9)), {}],
    ["with an attempt timeout", Policy.constant("1 second").pipe(Policy.attempts(9)), { attemptTimeout: "2 seconds" }]
  ])("%s: time goes on, and nothing is tried again", ([, policy, options]) =>
    Effect.gen(function* () {
      let attempts = 0
      const fiber = yield* Effect.suspend(() => {
        attempts++
        return Effect.fail({ retryAfter: 1000 })
      }).pipe(Retry.run(policy, options), Effect.forkChild)
      yield* TestClock.adjust("1500 millis")
      expect(attempts).toBeGreaterThan(0)
      const before = attempts
      yield* Fiber.interrupt(fiber)
      yield* TestClock.adjust("1 day")
      expect(attempts).toBe(before)
    }))

  it.live("an AbortSignal that aborts a wait clears the process's timer", () =>
    Effect.promise(async () => {
      const timers = () => process.getActiveResourcesInfo().filter((resource) => resource === "Timeout").length
      const before = timers()
      const controller = new AbortController()
      const runs = Array.from({ length: 200 }, () =>
        Effect.runPromise(Retry.run(Effect.fail("busy"), Policy.delays(["1 hour"])), { signal: controller.signal }))
      await Promise.resolve()
      expect(timers() - before).toBeGreaterThan(190)
      controller.abort()
      const results = await Promise.allSettled(runs)
      expect(results.every(({ status }) =>
        status === "rejected"
      )).toBe(true)
      expect(timers() - before).toBeLessThan(10)
    }))
})
