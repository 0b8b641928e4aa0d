import { describe, expect, it } from "@effect/vitest"
import { Policy, Retry, RetryExhausted } from "@reprise/core"
import { Script, Timeline } from "@reprise/testing"
import { Cause, Data, Effect, Exit, Schedule } from "effect"

class Timeout extends Data.TaggedError("Timeout")<{}> {}
class Declined extends Data.TaggedError("Declined")<{}> {}

const timeout = Script.fail(new Timeout())
const policy = Policy.exponential("500 millis").pipe(Policy.attempts(5), Policy.whileTag("Timeout"))

const starts = (timeline: Timeline.Timeline) => timeline.attempts.map(({ start }) => start)
const outcomes = (timeline: Timeline.Timeline) => timeline.attempts.map(({ outcome }) => outcome)

describe("Timeline.record", () => {
  it.effect("M8: waits 0.5, 1 and 2 s; four attempts, three sleeps", () =>
    Effect.gen(function* () {
      const script = Script.make([...Script.times(3, timeout), Script.succeed("ok")])
      const timeline = yield* Timeline.record(script, policy)
      expect(timeline.waits).toEqual([500, 1000, 2000])
      expect(starts(timeline)).toEqual([0, 500, 1500, 3500])
      expect(timeline.exit).toEqual(Exit.succeed("ok"))
      expect(timeline.outcome).toBe("Success")
      expect(timeline.elapsed).toBe(3500)
    }))

  it.effect("a first success is one attempt without a wait", () =>
    Effect.gen(function* () {
      const timeline = yield* Timeline.record(Script.make([Script.succeed(1)]), policy)
      expect(timeline).toEqual({
        attempts: [{ number: 1, start: 0, end: 0, outcome: "Success", exit: Exit.succeed(1) }],
        waits: [],
        elapsed: 0,
        outcome: "Success",
        exit: Exit.succeed(1)
      })
    }))

  it.effect("R3: nothing is slept after the last failure", () =>
    Effect.gen(function* () {
      const timeline = yield* Timeline.record(Script.make([timeout]), policy)
      expect(timeline.outcome).toBe("Exhausted")
      expect(timeline.attempts).toHaveLength(5)
      expect(timeline.waits).toHaveLength(4)
      expect(timeline.elapsed).toBe(timeline.attempts[4]!.end)
    }))

  it.effect("an exhausted run ends with the error of the run, its attempts with theirs", () =>
    Effect.gen(function* () {
      const timeline = yield* Timeline.record(Script.make([timeout]), policy, { name: "charge" })
      const error = yield* Effect.flip(timeline.exit)
      expect(RetryExhausted.is(error)).toBe(true)
      expect(error).toMatchObject({ operation: "charge", attempts: 5 })
      expect(timeline.attempts[0]!.exit).toEqual(Exit.fail(new Timeout()))
    }))

  it.effect("R8: a terminal failure ends the run as it is", () =>
    Effect.gen(function* () {
      const timeline = yield* Timeline.record(Script.make([timeout, Script.fail(new Declined())]), policy)
      expect(timeline.outcome).toBe("Failure")
      expect(timeline.exit).toEqual(Exit.fail(new Declined()))
      expect(timeline.waits).toEqual([500])
    }))

  it.effect("a defect ends the run", () =>
    Effect.gen(function* () {
      const timeline = yield* Timeline.record(Script.make([timeout, Script.die("boom")]), policy)
      expect(outcomes(timeline)).toEqual(["Failure", "Defect"])
      expect(timeline.outcome).toBe("Defect")
      expect(timeline.exit).toEqual(Exit.die("boom"))
    }))

  it.effect("a wait of zero is a wait of zero", () =>
    Effect.gen(function* () {
      const timeline = yield* Timeline.record(Script.make([timeout]), Policy.delays([0, 20, 0]))
      expect(timeline.waits).toEqual([0, 20, 0])
    }))

  it.effect("what attempts sleep is time, and no wait", () =>
    Effect.gen(function* () {
      const slow = Script.after("3 seconds", timeout)
      const timeline = yield* Timeline.record(Script.make([slow, slow, Script.succeed(1)]), policy)
      expect(timeline.waits).toEqual([500, 1000])
      expect(starts(timeline)).toEqual([0, 3500, 7500])
      expect(timeline.attempts.map(({ end }) => end)).toEqual([3000, 6500, 7500])
    }))

  it.effect("what `when` and `onRetry` sleep is time, and no wait", () =>
    Effect.gen(function* () {
      const timeline = yield* Timeline.record(Script.make([timeout, Script.succeed(1)]), policy, {
        when: () => Effect.as(Effect.sleep("1 minute"), true),
        onRetry: () => Effect.sleep("1 hour")
      })
      expect(timeline.waits).toEqual([500])
      expect(starts(timeline)).toEqual([0, 3_660_500])
    }))

  it.effect("a run inside an attempt has waits of its own", () =>
    Effect.gen(function* () {
      const inner = Retry.run(
        Script.make([timeout, Script.succeed("ok")]),
        Policy.constant("70 millis").pipe(Policy.attempts(2))
      )
      const operation = Effect.flatMap(inner, () => Script.make([timeout, Script.succeed("ok")]))
      const timeline = yield* Timeline.record(operation, policy)
      expect(timeline.waits).toEqual([500])
      expect(starts(timeline)).toEqual([0, 570])
      expect(timeline.elapsed).toBe(640)
    }))

  it.effect("a recording inside an attempt has a clock of its own", () =>
    Effect.gen(function* () {
      const operation = Timeline.record(Script.make([timeout]), policy).pipe(
        Effect.flatMap(({ elapsed }) => Script.make([Script.fail(elapsed), Script.succeed(elapsed)]))
      )
      const timeline = yield* Timeline.record(operation, Policy.constant("1 second").pipe(Policy.attempts(2)))
      expect(timeline.waits).toEqual([1000])
      expect(timeline.exit).toEqual(Exit.succeed(7500))
      expect(timeline.elapsed).toBe(1000)
    }))

  it.effect("recordings at the same time do not disturb each other", () =>
    Effect.gen(function* () {
      const one = Timeline.record(Script.make([timeout, Script.succeed("ok")]), policy)
      const timelines = yield* Effect.all(Array.from({ length: 20 }, () => one), { concurrency: "unbounded" })
      expect(timelines.map(({ waits }) => waits)).toEqual(Array.from({ length: 20 }, () => [500]))
    }))

  it.effect("a recording can be made again, and is the same", () =>
    Effect.gen(function* () {
      const recording = Timeline.record(Script.make([timeout]), policy)
      expect((yield* recording).waits).toEqual((yield* recording).waits)
    }))

  it("a bad policy throws where the recording is built", () => {
    expect(() => Timeline.record(Script.make([timeout]), Policy.exponential("1 second"))).toThrow("run.policy")
  })

  it.effect("five hundred timelines take far less than a second", () =>
    Effect.gen(function* () {
      const full = Policy.exponential("500 millis").pipe(Policy.jittered, Policy.attempts(5))
      const one = Timeline.record(Script.make([timeout]), full)
      const timelines = yield* Effect.all(Array.from({ length: 500 }, () => one))
      expect(timelines.every(({ attempts }) => attempts.length === 5)).toBe(true)
    }))
})

