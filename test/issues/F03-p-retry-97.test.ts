// sindresorhus/p-retry#97: cancelled during an attempt, the run still slept its delay before it ended.
// Rule R9: interruption in an attempt or a sleep ends the run at once.
import { describe, expect, it } from "@effect/vitest"
import { Policy, Retry } from "@reprise/core"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as VirtualClock from "../core/VirtualClock.ts"

const policy = Policy.constant("1 hour").pipe(Policy.attempts(5))

/** A run that is interrupted where it stands, and what it did. */
const interrupted = (
  attempt: (n: number) => Effect.Effect<never, string>,
  run: (self: Effect.Effect<never, string>) => Effect.Effect<never, unknown>
) =>
  Effect.gen(function* () {
    const clock = VirtualClock.stopped()
    let attempts = 0
    const fiber = yield* Effect.suspend(() => attempt(++attempts)).pipe(
      run,
      VirtualClock.provide(clock),
      Effect.forkChild
    )
    for (let i = 0; i < 10; i++) yield* Effect.yieldNow
    const before = { attempts, sleeps: clock.sleeps.length }
    yield* Fiber.interrupt(fiber)
    const exit = yield* Fiber.await(fiber)
    return {
      ended: Exit.hasInterrupts(exit),
      more: { attempts: attempts - before.attempts, sleeps: clock.sleeps.length - before.sleeps },
      timers: clock.timers
    }
  })

const atOnce = { ended: true, more: { attempts: 0, sleeps: 0 }, timers: 0 }

describe("F3: interruption ends the run at once", () => {
  it.effect.each<
    readonly [where: string, attempt: (n: number) => Effect.Effect<never, string>, policy: Policy.Unrestricted]
  >([
    ["in the first attempt", () => Effect.never, policy],
    ["in a later attempt", (n) => n === 1 ? Effect.fail("busy") : Effect.never, Policy.immediate(5)],
    ["in a sleep", () => Effect.fail("busy"), policy],
    ["in a sleep after a hint", () => Effect.fail("busy"), policy.pipe(Policy.honoringRetryAfter())],
    [
      "in an attempt that fails as it is interrupted",
      () => Effect.never.pipe(Effect.ensuring(Effect.die("while releasing"))),
      policy
    ]
  ])("%s", ([, attempt, policy]) =>
    Effect.gen(function* () {
      expect(yield* interrupted(attempt, Retry.run(policy))).toEqual(atOnce)
    }))

  it.effect("in an attempt that turns its interruption into a failure", () =>
    Effect.gen(function* () {
      const attempt = () =>
        Effect.onInterrupt(Effect.never, () => Effect.void).pipe(
          Effect.catchCause(() => Effect.fail("cancelled"))
        )
      expect((yield* interrupted(attempt, Retry.run(policy))).more).toEqual({ attempts: 0, sleeps: 0 })
    }))

  it.effect("in an attempt with a timeout", () =>
    Effect.gen(function* () {
      expect(yield* interrupted(() => Effect.never, (self) => Retry.run(self, policy, { attemptTimeout: "1 minute" })))
        .toEqual(atOnce)
    }))

  it.effect("through an outer run, in the sleep of the inner", () =>
    Effect.gen(function* () {
      expect(yield* interrupted(() => Effect.fail("busy"), (self) => self.pipe(Retry.run(policy), Retry.run(policy))))
        .toEqual(atOnce)
    }))

  it.effect("in Effect.retry", () =>
    Effect.gen(function* () {
      expect(yield* interrupted(() => Effect.fail("busy"), Effect.retry(policy))).toEqual(atOnce)
    }))
})
