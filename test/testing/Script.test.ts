import { describe, expect, it } from "@effect/vitest"
import { Policy, Retry } from "@reprise/core"
import { Script, Timeline } from "@reprise/testing"
import { Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"

const policy = Policy.immediate(10)
const fail = Script.fail("no answer")

describe("Script.make", () => {
  it.effect("gives each attempt its outcome", () =>
    Effect.gen(function* () {
      const script = Script.make([Script.fail(1), Script.fail(2), Script.succeed(3)])
      const { attempts } = yield* Timeline.record(script, policy)
      expect(attempts.map(({ exit }) => exit)).toEqual([Exit.fail(1), Exit.fail(2), Exit.succeed(3)])
    }))

  it.effect("repeats the last outcome", () =>
    Effect.gen(function* () {
      const { attempts } = yield* Timeline.record(Script.make([Script.fail(1), Script.fail(2)]), policy)
      expect(attempts.map(({ exit }) => exit).slice(8)).toEqual([Exit.fail(2), Exit.fail(2), Exit.fail(2)])
    }))

  it.effect("begins at the first outcome in every run", () =>
    Effect.gen(function* () {
      const run = Retry.run(Script.make([fail, Script.succeed("ok")]), policy)
      expect(yield* run).toBe("ok")
      expect(yield* run).toBe("ok")
    }))

  it.effect("keeps runs at the same time apart", () =>
    Effect.gen(function* () {
      const run = Retry.run(Script.make([fail, fail, Script.succeed("ok")]), Policy.immediate(2))
      expect(yield* Effect.all([run, run, run], { concurrency: "unbounded" })).toEqual(["ok", "ok", "ok"])
    }))

  it.effect("follows the innermost run", () =>
    Effect.gen(function* () {
      const inner = Retry.run(Script.make([fail, Script.succeed("ok")]), policy)
      const operation = Effect.andThen(inner, Script.make([fail, Script.succeed("ok")]))
      const { attempts } = yield* Timeline.record(operation, policy)
      expect(attempts).toHaveLength(2)
    }))

  it.effect("takes any effect as an outcome", () =>
    Effect.gen(function* () {
      const number = Effect.map(Retry.Attempt, (attempt) => attempt.number)
      const { exit } = yield* Timeline.record(Script.make([fail, number]), policy)
      expect(exit).toEqual(Exit.succeed(2))
    }))
})

describe("Script.hang", () => {
  it.effect("outside of a recording is ended by a timeout", () =>
    Effect.gen(function* () {
      const run = Retry.run(Script.make([Script.hang, Script.succeed("ok")]), policy, { attemptTimeout: "1 minute" })
      const fiber = yield* Effect.forkChild(run)
      yield* TestClock.adjust("1 minute")
      expect(yield* Fiber.join(fiber)).toBe("ok")
    }))
})

describe("Script.times", () => {
  it("repeats an outcome", () => {
    expect(Script.times(3, fail)).toEqual([fail, fail, fail])
    expect(Script.times(0, fail)).toEqual([])
  })
})
