import { describe, expect, it } from "@effect/vitest"
import { Policy, Retry, RetryExhausted } from "@reprise/core"
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { TestClock } from "effect/testing"
import { recordWith } from "./Recording.ts"

class Busy extends Data.TaggedError("Busy")<{ readonly attempt?: number }> {}

const second = Policy.constant("1 second")

/** Runs an effect in the test clock's time, which moves on its own. */
const inTime = <A, E, R>(effect: Effect.Effect<A, E, R>, duration: Duration.Input = "1 hour") =>
  Effect.gen(function* () {
    const fiber = yield* Effect.forkChild(effect)
    yield* TestClock.adjust(duration)
    return yield* Fiber.join(fiber)
  })

describe("Retry.Attempt", () => {
  it("is attempt 1 outside of a run", () => {
    expect(Effect.runSync(Retry.Attempt)).toEqual({ number: 1, previous: undefined, elapsed: Duration.zero })
  })

  it("tells every attempt its number, the error before and the time since the start", () => {
    const seen: Array<readonly [number, unknown, number]> = []
    recordWith(
      (n) =>
        Effect.flatMap(Retry.Attempt, ({ elapsed, number, previous }) => {
          seen.push([number, previous, Duration.toMillis(elapsed)])
          return Effect.fail(new Busy({ attempt: n }))
        }),
      Retry.run(Policy.attempts(second, 3))
    )
    expect(seen).toEqual([
      [1, undefined, 0],
      [2, new Busy({ attempt: 1 }), 1000],
      [3, new Busy({ attempt: 2 }), 2000]
    ])
  })

  it("the first attempt of a run inside is 1, whatever the attempt outside", () => {
    const seen: Array<readonly [outer: number, inner: number]> = []
    let outer = 0
    const inner = Effect.flatMap(Retry.Attempt, ({ number, previous }) => {
      seen.push([outer, number])
      return number === 1 && previous !== undefined ? Effect.die("a previous error of the run outside") : Effect.void
    })
    recordWith(
      () =>
        Effect.gen(function* () {
          outer = (yield* Retry.Attempt).number
          yield* Retry.run(Effect.andThen(inner, Effect.fail("inner" as const)), Policy.immediate(1)).pipe(
            Effect.ignore
          )
          // And what the run outside said stands again.
          expect((yield* Retry.Attempt).number).toBe(outer)
          return yield* new Busy({})
        }),
      Retry.run(Policy.immediate(1))
    )
    expect(seen).toEqual([[1, 1], [1, 2], [2, 1], [2, 2]])
  })

  it("is read in a fibre that the attempt forks", () => {
    const seen: Array<number> = []
    recordWith(
      () =>
        Effect.gen(function* () {
          const fiber = yield* Effect.forkChild(Retry.Attempt)
          seen.push((yield* Fiber.join(fiber)).number)
          return yield* new Busy({})
        }),
      Retry.run(Policy.immediate(2))
    )
    expect(seen).toEqual([1, 2, 3])
  })

  it("R13: in a loop the contexts of first attempts are one, which tells of the layer", () => {
    const contexts: Array<Context.Context<never>> = []
    const program = Effect.gen(function* () {
      const run = recordLater.pipe(Retry.run(Policy.immediate(1)), Effect.ignore)
      for (let n = 0; n < 10; n++) yield* run
      // The first attempts of the last two runs, and a second one.
      expect(contexts[18]).toBe(contexts[16])
      expect(contexts[17]).not.toBe(contexts[16])
      expect(contexts[0]!.mapUnsafe.size).toBe((yield* Effect.context()).mapUnsafe.size + 1)
    })
    const recordLater = Effect.flatMap(Effect.context(), (context) => {
      contexts.push(context)
      return Effect.fail(new Busy({}))
    })
    Effect.runSync(program)
    expect(contexts).toHaveLength(20)
  })
})

