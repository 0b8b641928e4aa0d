// Isolation, time, interruption, the default policy, and what is refused.
import { describe, expect, it } from "@effect/vitest"
import { Deadline, Policy, Presets, Retry, RetryBudget, Transience } from "@reprise/core"
import { SqlRetry } from "@reprise/sql"
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Random from "effect/Random"
import { BeginTransaction, SqlClient } from "effect/sql/SqlClient"
import * as TestClock from "effect/testing/TestClock"
import { draws } from "../core/Recording.ts"
import { closed, scripted, sqlState } from "./scripted.ts"

const policy = Policy.immediate(3)
const update = Effect.flatMap(SqlClient, (sql) => sql`UPDATE t`)

describe("isolation", () => {
  it.effect.each(["read committed", "repeatable read", "serializable"] as const)(
    "%s begins every attempt",
    (isolation) =>
      Effect.gen(function* () {
        const { log, sql } = yield* scripted({
          answer: (statement, nth) => statement === "UPDATE t" && nth === 1 ? sqlState("40001") : undefined
        })
        yield* update.pipe(SqlRetry.transaction(policy, { isolation }), Effect.provideService(SqlClient, sql))
        const begin = `BEGIN ISOLATION LEVEL ${isolation.toUpperCase()}`
        expect(log.filter((statement) => statement.startsWith("BEGIN"))).toEqual([begin, begin])
      })
  )

  it.effect("does not hold for a transaction of another client inside", () =>
    Effect.gen(function* () {
      const one = yield* scripted()
      const other = yield* scripted()
      yield* other.sql.withTransaction(Effect.void).pipe(
        SqlRetry.transaction(policy, { isolation: "serializable" }),
        Effect.provideService(SqlClient, one.sql)
      )
      expect(other.log).toEqual(["BEGIN", "COMMIT"])
    }))

  it.effect("leaves a statement of the caller's own where it is not given", () =>
    Effect.gen(function* () {
      const { log, sql } = yield* scripted()
      yield* Effect.void.pipe(
        SqlRetry.transaction(policy),
        Effect.provideService(BeginTransaction, "BEGIN READ ONLY"),
        Effect.provideService(SqlClient, sql)
      )
      expect(log).toEqual(["BEGIN READ ONLY", "COMMIT"])
    }))

  it.effect("is refused where the database would ignore it", () =>
    Effect.gen(function* () {
      const { log, sql } = yield* scripted({ dialect: "mysql" })
      const exit = yield* Effect.exit(
        update.pipe(SqlRetry.transaction(policy, { isolation: "serializable" }), Effect.provideService(SqlClient, sql))
      )
      expect(exit._tag === "Failure" && String(Cause.squash(exit.cause))).toMatch(/isolation must be left out/)
      expect(log).toEqual([])
    }))
})

describe("attemptTimeout", () => {
  it.effect("rolls back what is not done in time, and tries again", () =>
    Effect.gen(function* () {
      const { log, sql } = yield* scripted({
        answer: (statement, nth) => statement === "UPDATE t" && nth === 1 ? Effect.never : undefined
      })
      const fiber = yield* update.pipe(
        Effect.as("done"),
        SqlRetry.transaction(policy, { attemptTimeout: "2 seconds" }),
        Effect.provideService(SqlClient, sql),
        Effect.forkChild
      )
      yield* TestClock.adjust("1999 millis")
      expect(log).toEqual(["BEGIN", "UPDATE t"])
      yield* TestClock.adjust("1 millis")
      expect(yield* Fiber.join(fiber)).toBe("done")
      expect(log).toEqual(["BEGIN", "UPDATE t", "ROLLBACK", "BEGIN", "UPDATE t", "COMMIT"])
    }))

  it.effect("stands for the wait for a connection too", () =>
    Effect.gen(function* () {
      const { log, sql } = yield* scripted()
      yield* Effect.forkChild(sql.withTransaction(Effect.never))
      yield* TestClock.adjust(0)
      const fiber = yield* Effect.flip(
        update.pipe(
          SqlRetry.transaction(Policy.none, { attemptTimeout: "2 seconds" }),
          Effect.provideService(SqlClient, sql)
        )
      ).pipe(Effect.forkChild)
      yield* TestClock.adjust("2 seconds")
      expect(yield* Fiber.join(fiber)).toMatchObject({ _tag: "TimeoutError" })
      expect(log).toEqual(["BEGIN"])
    }))

  it.effect("does not lose a COMMIT that is late", () =>
    Effect.gen(function* () {
      const { log, sql } = yield* scripted({
        answer: (statement) => statement === "COMMIT" ? Effect.sleep("5 seconds") : undefined
      })
      const fiber = yield* update.pipe(
        Effect.as("done"),
        SqlRetry.transaction(policy, { attemptTimeout: "2 seconds" }),
        Effect.provideService(SqlClient, sql),
        Effect.forkChild
      )
      yield* TestClock.adjust("5 seconds")
      expect(yield* Fiber.join(fiber)).toBe("done")
      expect(log).toEqual(["BEGIN", "UPDATE t", "COMMIT"])
    }))

  it.effect("does not hide that a late COMMIT lost the connection", () =>
    Effect.gen(function* () {
      const { sql } = yield* scripted({
        answer: (statement) => statement === "COMMIT" ? Effect.andThen(Effect.sleep("5 seconds"), closed()) : undefined
      })
      const fiber = yield* Effect.flip(
        update.pipe(
          SqlRetry.transaction(policy, { attemptTimeout: "2 seconds" }),
          Effect.provideService(SqlClient, sql)
        )
      ).pipe(Effect.forkChild)
      yield* TestClock.adjust("5 seconds")
      expect(yield* Fiber.join(fiber)).toMatchObject({ _tag: "RetryExhausted", reason: { _tag: "Unsafe" } })
    }))

  it.effect("is shortened to what a deadline leaves", () =>
    Effect.gen(function* () {
      const { sql } = yield* scripted({ answer: (statement) => statement === "UPDATE t" ? Effect.never : undefined })
      const fiber = yield* Effect.flip(
        update.pipe(
          SqlRetry.transaction(policy, { attemptTimeout: "2 seconds" }),
          Deadline.within("500 millis"),
          Effect.provideService(SqlClient, sql)
        )
      ).pipe(Effect.forkChild)
      yield* TestClock.adjust("500 millis")
      expect(yield* Fiber.join(fiber)).toMatchObject({ _tag: "RetryExhausted", reason: { _tag: "Deadline" } })
    }))

  it.effect("is told without the nanoseconds that a deadline leaves", () =>
    Effect.gen(function* () {
      const { sql } = yield* scripted({ answer: (statement) => statement === "UPDATE t" ? Effect.never : undefined })
      const fiber = yield* Effect.flip(
        update.pipe(
          SqlRetry.transaction(Policy.none, { attemptTimeout: "2 seconds" }),
          Deadline.within(Duration.nanos(500_953_441n)),
          Effect.provideService(SqlClient, sql)
        )
      ).pipe(Effect.forkChild)
      yield* TestClock.adjust("501 millis")
      expect((yield* Fiber.join(fiber)).message).toBe("A transaction took longer than 500ms")
    }))
})

