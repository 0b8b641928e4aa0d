import { describe, expect, it } from "@effect/vitest"
import { Policy, Retry, RetryExhausted } from "@reprise/core"
import * as Cause from "effect/Cause"
import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { TestClock } from "effect/testing"
import * as VirtualClock from "./VirtualClock.ts"

class Busy extends Data.TaggedError("Busy")<{}> {}

const hour = Policy.constant("1 hour").pipe(Policy.attempts(5))

/** Many runs, so that the timers of the test runner, which come and go, do not count. */
const runs = 200
const few = 10
const timers = (): number => process.getActiveResourcesInfo().filter((resource) => resource === "Timeout").length

describe("R9: interruption in a sleep", () => {
  it.effect("ends the run at once, and its timer is gone", () =>
    Effect.gen(function* () {
      const clock = VirtualClock.stopped()
      let attempts = 0
      const operation = Effect.suspend(() => {
        attempts++
        return Effect.fail(new Busy())
      })
      const fiber = yield* operation.pipe(Retry.run(hour), VirtualClock.provide(clock), Effect.forkChild)
      yield* Effect.yieldNow
      expect([attempts, clock.timers]).toEqual([1, 1])
      yield* Fiber.interrupt(fiber)
      expect([attempts, clock.timers]).toEqual([1, 0])
      const exit = yield* Fiber.await(fiber)
      expect(Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause)).toBe(true)
    }))

  it.live("leaves no timer of the process either", () =>
    Effect.gen(function* () {
      const before = timers()
      const run = Retry.run(Effect.fail(new Busy()), hour)
      const fibers = yield* Effect.replicateEffect(Effect.forkChild(run), runs)
      yield* Effect.yieldNow
      expect(timers() - before).toBeGreaterThan(runs - few)
      yield* Fiber.interruptAll(fibers)
      expect(timers() - before).toBeLessThan(few)
    }))
})

describe("R9: interruption in an attempt", () => {
  it.effect("ends the run at once: nothing is slept, nothing tried again, nothing told", () =>
    Effect.gen(function* () {
      const clock = VirtualClock.stopped()
      const started = yield* Deferred.make<void>()
      let attempts = 0
      let finalized = 0
      let told = 0
      const operation = Effect.suspend(() => {
        attempts++
        return Effect.andThen(Deferred.succeed(started, undefined), Effect.never)
      }).pipe(Effect.onInterrupt(() => Effect.sync(() => finalized++)))
      const fiber = yield* operation.pipe(
        Retry.run(hour, { onRetry: () => Effect.sync(() => void told++) }),
        VirtualClock.provide(clock),
        Effect.forkChild
      )
      yield* Deferred.await(started)
      yield* Fiber.interrupt(fiber)
      expect({ attempts, finalized, told, slept: clock.sleeps.length }).toEqual({
        attempts: 1,
        finalized: 1,
        told: 0,
        slept: 0
      })
    }))

  it.live("with an attempt timeout, its timer is gone", () =>
    Effect.gen(function* () {
      const before = timers()
      const run = Retry.run(Effect.never, hour, { attemptTimeout: "1 hour" })
      const fibers = yield* Effect.replicateEffect(Effect.forkChild(run), runs)
      yield* Effect.yieldNow
      expect(timers() - before).toBeGreaterThan(runs - few)
      yield* Fiber.interruptAll(fibers)
      expect(timers() - before).toBeLessThan(few)
    }))

  it.live("an attempt that ends in time takes its timeout's timer along", () =>
    Effect.gen(function* () {
      const before = timers()
      const failing = Retry.run(Effect.fail(new Busy()), Policy.immediate(runs), { attemptTimeout: "1 hour" })
      yield* Effect.flip(failing)
      yield* Effect.replicateEffect(Retry.run(Effect.yieldNow, hour, { attemptTimeout: "1 hour" }), runs)
      expect(timers() - before).toBeLessThan(few)
    }))

  it.effect("an operation that interrupts itself is not retried", () =>
    Effect.gen(function* () {
      let attempts = 0
      const exit = yield* Effect.suspend(() => {
        attempts++
        return Effect.interrupt
      }).pipe(Retry.run(hour), Effect.exit)
      expect(attempts).toBe(1)
      expect(Exit.hasInterrupts(exit)).toBe(true)
    }))
})

describe("R9: interruption in what the options run", () => {
  it.effect.each(["when", "onRetry"] as const)("%s", (option) =>
    Effect.gen(function* () {
      const clock = VirtualClock.stopped()
      const started = yield* Deferred.make<void>()
      const hang = () => Effect.andThen(Deferred.succeed(started, undefined), Effect.never)
      const fiber = yield* Effect.fail(new Busy()).pipe(
        Retry.run(hour, { [option]: hang }),
        VirtualClock.provide(clock),
        Effect.forkChild
      )
      yield* Deferred.await(started)
      yield* Fiber.interrupt(fiber)
      expect(clock.sleeps).toEqual([])
    }))
})

describe("R9: what a run does not swallow", () => {
  it.effect("a run that cannot be interrupted finishes first", () =>
    Effect.gen(function* () {
      const fiber = yield* Effect.fail(new Busy()).pipe(
        Retry.run(Policy.constant("1 second").pipe(Policy.attempts(2))),
        Effect.uninterruptible,
        Effect.forkChild
      )
      yield* Effect.yieldNow
      const interrupting = yield* Effect.forkChild(Fiber.interrupt(fiber))
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(interrupting)
      const exit = yield* Fiber.await(fiber)
      expect(Exit.isFailure(exit) && exit.cause.reasons.some((_) => _._tag === "Fail" && RetryExhausted.is(_.error)))
        .toBe(true)
    }))
})
