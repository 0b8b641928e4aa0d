import { describe, expect, it } from "@effect/vitest"
import { Policy } from "@reprise/core"
import { Script, Timeline } from "@reprise/testing"
import { Data, Effect } from "effect"

class Timeout extends Data.TaggedError("Timeout")<{}> {}
class Declined extends Data.TaggedError("Declined")<{ readonly message: string }> {}
class Throttled extends Data.TaggedError("Throttled")<{ readonly message: string; readonly retryAfter: number }> {}

const timeout = Script.fail(new Timeout())
const policy = Policy.exponential("500 millis").pipe(Policy.attempts(4))

const drawn = (
  outcomes: ReadonlyArray<Script.Outcome<unknown, unknown, never>>,
  options: Timeline.Options<unknown, never> = {}
) => Effect.map(Timeline.record(Script.make(outcomes), policy, options), (timeline) => Timeline.render(timeline))

const lastLine = (text: string) => text.split("\n").at(-1)

describe("Timeline.render", () => {
  it.effect("draws attempts and waits where they stand in time", () =>
    Effect.gen(function* () {
      expect(yield* drawn([timeout, timeout, timeout, Script.succeed("ok")])).toBe([
        "1 |x.....                                  |   0ms  Timeout, then waited 500ms",
        "2 |      x..........                       | 500ms  Timeout, then waited 1s",
        "3 |                 x..................... |  1.5s  Timeout, then waited 2s",
        "4 |                                       o|  3.5s  succeeded",
        "Succeeded after 4 attempts in 3.5s: \"ok\""
      ].join("\n"))
    }))

  it.effect("draws how long attempts take, and their timeouts", () =>
    Effect.gen(function* () {
      const slow = Script.after("1 second", Script.succeed(42))
      expect(yield* drawn([Script.hang, timeout, slow], { attemptTimeout: "2 seconds" })).toBe([
        "1 |=================t....                  |  0ms  timed out after 2s, then waited 500ms",
        "2 |                      x.......          | 2.5s  Timeout, then waited 1s",
        "3 |                              =========o| 3.5s  succeeded after 1s",
        "Succeeded after 3 attempts in 4.5s: 42"
      ].join("\n"))
    }))

  it.effect("draws a wait that was cut short", () =>
    Effect.gen(function* () {
      expect(yield* drawn([timeout], { interruptAfter: "1200 millis" })).toBe([
        "1 |x...............                        |   0ms  Timeout, then waited 500ms",
        "2 |                x.......................| 500ms  Timeout, then waited 700ms of 1s",
        "Interrupted after 2 attempts in 1.2s"
      ].join("\n"))
    }))

  it.effect("says why a run was exhausted, and on what", () =>
    Effect.gen(function* () {
      expect(lastLine(yield* drawn([timeout]))).toBe(
        "Exhausted (Attempts): An operation gave up after 4 attempts in 3.5 s (no attempts left). Last error: Timeout"
      )
    }))

  it.effect("says which wait was asked for, and which is allowed", () =>
    Effect.gen(function* () {
      const throttled = Script.fail(new Throttled({ message: "slow down, ".repeat(20), retryAfter: 7_200_000 }))
      const listening = policy.pipe(Policy.honoringRetryAfter({ max: "1 minute" }))
      const timeline = yield* Timeline.record(Script.make([throttled]), listening, { name: "charge" })
      const error = yield* Effect.flip(timeline.exit)
      expect(lastLine(Timeline.render(timeline))).toBe(`Exhausted (RetryAfterTooLong): ${error.message}`)
      expect(error.message).toContain("told to wait")
    }))

  it.effect("names a terminal error with its message", () =>
    Effect.gen(function* () {
      const declined = Script.fail(new Declined({ message: "not enough\n  money" }))
      const picky = policy.pipe(Policy.whileTag("Timeout"))
      const timeline = yield* Timeline.record(Script.make([declined]), picky)
      expect(Timeline.render(timeline)).toBe([
        "1 |x                                       | 0ms  Declined: not enough money",
        "Failed after 1 attempt in 0ms: Declined: not enough money"
      ].join("\n"))
    }))

  it.effect("names a defect", () =>
    Effect.gen(function* () {
      expect(yield* drawn([Script.die(new TypeError("boom"))])).toBe([
        "1 |!                                       | 0ms  died: TypeError: boom",
        "Died after 1 attempt in 0ms: TypeError: boom"
      ].join("\n"))
    }))

  it.effect("says that a run hung", () =>
    Effect.gen(function* () {
      expect(yield* drawn([timeout, Script.hang])).toBe([
        "1 |x...................................... |   0ms  Timeout, then waited 500ms",
        "2 |                                       ?| 500ms  hangs",
        "Hanging after 2 attempts in 500ms: it waited for what never came"
      ].join("\n"))
    }))

  it.effect("spells values that are no errors", () =>
    Effect.gen(function* () {
      expect(yield* drawn([Script.fail({ code: 503 })])).toContain("ms  {\"code\":503}, then")
      expect(yield* drawn([Script.fail(undefined)])).toContain("ms  undefined, then")
      expect(lastLine(yield* drawn([Script.succeed({ id: 7 })]))).toContain(": {\"id\":7}")
    }))

  it.effect("cuts long texts, and stays on the line", () =>
    Effect.gen(function* () {
      const text = yield* drawn([Script.succeed("x".repeat(1000))])
      expect(lastLine(text)!.length).toBeLessThan(150)
    }))

  it.effect("leaves out the middle of a long run", () =>
    Effect.gen(function* () {
      const long = Policy.constant("100 millis").pipe(Policy.attempts(1000))
      const lines = Timeline.render(yield* Timeline.record(Script.make([timeout]), long)).split("\n")
      expect(lines).toHaveLength(30 + 1 + 5 + 1)
      expect(lines[30]).toBe("     : 965 attempts more")
      expect(lines[35]).toBe(
        "1000 |                                       x| 1.67min  Timeout"
      )
    }))

  it.effect("is as wide as it is told to be", () =>
    Effect.gen(function* () {
      const timeline = yield* Timeline.record(Script.make([timeout, Script.succeed(1)]), policy)
      expect(Timeline.render(timeline, { width: 8 }).split("\n").slice(0, 2)).toEqual([
        "1 |x...... |   0ms  Timeout, then waited 500ms",
        "2 |       o| 500ms  succeeded"
      ])
    }))

  it.effect("stays in its columns, whatever control characters a text has", () =>
    Effect.gen(function* () {
      const text = yield* drawn([Script.fail(new Declined({ message: "\u001b[31mred\u0000 \r\n\u0085 alert\u0007" }))])
      expect(text.split("\n")[0]).toContain("Declined: [31mred alert")
    }))

  it.effect("leaves the texts of errors as they are", () =>
    Effect.gen(function* () {
      const text = yield* drawn([Script.fail(new Declined({ message: "zu müde" }))])
      expect(text.split("\n")[0]).toContain("Declined: zu müde")
    }))

  it.effect("cuts no character in two", () =>
    Effect.gen(function* () {
      const text = yield* drawn([Script.fail(`${"x".repeat(98)}${"😀".repeat(9)}`)])
      expect(text.isWellFormed()).toBe(true)
    }))

  it.effect("draws in ASCII whatever the durations are", () =>
    Effect.gen(function* () {
      const waits = Policy.delays([0.25, "3 minutes", "5 hours", "2 days"])
      const text = Timeline.render(yield* Timeline.record(Script.make([timeout]), waits))
      expect(text).toMatch(/^[\x20-\x7e\n]*$/)
      expect(text.match(/waited \S+/g)).toEqual(["waited 0.25ms", "waited 3min", "waited 5h", "waited 2d"])
    }))
})