describe("interruption", () => {
  it.effect("rolls back, and nothing runs again", () =>
    Effect.gen(function* () {
      const { log, sql } = yield* scripted({
        answer: (statement) => statement === "UPDATE t" ? Effect.never : undefined
      })
      const fiber = yield* update.pipe(
        SqlRetry.transaction(policy),
        Effect.provideService(SqlClient, sql),
        Effect.forkChild
      )
      yield* TestClock.adjust(0)
      yield* Fiber.interrupt(fiber)
      expect(log).toEqual(["BEGIN", "UPDATE t", "ROLLBACK"])
    }))

  it.effect("is no defect where the connection died meanwhile", () =>
    Effect.gen(function* () {
      const { log, sql } = yield* scripted({
        answer: (statement) => statement === "UPDATE t" ? Effect.never : statement === "ROLLBACK" ? closed() : undefined
      })
      const fiber = yield* update.pipe(
        SqlRetry.transaction(policy),
        Effect.provideService(SqlClient, sql),
        Effect.forkChild
      )
      yield* TestClock.adjust(0)
      yield* Fiber.interrupt(fiber)
      const exit = yield* Fiber.await(fiber)
      expect(exit._tag === "Failure" && exit.cause.reasons.map(({ _tag }) => _tag)).toEqual(["Interrupt"])
      expect(log).toEqual(["BEGIN", "UPDATE t", "ROLLBACK"])
    }))

  it.effect("in a wait ends the run", () =>
    Effect.gen(function* () {
      const { log, sql } = yield* scripted({
        answer: (statement) => statement === "UPDATE t" ? sqlState("40001") : undefined
      })
      const fiber = yield* update.pipe(
        SqlRetry.transaction(Policy.constant("1 second").pipe(Policy.attempts(2))),
        Effect.provideService(SqlClient, sql),
        Effect.forkChild
      )
      yield* TestClock.adjust("500 millis")
      yield* Fiber.interrupt(fiber)
      expect(log).toEqual(["BEGIN", "UPDATE t", "ROLLBACK"])
    }))
})

