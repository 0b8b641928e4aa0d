import { describe, expect, it } from "@effect/vitest"
import { Deadline, InvalidPolicy, Policy, Retry } from "@reprise/core"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import { TestClock } from "effect/testing"
import fc from "fast-check"
import { exhaustion, reasonOf } from "./exits.ts"
import { recordWith } from "./Recording.ts"
import * as VirtualClock from "./VirtualClock.ts"

class Busy extends Data.TaggedError("Busy")<{}> {}

const second = Policy.constant("1 second")

const left = Effect.map(Deadline.remaining, (_) => Option.getOrNull(Option.map(_, Duration.toMillis)))

describe("Deadline.within", () => {
  it("a run gives up at once rather than wait past it", () => {
    const { exit, waits: sleeps } = recordWith(
      () => Effect.fail(new Busy()),
      (operation) => operation.pipe(Retry.run(Policy.attempts(second, 10)), Deadline.within("2500 millis"))
    )
    expect(sleeps).toEqual([1000, 1000])
    const error = exhaustion(exit)
    expect(error.reason._tag).toBe("Deadline")
    expect(error.attempts).toBe(3)
    expect(error.message).toContain("deadline")
  })

  it("a retry at the very instant would come to nothing", () => {
    const { attempts } = recordWith(
      () => Effect.fail(new Busy()),
      (operation) => operation.pipe(Retry.run(Policy.attempts(second, 10)), Deadline.within("2 seconds"))
    )
    expect(attempts).toBe(2)
  })

  it("counts from when it starts, each time", () => {
    const { attempts } = recordWith(
      () => Effect.fail(new Busy()),
      (operation) => {
        const once = operation.pipe(Retry.run(Policy.attempts(second, 10)), Deadline.within("1500 millis"), Effect.exit)
        return Effect.andThen(once, once)
      }
    )
    expect(attempts).toBe(4)
  })

  it.each([["inside", "1500 millis", "1 hour"], ["outside", "1 hour", "1500 millis"]] as const)(
    "of two the nearer one holds: %s",
    (_, inside, outside) => {
      const { attempts } = recordWith(
        () => Effect.fail(new Busy()),
        (operation) =>
          operation.pipe(Retry.run(Policy.attempts(second, 10)), Deadline.within(inside), Deadline.within(outside))
      )
      expect(attempts).toBe(2)
    }
  )

  it("limits run before it: an elapsed limit that is nearer says so", () => {
    const { exit } = recordWith(
      () => Effect.fail(new Busy()),
      (operation) => operation.pipe(Retry.run(Policy.within(second, "1500 millis")), Deadline.within("2500 millis"))
    )
    expect(exhaustion(exit).reason._tag).toBe("Elapsed")
  })

  it("R7: a hint past it gives up at once and says when to come back", () => {
    const { exit, waits: sleeps } = recordWith(
      () => Effect.fail({ retryAfter: "30 seconds" }),
      (operation) =>
        operation.pipe(
          Retry.run(Policy.constant("1 second").pipe(Policy.honoringRetryAfter(), Policy.attempts(3))),
          Deadline.within("10 seconds")
        )
    )
    expect(sleeps).toEqual([])
    expect(exhaustion(exit).reason._tag).toBe("Deadline")
    expect(exhaustion(exit).retryAt).toBeDefined()
  })

  it("R2: a process that was frozen in the wait makes no late attempt", () => {
    let attempts = 0
    const clock = VirtualClock.frozenFor(30_000)
    const exit = Effect.runSyncExit(
      Effect.suspend(() => (attempts++, Effect.fail(new Busy()))).pipe(
        Retry.run(Policy.attempts(second, 5)),
        Deadline.within("10 seconds"),
        VirtualClock.provide(clock)
      )
    )
    expect(attempts).toBe(1)
    expect(exhaustion(exit).reason._tag).toBe("Deadline")
    expect(exhaustion(exit).waits.count).toBe(1)
  })

  it("time that `when` and `onRetry` take counts", () => {
    for (const option of ["when", "onRetry"] as const) {
      const slow = () => Effect.as(Effect.sleep("2 seconds"), true)
      const { attempts, exit } = recordWith(
        () => Effect.fail(new Busy()),
        (operation): Effect.Effect<unknown, unknown> =>
          operation.pipe(Retry.run(Policy.attempts(second, 5), { [option]: slow }), Deadline.within("2500 millis"))
      )
      expect([option, attempts, exhaustion(exit).reason._tag]).toEqual([option, 1, "Deadline"])
    }
  })

  it("time that they take up to the very instant leaves none for the retry", () => {
    for (const option of ["when", "onRetry"] as const) {
      const slow = () => Effect.as(Effect.sleep("2 seconds"), true)
      const { attempts, exit, waits } = recordWith(
        () => Effect.fail(new Busy()),
        (operation): Effect.Effect<unknown, unknown> =>
          operation.pipe(Retry.run(Policy.attempts(second, 5), { [option]: slow }), Deadline.within("3 seconds"))
      )
      expect([option, attempts, waits, reasonOf(exit)]).toEqual([option, 1, [2000], "Deadline"])
    }
  })

  it.effect("the attempt timeout shrinks to what is left", () =>
    Effect.gen(function* () {
      const fiber = yield* Effect.never.pipe(
        Retry.run(Policy.attempts(second, 5), { attemptTimeout: "4 seconds" }),
        Deadline.within("6 seconds"),
        Effect.exit,
        Effect.forkChild
      )
      yield* TestClock.adjust("5999 millis")
      expect(fiber.pollUnsafe()).toBeUndefined()
      yield* TestClock.adjust("1 millis")
      const error = exhaustion(yield* Fiber.join(fiber))
      expect(error.reason._tag).toBe("Deadline")
      expect(error.attempts).toBe(2)
      expect(String(error.lastError)).toContain("longer than 1s")
    }))

  it.effect("with nothing left, the one attempt ends at once", () =>
    Effect.gen(function* () {
      const exit = yield* Effect.never.pipe(
        Retry.run(Policy.attempts(second, 5), { attemptTimeout: "4 seconds" }),
        Deadline.within(0),
        Effect.exit,
        Effect.forkChild,
        Effect.tap(() => TestClock.adjust(0)),
        Effect.flatMap(Fiber.join)
      )
      expect(exhaustion(exit).attempts).toBe(1)
    }))

  it.effect("interrupts nothing by itself", () =>
    Effect.gen(function* () {
      const fiber = yield* Effect.sleep("1 minute").pipe(
        Retry.run(Policy.attempts(second, 5)),
        Deadline.within("1 second"),
        Effect.forkChild
      )
      yield* TestClock.adjust("1 minute")
      yield* Fiber.join(fiber)
    }))

  it.each([-1, Number.NaN, Infinity, "soon"])("refuses %s", (duration) => {
    expect(() => Deadline.within(Effect.void, duration as never)).toThrow(InvalidPolicy.InvalidPolicy)
  })
})

