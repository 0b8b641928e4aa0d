import { describe, expect, it } from "@effect/vitest"
import { Policy } from "@reprise/core"
import { Script, Timeline } from "@reprise/testing"
import { Deferred, Effect, Exit, Fiber } from "effect"
import { setImmediate } from "node:timers/promises"

const policy = Policy.exponential("500 millis").pipe(Policy.attempts(4))
const fail = Script.fail("no answer")
const ok = Script.succeed("ok")

/** A computation in many steps, each of which lets others run. */
const yields = Effect.forEach(Array.from({ length: 50 }), () => Effect.yieldNow, { discard: true })

const outcomes = (timeline: Timeline.Timeline) => timeline.attempts.map(({ outcome }) => outcome)

describe("attempt timeouts", () => {
  it.effect("end an attempt that hangs, and are no waits", () =>
    Effect.gen(function* () {
      const timeline = yield* Timeline.record(Script.make([Script.hang, ok]), policy, { attemptTimeout: "2 seconds" })
      expect(outcomes(timeline)).toEqual(["TimedOut", "Success"])
      expect(timeline.attempts[0]!.end).toBe(2000)
      expect(timeline.waits).toEqual([500])
      expect(timeline.elapsed).toBe(2500)
    }))

  it.effect("end an attempt that takes too long", () =>
    Effect.gen(function* () {
      const script = Script.make([Script.after("3 seconds", fail), Script.after("1 second", ok)])
      const timeline = yield* Timeline.record(script, policy, { attemptTimeout: "2 seconds" })
      expect(outcomes(timeline)).toEqual(["TimedOut", "Success"])
      expect(timeline.elapsed).toBe(3500)
    }))

  it.effect("leave an attempt that ends in time alone", () =>
    Effect.gen(function* () {
      const script = Script.make([Script.after("1 second", fail), ok])
      const timeline = yield* Timeline.record(script, policy, { attemptTimeout: "2 seconds" })
      expect(outcomes(timeline)).toEqual(["Failure", "Success"])
    }))

  it.effect("end an attempt that waits for something real, when the patience is over", () =>
    Effect.gen(function* () {
      const conditions = { attemptTimeout: "1 minute", patience: "2 millis" } as const
      const timeline = yield* Timeline.record(Effect.never, Policy.immediate(1), conditions)
      expect(outcomes(timeline)).toEqual(["TimedOut", "TimedOut"])
      expect(timeline.elapsed).toBe(120_000)
    }))
})

describe("a run that hangs", () => {
  it.effect("is ended, and says so", () =>
    Effect.gen(function* () {
      const timeline = yield* Timeline.record(Script.make([fail, Script.hang]), policy)
      expect(timeline.outcome).toBe("Hanging")
      expect(outcomes(timeline)).toEqual(["Failure", "Hanging"])
      expect(timeline.elapsed).toBe(500)
    }))

  it.effect("is ended after the patience, when nobody knows that it hangs", () =>
    Effect.gen(function* () {
      const timeline = yield* Timeline.record(Effect.never, policy, { patience: "2 millis" })
      expect(timeline.outcome).toBe("Hanging")
    }))

  it.effect("may compute before it hangs", () =>
    Effect.gen(function* () {
      const operation = Effect.andThen(yields, Effect.never)
      const timeline = yield* Timeline.record(operation, policy, { patience: "2 millis" })
      expect(timeline.outcome).toBe("Hanging")
    }))

  it.effect("hangs in its last attempt only", () =>
    Effect.gen(function* () {
      const script = Script.make([Script.interrupt, Script.hang])
      const again = <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.catchCause(self, () => self)
      const timeline = yield* Timeline.recordWith(script, again)
      expect(outcomes(timeline)).toEqual(["Interrupted", "Hanging"])
    }))

  it.effect("may hang by sleeping for ever", () =>
    Effect.gen(function* () {
      const timeline = yield* Timeline.record(Effect.sleep(Infinity), policy)
      expect(timeline.outcome).toBe("Hanging")
      expect(timeline.elapsed).toBe(0)
    }))

  it.effect("runs its finalizers, whose sleeps take virtual time", () =>
    Effect.gen(function* () {
      const operation = Effect.ensuring(Script.hang, Effect.sleep("1 hour"))
      const timeline = yield* Timeline.record(operation, policy)
      expect(timeline.outcome).toBe("Hanging")
      expect(timeline.attempts[0]!.exit).toSatisfy(Exit.isFailure)
      expect(timeline.elapsed).toBe(3_600_000)
    }))

  it.effect("is a defect, when no interruption ends it", () =>
    Effect.gen(function* () {
      const exit = yield* Effect.exit(Timeline.record(Effect.uninterruptible(Script.hang), policy))
      expect(String(exit)).toContain("goes on hanging")
    }))
})