describe("the policy", () => {
  const begins = (log: ReadonlyArray<string>) => log.filter((statement) => statement === "BEGIN").length

  it.effect("is ours by default: short waits after a conflict, longer ones after an outage", () =>
    Effect.gen(function* () {
      expect(["40001", "40P01", "55P03", "55006", "57014"].map((code) => SqlRetry.isOutage(sqlState(code)))).not
        .toContain(true)
      expect(["57P01", "53300", "08006"].map((code) => SqlRetry.isOutage(sqlState(code)))).not.toContain(false)
      // What an error says of itself tells of no outage, whatever else is on it.
      expect(SqlRetry.isOutage(Transience.annotate(sqlState("53300"), { transience: "transient" }))).toBe(false)
      const longest = [
        ["40001", [10, 20, 40, 80, 160, 320, 640]],
        ["57P01", [200, 400, 800, 1_600, 3_200, 5_000, 5_000]]
      ] as const
      for (const [code, waits] of longest) {
        const { log, sql } = yield* scripted({
          answer: (statement) => statement === "UPDATE t" ? sqlState(code) : undefined
        })
        const fiber = yield* Effect.flip(update.pipe(SqlRetry.transaction(), Effect.provideService(SqlClient, sql)))
          .pipe(Effect.provideService(Random.Random, draws(1)), Effect.forkChild)
        for (const [index, wait] of waits.entries()) {
          yield* TestClock.adjust(wait - 1)
          expect([code, begins(log)]).toEqual([code, index + 1])
          yield* TestClock.adjust(1)
          expect([code, begins(log)]).toEqual([code, index + 2])
        }
        expect(yield* Fiber.join(fiber)).toMatchObject({ attempts: 8 })
      }
    }))

  it.effect("that is ours draws its waits from zero", () =>
    Effect.gen(function* () {
      for (const code of ["40001", "57P01"]) {
        const { log, sql } = yield* scripted({
          answer: (statement) => statement === "UPDATE t" ? sqlState(code) : undefined
        })
        const error = yield* Effect.flip(update.pipe(SqlRetry.transaction(), Effect.provideService(SqlClient, sql)))
          .pipe(Effect.provideService(Random.Random, draws(0)))
        expect(error).toMatchObject({ attempts: 8, reason: { _tag: "Attempts" } })
        expect(begins(log)).toBe(8)
      }
    }))

  it.effect("may come after the effect", () =>
    Effect.gen(function* () {
      const { log, sql } = yield* scripted({
        answer: (statement) => statement === "UPDATE t" ? sqlState("40001") : undefined
      })
      const error = yield* Effect.flip(
        SqlRetry.transaction(update, policy, { name: "first" }).pipe(Effect.provideService(SqlClient, sql))
      )
      expect(error).toMatchObject({ operation: "first", attempts: 4 })
      expect(log).toHaveLength(12)
      yield* SqlRetry.transaction(Effect.void).pipe(Effect.provideService(SqlClient, sql))
      expect(log).toHaveLength(14)
    }))

  it.effect("may narrow what is retried", () =>
    Effect.gen(function* () {
      const { log, sql } = yield* scripted({
        answer: (statement) => statement === "UPDATE t" ? sqlState("53300") : undefined
      })
      const patient = Policy.whileInput(policy, (error: unknown) => !SqlRetry.isOutage(error), "no outage")
      const error = yield* Effect.flip(
        update.pipe(SqlRetry.transaction(patient), Effect.provideService(SqlClient, sql))
      )
      expect(error).toMatchObject({ _tag: "SqlError" })
      expect(log).toHaveLength(3)
    }))
})

describe("the options", () => {
  it.effect("of a run: events, budget, the number of the attempt", () =>
    Effect.gen(function* () {
      const { sql } = yield* scripted({
        answer: (statement, nth) => statement === "UPDATE t" && nth < 3 ? sqlState("40001") : undefined
      })
      const seen: Array<unknown> = []
      const numbers: Array<number> = []
      yield* Effect.tap(update, () => Effect.map(Retry.Attempt, ({ number }) => numbers.push(number))).pipe(
        SqlRetry.transaction(policy, {
          name: "pay",
          budget: RetryBudget.unlimited,
          onRetry: ({ attempt, name }) => Effect.sync(() => void seen.push([name, attempt]))
        }),
        Effect.provideService(SqlClient, sql)
      )
      expect(seen).toEqual([["pay", 1], ["pay", 2]])
      expect(numbers).toEqual([3])
    }))

  it("are refused where they make no sense", () => {
    const refused: ReadonlyArray<[object, RegExp]> = [
      [{ isolaton: "serializable" }, /transaction\.isolaton must be one of the options name, /],
      [{ isolation: "snapshot" }, /transaction\.isolation must be one of read committed, /],
      [{ isolation: "SERIALIZABLE; DROP TABLE t" }, /transaction\.isolation must be one of/],
      [{ idempotent: 1 }, /transaction\.idempotent must be a boolean/],
      [{ attemptTimeout: 0 }, /transaction\.attemptTimeout must be finite and at least 1 ms/],
      [{ attemptTimeout: "soon" }, /transaction\.attemptTimeout must be finite/],
      [{ repeatable: () => true }, /transaction\.repeatable must be one of the options/],
      [{ name: 1 }, /name must be a string/]
    ]
    for (const [options, message] of refused) {
      expect(() => SqlRetry.transaction(Presets.database, options as never)).toThrow(message)
    }
    expect(() => SqlRetry.transaction(Policy.constant("1 second"))).toThrow(/a policy with an end/)
    expect(() => SqlRetry.transaction({} as never)).toThrow(/must be a Policy/)
    expect(() => SqlRetry.transaction(Presets.database, null as never)).toThrow(/must be an object/)
  })
})