describe("Deadline.remaining", () => {
  it("is none without a deadline", () => {
    expect(Effect.runSync(left)).toBeNull()
  })

  it.effect("falls, and never below zero; forks inherit it", () =>
    Effect.gen(function* () {
      const seen = yield* Effect.gen(function* () {
        const first = yield* left
        yield* TestClock.adjust("400 millis")
        const fiber = yield* Effect.forkChild(left)
        const second = yield* Fiber.join(fiber)
        yield* TestClock.adjust("1 hour")
        return [first, second, yield* left]
      }).pipe(Deadline.within("1 second"))
      expect(seen).toEqual([1000, 600, 0])
    }))
})

describe("Deadline headers", () => {
  const header = (millis: Duration.Input) =>
    Effect.runSync(
      VirtualClock.provide(VirtualClock.instant())(Deadline.within(Deadline.toHeader, millis))
    ).pipe(Option.getOrNull)

  // gRPC over HTTP/2: TimeoutValue is a positive integer of at most 8 digits.
  it.each(
    [
      [0, "0n"],
      ["1 nanos", "1n"],
      ["99 millis", "99000000n"],
      ["100 millis", "100000u"],
      ["1 minute", "60000000u"],
      ["100 seconds", "100000m"],
      ["1 day", "86400000m"],
      ["30 days", "2592000S"],
      ["20000 days", "28800000M"]
    ] as const
  )("%s is %s", (duration, expected) => {
    expect(header(duration)).toBe(expected)
  })

  it("what is sent is never longer than what is left, and at most one part in 100,000 less", () => {
    fc.assert(fc.property(fc.double({ min: 0, max: 1e12, noNaN: true }), (millis) => {
      const sent = Option.getOrThrow(Deadline.parseHeader(header(millis)!)).pipe(Duration.toMillis)
      expect(sent).toBeLessThanOrEqual(millis + 1e-6)
      expect(sent).toBeGreaterThanOrEqual(millis * (1 - 1e-5) - 1e-5)
    }))
  })

  it.each(["", "S", "1", "-1S", "+1S", "1.5S", "123456789S", "1s", "1 S", " 1S", "1S\n", "１S", "0x1S"])(
    "%j is no timeout",
    (text) => {
      expect(Option.isNone(Deadline.parseHeader(text))).toBe(true)
    }
  )

  it.effect("an incoming one may only shorten, and what is unreadable changes nothing", () =>
    Effect.gen(function* () {
      const inside = (text: string | undefined) => left.pipe(Deadline.fromHeader(text), Deadline.within("1 second"))
      expect(yield* inside("500m")).toBe(500)
      expect(yield* inside("5S")).toBe(1000)
      expect(yield* inside("99999999H")).toBe(1000)
      expect(yield* inside("soon")).toBe(1000)
      expect(yield* inside(undefined)).toBe(1000)
      expect(yield* left.pipe(Deadline.fromHeader("1S"))).toBe(1000)
    }))
})
