import { describe, expect, it } from "@effect/vitest"
import type * as RetryEvents from "@reprise/core/RetryEvents"
import * as RetryLog from "@reprise/core/RetryLog"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as References from "effect/References"
import { TestClock } from "effect/testing"
import * as events from "../observability/events.ts"
import { tell } from "../observability/observing.ts"
import * as VirtualClock from "./VirtualClock.ts"

interface Line {
  readonly level: string
  readonly message: unknown
  readonly annotations: Record<string, unknown>
}

/** Runs with a logger that keeps the lines, and with a level. */
const logging = <A, E, R>(
  body: (lines: Array<Line>) => Effect.Effect<A, E, R>,
  level: "Debug" | "Info" | "Error" = "Debug"
) =>
  Effect.suspend(() => {
    const lines: Array<Line> = []
    const logger = Logger.map(Logger.formatStructured, ({ annotations, level, message }) => {
      lines.push({ level, message, annotations: { ...annotations } })
    })
    return body(lines).pipe(
      Effect.scoped,
      Effect.provide(Logger.layer([logger])),
      Effect.provideService(References.MinimumLogLevel, level)
    )
  })

class Secret extends Data.TaggedError("Secret")<{ readonly message: string }> {}

describe("RetryLog: retries", () => {
  it.effect("logs a retry at Debug, with attempt, wait in seconds and type of error, and the caller's annotations", () =>
    logging((lines) =>
      Effect.gen(function* () {
        const observer = yield* RetryLog.observer
        const error = Object.assign(new Secret({ message: "token 123" }), { code: "ECONNRESET" })
        yield* tell(observer, events.scheduled("charge", { attempt: 2, delay: 1500, error })).pipe(
          Effect.annotateLogs("order", 17)
        )
        expect(lines).toEqual([{
          level: "DEBUG",
          message: "A retry is scheduled",
          annotations: {
            order: 17,
            "reprise.operation": "charge",
            "reprise.attempt": 2,
            "reprise.retry.delay": 1.5,
            "error.type": "Secret",
            "error.code": "ECONNRESET"
          }
        }])
      })
    ))

  it.effect("shows no code that may be more than a code", () =>
    logging((lines) =>
      Effect.gen(function* () {
        const observer = yield* RetryLog.observer
        const codeOf = (code: unknown) =>
          Effect.map(
            tell(observer, events.scheduled("charge", { error: { _tag: "Busy", code } })),
            () => lines.at(-1)?.annotations["error.code"]
          )
        for (const code of [503, -104, 99_999, "40001", "08P01", "ECONNRESET", "0x80070005"]) {
          expect(yield* codeOf(code)).toBe(String(code))
        }
        const others = [4111111111111111, "4111111111111111", "4111-1111-1111-1111", 100_000, 1.5, NaN, Infinity, 1e21]
        for (const code of ["token 123", { token: 123 }, ...others]) expect(yield* codeOf(code)).toBeUndefined()
      })
    ))

  it.effect("shows no name that may be more than a name", () =>
    logging((lines) =>
      Effect.gen(function* () {
        const observer = yield* RetryLog.observer
        const typeOf = (name: string) =>
          Effect.map(
            tell(observer, events.scheduled("charge", { error: Object.assign(new Error("busy"), { name }) })),
            () => lines.at(-1)?.annotations["error.type"]
          )
        for (const name of ["AbortError", "Throttling_1"]) expect(yield* typeOf(name)).toBe(name)
        const others = ["ana@example.com", "4111111111111111", "/home/ana", "card 4111", "a:b", "x".repeat(65)]
        for (const name of others) expect(yield* typeOf(name)).toBe("_OTHER")
      })
    ))

  it.effect("says nothing of what the level leaves out, of attempts that failed, and of success", () =>
    logging((lines) =>
      Effect.gen(function* () {
        const observer = yield* RetryLog.observer
        yield* tell(
          observer,
          events.scheduled("a"),
          events.succeeded("a", 2),
          events.interrupted("a"),
          events.denied("a")
        )
        expect(lines).toEqual([])
        expect(observer.wantsFirstSuccess()).toBe(false)
      }), "Info"))

  it.effect("a logger that throws does not reach the run", () =>
    Effect.scoped(Effect.gen(function* () {
      const broken = Logger.make(() => {
        throw new Error("no place left")
      })
      const observer = yield* RetryLog.observer
      yield* tell(observer, events.exhausted("charge")).pipe(Effect.provide(Logger.layer([broken])))
    })))
})