describe("attemptTimeout", () => {
  it.effect("interrupts the attempt, lets its finalizers run, then tries again", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const operation = Effect.gen(function* () {
        const { number } = yield* Retry.Attempt
        log.push(`start ${number}`)
        if (number < 3) return yield* Effect.never
        return number
      }).pipe(Effect.onInterrupt(() =>
        Effect.sync(() => {
          log.push("released")
        })
      ))
      const result = yield* inTime(Retry.run(operation, Policy.attempts(second, 5), { attemptTimeout: "2 seconds" }))
      expect(result).toBe(3)
      expect(log).toEqual(["start 1", "released", "start 2", "released", "start 3"])
    }))

  it.effect("the wait begins when the finalizers are done", () =>
    Effect.gen(function* () {
      const starts: Array<number> = []
      const operation = Effect.gen(function* () {
        starts.push(Duration.toMillis((yield* Retry.Attempt).elapsed))
        return yield* Effect.never
      }).pipe(Effect.onInterrupt(() => Effect.sleep("3 seconds")))
      yield* inTime(
        Retry.run(operation, Policy.attempts(second, 2), { attemptTimeout: "2 seconds" }).pipe(Effect.flip)
      )
      expect(starts).toEqual([0, 6000])
    }))

  it.effect("it is worth a retry whatever the policy's classification says", () =>
    Effect.gen(function* () {
      const policy = second.pipe(Policy.attempts(3), Policy.whileTag("Busy"))
      const error = yield* inTime(
        Retry.run(Effect.never as Effect.Effect<never, Busy>, policy, { attemptTimeout: "2 seconds" }).pipe(Effect.flip)
      )
      expect(error._tag).toBe("RetryExhausted")
      expect(error.attempts).toBe(3)
      expect(Cause.isTimeoutError(error.lastError)).toBe(true)
      expect(String(error.lastError)).toContain("2s")
    }))

  it.effect("a predicate never sees it", () =>
    Effect.gen(function* () {
      const seen: Array<unknown> = []
      const policy = second.pipe(Policy.attempts(3), Policy.whileInput((error: Busy) => seen.push(error) > 0))
      yield* inTime(
        Retry.run(Effect.never as Effect.Effect<never, Busy>, policy, { attemptTimeout: "2 seconds" }).pipe(Effect.flip)
      )
      expect(seen).toEqual([])
    }))

  it.effect("`when` is not asked about it", () =>
    Effect.gen(function* () {
      let asked = 0
      yield* inTime(
        Retry.run(Effect.never, Policy.attempts(second, 3), {
          attemptTimeout: "2 seconds",
          when: () => Effect.sync(() => asked++ < 0)
        }).pipe(Effect.flip)
      )
      expect(asked).toBe(0)
    }))

  it.effect("`onRetry` is told of it", () =>
    Effect.gen(function* () {
      const told: Array<string> = []
      yield* inTime(
        Retry.run(Effect.never, Policy.attempts(second, 2), {
          attemptTimeout: "2 seconds",
          onRetry: ({ error }) => Effect.sync(() => void told.push(error._tag))
        }).pipe(Effect.flip)
      )
      expect(told).toEqual(["TimeoutError"])
    }))

  it.effect("a run does not take the timeout of a run inside for its own", () =>
    Effect.gen(function* () {
      let attempts = 0
      const inner = Effect.suspend(() => {
        attempts++
        return Effect.never
      }).pipe(
        Retry.run(Policy.none, { attemptTimeout: "2 seconds" }),
        // Unwrapped, so that the timeout itself comes to the run outside.
        Effect.catchIf(RetryExhausted.is, (error) => Effect.fail(error.lastError))
      )
      const error = yield* inTime(
        inner.pipe(
          Retry.run(second.pipe(Policy.attempts(3), Policy.whileTag("Busy")), { attemptTimeout: "10 seconds" }),
          Effect.flip
        )
      )
      expect(attempts).toBe(1)
      expect(Cause.isTimeoutError(error)).toBe(true)
    }))

  it.effect("nor when both are of one configuration", () =>
    Effect.gen(function* () {
      let attempts = 0
      const retrying = Retry.make({
        name: "both",
        policy: second.pipe(Policy.attempts(2), Policy.whileTag("Busy")),
        attemptTimeout: "2 seconds",
        idempotency: "idempotent"
      })
      // The run inside is done before the run outside begins, so only its error comes there.
      const lastError = yield* inTime(
        retrying(Effect.never).pipe(
          Effect.flip,
          Effect.map((error) => (error as RetryExhausted.RetryExhausted).lastError)
        )
      )
      yield* inTime(
        retrying(Effect.suspend(() => {
          attempts++
          return Effect.fail(lastError)
        })).pipe(Effect.flip)
      )
      expect(attempts).toBe(1)
    }))

  it.effect("a TimeoutError of the operation's own is classified like any error", () =>
    Effect.gen(function* () {
      let attempts = 0
      const operation = Effect.suspend(() => {
        attempts++
        return Effect.fail(new Cause.TimeoutError("mine"))
      })
      yield* Retry.run(operation, second.pipe(Policy.attempts(3), Policy.whileTag("Busy")), {
        attemptTimeout: "2 seconds"
      }).pipe(Effect.flip)
      expect(attempts).toBe(1)
    }))

  it.effect("an attempt that fails in time leaves its own error", () =>
    Effect.gen(function* () {
      const error = yield* Retry.run(Effect.fail(new Busy({})), Policy.attempts(second, 1), {
        attemptTimeout: "2 seconds"
      }).pipe(Effect.flip)
      expect(error.lastError).toEqual(new Busy({}))
    }))

  it.effect("every attempt has the whole time", () =>
    Effect.gen(function* () {
      const operation = Effect.flatMap(Retry.Attempt, ({ number }) =>
        number === 3 ? Effect.succeed("done") : Effect.andThen(Effect.sleep("1900 millis"), new Busy({})))
      expect(yield* inTime(Retry.run(operation, Policy.attempts(second, 3), { attemptTimeout: "2 seconds" }))).toBe(
        "done"
      )
    }))
})