describe("interruption", () => {
  it.effect("of a wait shows the wait that was asked for", () =>
    Effect.gen(function* () {
      const timeline = yield* Timeline.record(Script.make([fail]), policy, { interruptAfter: "1200 millis" })
      expect(timeline.outcome).toBe("Interrupted")
      expect(timeline.waits).toEqual([500, 1000])
      expect(timeline.attempts).toHaveLength(2)
      expect(timeline.elapsed).toBe(1200)
    }))

  it.effect("of an attempt ends it there", () =>
    Effect.gen(function* () {
      const script = Script.make([Script.after("3 seconds", ok)])
      const timeline = yield* Timeline.record(script, policy, { interruptAfter: "1 second" })
      expect(outcomes(timeline)).toEqual(["Interrupted"])
      expect(timeline.attempts[0]!.end).toBe(1000)
      expect(timeline.waits).toEqual([])
    }))

  it.effect("of an attempt waits for its finalizers", () =>
    Effect.gen(function* () {
      const operation = Effect.ensuring(Script.hang, Effect.sleep("1 hour"))
      const timeline = yield* Timeline.record(operation, policy, { interruptAfter: "1 second" })
      expect(timeline.outcome).toBe("Interrupted")
      expect(timeline.elapsed).toBe(3_601_000)
    }))

  it.effect("ends a run without an end", () =>
    Effect.gen(function* () {
      const endless = Policy.constant("1 second").pipe(Policy.unlimited)
      const timeline = yield* Timeline.record(Script.make([fail]), endless, { interruptAfter: "10500 millis" })
      expect(timeline.attempts).toHaveLength(11)
      expect(timeline.waits).toHaveLength(11)
    }))

  it.effect("by the attempt itself passes through", () =>
    Effect.gen(function* () {
      const timeline = yield* Timeline.record(Script.make([fail, Script.interrupt]), policy)
      expect(outcomes(timeline)).toEqual(["Failure", "Interrupted"])
      expect(timeline.outcome).toBe("Interrupted")
    }))

  it.effect("after the end of the run changes nothing", () =>
    Effect.gen(function* () {
      const timeline = yield* Timeline.record(Script.make([fail, ok]), policy, { interruptAfter: "1 hour" })
      expect(timeline.outcome).toBe("Success")
      expect(timeline.elapsed).toBe(500)
    }))

  it.effect("of the recording itself interrupts the run, finalizers included", () =>
    Effect.gen(function* () {
      const begun = yield* Deferred.make<void>()
      let released = false
      const release = Effect.andThen(Effect.sleep("1 hour"), Effect.sync(() => released = true))
      const operation = Effect.ensuring(Effect.andThen(Deferred.succeed(begun, undefined), Effect.never), release)
      const fiber = yield* Effect.forkChild(Timeline.record(operation, policy))
      yield* Deferred.await(begun)
      yield* Fiber.interrupt(fiber)
      expect(released).toBe(true)
    }))
})

describe("real asynchronous work", () => {
  const real = <A>(value: A) =>
    Effect.promise(async () => {
      for (let turn = 0; turn < 20; turn++) await setImmediate()
      return value
    })

  it.effect("is waited for", () =>
    Effect.gen(function* () {
      const timeline = yield* Timeline.record(Effect.flatMap(real(1), () => Script.make([fail, ok])), policy)
      expect(timeline.waits).toEqual([500])
      expect(timeline.exit).toEqual(Exit.succeed("ok"))
    }))

  it.effect("is waited for under an attempt timeout", () =>
    Effect.gen(function* () {
      const operation = Effect.flatMap(real(1), () => Script.make([fail, ok]))
      const timeline = yield* Timeline.record(operation, policy, { attemptTimeout: "1 millis" })
      expect(outcomes(timeline)).toEqual(["Failure", "Success"])
      expect(timeline.elapsed).toBe(500)
    }))

  it.effect("in memory is faster than any sleep", () =>
    Effect.gen(function* () {
      const inMemory = Effect.promise(async () => {
        for (let i = 0; i < 100; i++) await Promise.resolve()
        return "ok"
      })
      const timeline = yield* Timeline.record(Effect.timeout(inMemory, "1 millis"), policy)
      expect(timeline.exit).toEqual(Exit.succeed("ok"))
      expect(timeline.elapsed).toBe(0)
    }))

  it.effect("mixes with sleeps on the clock", () =>
    Effect.gen(function* () {
      const operation = Effect.andThen(real(1), Effect.andThen(Effect.sleep("1 minute"), real("ok")))
      const timeline = yield* Timeline.record(operation, policy)
      expect(timeline.elapsed).toBe(60_000)
      expect(timeline.outcome).toBe("Success")
    }))

  it.effect("is waited for in `onRetry` too", () =>
    Effect.gen(function* () {
      const timeline = yield* Timeline.record(Script.make([fail, ok]), policy, { onRetry: () => real(undefined) })
      expect(timeline.waits).toEqual([500])
      expect(timeline.outcome).toBe("Success")
    }))

  it.effect("is waited for after an attempt that hung", () =>
    Effect.gen(function* () {
      const script = Script.make([Script.hang, real("ok")])
      const timeline = yield* Timeline.record(script, policy, { attemptTimeout: "1 millis" })
      expect(outcomes(timeline)).toEqual(["TimedOut", "Success"])
    }))

  it.effect("is waited for in a recording inside another", () =>
    Effect.gen(function* () {
      const inner = Effect.map(Timeline.record(real("ok"), policy), ({ outcome }) => outcome)
      const timeline = yield* Timeline.record(inner, policy)
      expect(timeline.exit).toEqual(Exit.succeed("Success"))
      expect(timeline.elapsed).toBe(0)
    }))

  it.effect("followed by Script.hang takes no patience", () =>
    Effect.gen(function* () {
      const timeline = yield* Timeline.record(Effect.andThen(real(1), Script.hang), policy, { patience: "1 hour" })
      expect(timeline.outcome).toBe("Hanging")
    }))

  it.effect("a long computation that yields holds the clock", () =>
    Effect.gen(function* () {
      const timeline = yield* Timeline.record(Effect.timeout(yields, "1 millis"), policy)
      expect(timeline.outcome).toBe("Success")
      expect(timeline.elapsed).toBe(0)
    }))
})
