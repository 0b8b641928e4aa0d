// tim-kos/node-retry#70, vercel/async-retry#57: a timeout hid the error that made the retries.
// Giving up on time carries the last real error, and how long was spent.
import { describe, expect, it } from "@effect/vitest"
import { Policy, Retry, RetryExhausted } from "@reprise/core"
import * as Cause from "effect/Cause"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import { TestClock } from "effect/testing"
import { recordWith } from "../core/Recording.ts"
import * as VirtualClock from "../core/VirtualClock.ts"

class Busy extends Data.TaggedError("Busy")<{ readonly attempt: number }> {}

const second = Policy.constant("1 second")

const givenUp = (exit: Exit.Exit<unknown, unknown>): RetryExhausted.RetryExhausted => {
  const error = Option.getOrUndefined(Exit.findErrorOption(exit))
  if (RetryExhausted.is(error)) return error
  throw new Error(`Not exhausted: ${String(exit)}`)
}

describe("F5: giving up on time carries the last real error", () => {
  it.each<[what: string, policy: Policy.Unrestricted, clock: VirtualClock.VirtualClock]>([
    ["before a wait that would overshoot", Policy.within(second, "2500 millis"), VirtualClock.instant()],
    [
      "after a wait that a frozen process overslept",
      Policy.within(second, "1 minute"),
      VirtualClock.frozenFor(100_000)
    ],
    [
      "with max",
      Policy.max([Policy.within(second, "2500 millis"), Policy.attempts(second, 99)]),
      VirtualClock.instant()
    ]
  ])("%s", (_, policy, clock) => {
    const { attempts, exit } = recordWith((n) => Effect.fail(new Busy({ attempt: n })), Retry.run(policy), { clock })
    const error = givenUp(exit)
    expect(error.reason._tag).toBe("Elapsed")
    expect(error.lastError).toEqual(new Busy({ attempt: attempts }))
    expect(error.cause).toBe(error.lastError)
    expect(Cause.squash(error.lastCause)).toBe(error.lastError)
    expect(error.message).toContain("Last error: Busy")
    expect(Duration.toMillis(error.elapsed)).toBe(clock.now)
  })

  it.effect("an attempt that hangs after real errors: they are in the history", () =>
    Effect.gen(function* () {
      const operation = Effect.flatMap(Retry.Attempt, ({ number }) =>
        number < 3 ? Effect.fail(new Busy({ attempt: number })) : Effect.never)
      const fiber = yield* operation.pipe(
        Retry.run(Policy.attempts(second, 3), { attemptTimeout: "5 seconds" }),
        Effect.exit,
        Effect.forkChild
      )
      yield* TestClock.adjust("1 minute")
      const error = givenUp(yield* Fiber.join(fiber))
      expect(error.history.map((_) =>
        (_.error as Busy | Cause.TimeoutError)._tag
      )).toEqual([
        "Busy",
        "Busy",
        "TimeoutError"
      ])
      expect(Duration.toMillis(error.elapsed)).toBe(7000)
    }))
})