describe("RetryLog: exhaustion", () => {
  const suppressed = (lines: ReadonlyArray<Line>) => lines.map((_) => _.annotations["reprise.suppressed"] ?? 0)
  const many = (n: number, operation = "charge"): ReadonlyArray<RetryEvents.RetryEvent> =>
    Array.from({ length: n }, (_, i) => events.exhausted(operation, { attempt: i + 1 }))

  it.effect("logs it at Warn, with attempts and reason, and without what the error says", () =>
    logging((lines) =>
      Effect.gen(function* () {
        const error = new Secret({ message: "token 123" })
        yield* tell(yield* RetryLog.observer, events.exhausted("charge", { attempt: 4, error, reason: "Budget" }))
        expect(lines).toEqual([{
          level: "WARN",
          message: "A run gave up: its retries are exhausted",
          annotations: {
            "reprise.operation": "charge",
            "reprise.attempts": 4,
            "reprise.reason": "Budget",
            "error.type": "Secret"
          }
        }])
      })
    ))

  it.effect("one line a second for each operation: the first at once, then the last with the number of the others", () =>
    logging((lines) =>
      Effect.gen(function* () {
        const observer = yield* RetryLog.observer
        yield* tell(observer, ...many(10), ...many(1, "refund"))
        expect(lines.map((_) => _.annotations["reprise.operation"])).toEqual(["charge", "refund"])
        yield* TestClock.adjust("999 millis")
        expect(lines).toHaveLength(2)
        yield* TestClock.adjust("1 millis")
        expect(lines[2]?.annotations).toMatchObject({ "reprise.attempts": 10, "reprise.suppressed": 8 })
        yield* TestClock.adjust("500 millis")
        yield* tell(observer, ...many(3))
        expect(lines).toHaveLength(3)
        yield* TestClock.adjust("500 millis")
        expect(suppressed(lines)).toEqual([0, 0, 8, 2])
        yield* TestClock.adjust("1 second")
        yield* tell(observer, ...many(1))
        expect(suppressed(lines)).toEqual([0, 0, 8, 2, 0])
      })
    ))

  it.effect("one fiber watches the time, while there is something to show", () => {
    const clock = VirtualClock.stopped()
    return Effect.scoped(Effect.gen(function* () {
      const observer = yield* RetryLog.observer
      yield* tell(observer, ...many(1), ...many(1, "refund"))
      expect(clock.timers).toBe(0)
      yield* tell(observer, ...many(10))
      expect(clock.timers).toBe(1)
    })).pipe(
      Effect.andThen(Effect.sync(() => expect(clock.timers).toBe(0))),
      Effect.provide(Logger.layer([])),
      VirtualClock.provide(clock)
    )
  })

  it.effect("loses none when the scope closes, nor after it", () =>
    logging((lines) =>
      Effect.gen(function* () {
        const observer = yield* Effect.scoped(Effect.tap(RetryLog.observer, (_) => tell(_, ...many(5))))
        expect(suppressed(lines)).toEqual([0, 3])
        yield* tell(observer, ...many(2))
        expect(lines).toHaveLength(4)
        yield* TestClock.adjust("5 seconds")
        expect(lines).toHaveLength(4)
      })
    ))

  it.effect("what is shown later has the context of its own run", () =>
    logging((lines) =>
      Effect.gen(function* () {
        const observer = yield* RetryLog.observer
        for (let order = 1; order <= 3; order++) {
          yield* tell(observer, events.exhausted("charge")).pipe(Effect.annotateLogs({ order }))
        }
        yield* TestClock.adjust("1 second")
        expect(lines.map((_) => _.annotations["order"])).toEqual([1, 3])
      })
    ))

  it.effect("operations past 200 share a line", () =>
    logging((lines) =>
      Effect.gen(function* () {
        const observer = yield* RetryLog.observer
        for (let i = 0; i < 250; i++) yield* tell(observer, events.exhausted(`operation ${i}`))
        expect(lines).toHaveLength(201)
        yield* TestClock.adjust("1 second")
        expect(suppressed(lines).slice(200)).toEqual([0, 48])
        yield* tell(observer, events.exhausted("operation 7"))
        expect(lines[202]?.annotations).toMatchObject({ "reprise.operation": "operation 7" })
      })
    ))

  it.effect("says nothing where warnings are left out", () =>
    logging((lines) =>
      Effect.gen(function* () {
        yield* tell(yield* RetryLog.observer, ...many(3))
        yield* TestClock.adjust("1 second")
        expect(lines).toEqual([])
      }), "Error"))
})

describe("RetryLog: errors that nothing classifies", () => {
  it.effect("names each type once, with what to write", () =>
    logging((lines) =>
      Effect.gen(function* () {
        class Plain extends Error {}
        const observer = yield* RetryLog.observer
        for (
          const error of [
            new Secret({ message: "token 123" }),
            new Secret({ message: "token 456" }),
            new Plain("token 123"),
            Object.assign(new Error("token 123"), { code: "E_QUOTA" })
          ]
        ) yield* tell(observer, events.terminal("charge", error))
        expect(lines.map((_) => _.message)).toEqual([
          "An error was not retried because nothing classifies it. Say what it is: in the class, with a getter " +
          "[Transience.TypeId]; in the policy, with a rule such as Transience.whenTag(\"Secret\", \"transient\") for " +
          "Transience.make, or with Policy.whileTag(\"Secret\")",
          "An error was not retried because nothing classifies it. Say what it is: in the class, with a getter " +
          "[Transience.TypeId]; in the policy, with a rule such as Transience.whenClass(Plain, \"transient\") for " +
          "Transience.make",
          "An error was not retried because nothing classifies it. Say what it is: in the class, with a getter " +
          "[Transience.TypeId]; in the policy, with a rule such as Transience.whenCode(\"E_QUOTA\", \"transient\") for " +
          "Transience.make"
        ])
        expect(JSON.stringify(lines)).not.toContain("token")
        expect(lines[0]?.annotations).toEqual({ "reprise.operation": "charge", "error.type": "Secret" })
      })
    ))

  it.effect("is silent about an error that is known to be terminal", () =>
    logging((lines) =>
      Effect.gen(function* () {
        const known = events.terminal("charge", new Secret({ message: "" }), { unclassified: false })
        yield* tell(yield* RetryLog.observer, known)
        expect(lines).toEqual([])
      })
    ))

  it.effect("names at most 100 types, and one line for all the others", () =>
    logging((lines) =>
      Effect.gen(function* () {
        const observer = yield* RetryLog.observer
        for (let i = 0; i < 150; i++) yield* tell(observer, events.terminal("charge", { _tag: `Kind${i}` }))
        for (let i = 0; i < 150; i++) {
          yield* tell(observer, events.terminal("charge", Object.assign(new Error("busy"), { name: `Name${i}` })))
        }
        expect(lines).toHaveLength(101)
        expect(lines[100]?.message).toContain("too many types to name each")
      })
    ))
})