describe("Timeline.recordWith", () => {
  const script = Script.make([...Script.times(2, timeout), Script.succeed("ok")])

  it.effect("records Effect.retry with a schedule", () =>
    Effect.gen(function* () {
      const timeline = yield* Timeline.recordWith(script, Effect.retry(Schedule.exponential("1 second")))
      expect(timeline.waits).toEqual([1000, 2000])
      expect(timeline.exit).toEqual(Exit.succeed("ok"))
    }))

  it.effect("records a configured retry", () =>
    Effect.gen(function* () {
      const charging = Retry.make({ name: "charge", policy, idempotency: "idempotent" })
      const timeline = yield* Timeline.recordWith(script, charging)
      expect(timeline.waits).toEqual([500, 1000])
    }))

  it.effect("records a keyed run", () =>
    Effect.gen(function* () {
      const timeline = yield* Timeline.recordWith(script, (operation) => Retry.runKeyed(policy, () => operation))
      expect(timeline.waits).toEqual([500, 1000])
    }))

  it.effect("what is slept before the first attempt is no wait", () =>
    Effect.gen(function* () {
      const timeline = yield* Timeline.recordWith(script, (operation) => Effect.delay(Retry.run(operation, policy), 70))
      expect(timeline.waits).toEqual([500, 1000])
      expect(starts(timeline)).toEqual([70, 570, 1570])
    }))

  it.effect("several sleeps between two attempts are one wait", () =>
    Effect.gen(function* () {
      const twice = <A, E, R>(self: Effect.Effect<A, E, R>) =>
        Effect.catchCause(self, () => self.pipe(Effect.delay(20), Effect.delay(10)))
      const timeline = yield* Timeline.recordWith(Script.make([timeout, Script.succeed("ok")]), twice)
      expect(timeline.waits).toEqual([30])
    }))

  it.effect("a sleep that the run races an attempt against is a timeout", () =>
    Effect.gen(function* () {
      const hanging = Script.make([Script.hang])
      const timeline = yield* Timeline.recordWith(hanging, (operation) => Effect.race(operation, Effect.sleep(1000)))
      expect(outcomes(timeline)).toEqual(["TimedOut"])
      expect(timeline.waits).toEqual([])
    }))

  it.effect("an attempt that fails by itself did not time out, whatever timers ran beside it", () =>
    Effect.gen(function* () {
      const slow = Script.make([Script.after("3 seconds", timeout)])
      const ticking = Effect.forever(Effect.sleep("1 second"))
      const timeline = yield* Timeline.recordWith(slow, (operation) => Effect.race(operation, ticking), {
        interruptAfter: "1 minute"
      })
      expect(outcomes(timeline)).toEqual(["Failure"])
    }))

  it.effect("an operation that is never executed makes a timeline without attempts", () =>
    Effect.gen(function* () {
      const timeline = yield* Timeline.recordWith(script, () => Effect.fail("refused"))
      expect(timeline).toMatchObject({ attempts: [], waits: [], outcome: "Failure" })
      expect(Cause.squash(Exit.isFailure(timeline.exit) ? timeline.exit.cause : Cause.empty)).toBe("refused")
    }))
})
