// What is retried, how often, and what leaves as it is.
import { describe, expect, it } from "@effect/vitest"
import { Policy, RetryExhausted, Transience } from "@reprise/core"
import { SqlRetry } from "@reprise/sql"
import * as Cause from "effect/Cause"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { SqlClient } from "effect/sql/SqlClient"
import { LockTimeoutError, SqlError, type SqlErrorReason, UnknownError } from "effect/sql/SqlError"
import { broken, closed, dying, type Scripted, scripted, sqlState } from "./scripted.ts"

const policy = Policy.immediate(3)

class Declined extends Data.TaggedError("Declined")<{}> {}

const update = Effect.flatMap(SqlClient, (sql) => sql`UPDATE t`)

const runOn = <A, E>({ sql }: Scripted, self: Effect.Effect<A, E, SqlClient>): Effect.Effect<Exit.Exit<A, E>> =>
  Effect.exit(Effect.provideService(self, SqlClient, sql))

const failure = (exit: Exit.Exit<unknown, unknown>): unknown =>
  Exit.isFailure(exit) && exit.cause.reasons.length === 1 && Cause.isFailReason(exit.cause.reasons[0]!)
    ? exit.cause.reasons[0].error
    : expect.unreachable(`${String(exit)} is no failure`)

const defects = (exit: Exit.Exit<unknown, unknown>): ReadonlyArray<unknown> =>
  Exit.isFailure(exit) ? exit.cause.reasons.filter(Cause.isDieReason).map(({ defect }) => defect) : []

describe("a statement that fails", () => {
  it.effect.each([
    "40P01",
    "40001",
    "55P03",
    "57014",
    "57P01",
    "57P02",
    "57P03",
    "57P05",
    "53300",
    "08006",
    "25P03",
    "25P04"
  ])(
    "with %s: the whole transaction runs again",
    (code) =>
      Effect.gen(function* () {
        const client = yield* scripted({
          answer: (statement, nth) => statement === "UPDATE t" && nth === 1 ? sqlState(code) : undefined
        })
        const exit = yield* runOn(client, update.pipe(Effect.as("done"), SqlRetry.transaction(policy)))
        expect(exit).toEqual(Exit.succeed("done"))
        expect(client.log).toEqual(["BEGIN", "UPDATE t", "ROLLBACK", "BEGIN", "UPDATE t", "COMMIT"])
      })
  )

  it.effect.each(["42601", "23505", "42501", "22012", "3D000"])(
    "with %s: one attempt, and the error as it is",
    (code) =>
      Effect.gen(function* () {
        const error = sqlState(code)
        const client = yield* scripted({ answer: (statement) => statement === "UPDATE t" ? error : undefined })
        expect(failure(yield* runOn(client, update.pipe(SqlRetry.transaction(policy))))).toBe(error)
        expect(client.log).toEqual(["BEGIN", "UPDATE t", "ROLLBACK"])
      })
  )

  it.effect("with an error that nobody knows: one attempt", () =>
    Effect.gen(function* () {
      const error = new SqlError({ reason: new UnknownError({ cause: new Error("?") }) })
      const client = yield* scripted({ answer: (statement) => statement === "UPDATE t" ? error : undefined })
      expect(failure(yield* runOn(client, update.pipe(SqlRetry.transaction(policy))))).toBe(error)
      expect(client.log).toHaveLength(3)
    }))

  it.effect("at every attempt: RetryExhausted, with each failure", () =>
    Effect.gen(function* () {
      const client = yield* scripted({
        answer: (statement, nth) =>
          statement === "UPDATE t" ? sqlState(["40001", "57P01", "40P01", "53300"][nth - 1]!) : undefined
      })
      const error = failure(yield* runOn(client, update.pipe(SqlRetry.transaction(policy, { name: "update" }))))
      expect(RetryExhausted.is(error)).toBe(true)
      expect(error).toMatchObject({ operation: "update", attempts: 4, reason: { _tag: "End" } })
      expect((error as RetryExhausted.RetryExhausted).history.map(({ error }) => SqlRetry.classify(error).code))
        .toEqual(["40001", "57P01", "40P01", "53300"])
    }))
})

describe("before the transaction", () => {
  it.effect("a connection that is refused, then one too many, then a server that dies at BEGIN", () =>
    Effect.gen(function* () {
      const refused = [
        sqlState("08001"),
        sqlState("53300"),
        undefined
      ]
      const client = yield* scripted({
        connect: () => refused.shift(),
        answer: (statement, nth) => statement === "BEGIN" && nth === 1 ? sqlState("57P01") : undefined
      })
      expect(yield* runOn(client, update.pipe(Effect.as(1), SqlRetry.transaction(policy)))).toEqual(Exit.succeed(1))
      expect(client.log).toEqual(["BEGIN", "BEGIN", "UPDATE t", "COMMIT"])
    }))
})

describe("a failure of one's own", () => {
  it.effect("rolls back and leaves as it is", () =>
    Effect.gen(function* () {
      const client = yield* scripted()
      const declined = new Declined()
      const exit = yield* runOn(client, update.pipe(Effect.andThen(declined), SqlRetry.transaction(policy)))
      expect(failure(exit)).toBe(declined)
      expect(client.log).toEqual(["BEGIN", "UPDATE t", "ROLLBACK"])
    }))

  it.effect("that is transient to others is not for the transaction to repeat", () =>
    Effect.gen(function* () {
      const client = yield* scripted()
      const error = Object.assign(new Error("a call over HTTP"), { status: 503 })
      expect(Transience.isTransient(error)).toBe(true)
      expect(failure(yield* runOn(client, Effect.fail(error).pipe(SqlRetry.transaction(policy))))).toBe(error)
      expect(client.log).toEqual(["BEGIN", "ROLLBACK"])
    }))

  it.effect("that says of itself that it is transient runs again", () =>
    Effect.gen(function* () {
      class Conflict extends Data.TaggedError("Conflict")<{}> {
        get [Transience.TypeId](): Transience.SelfDescription {
          return { transience: "transient", applied: "no" }
        }
      }
      const client = yield* scripted()
      const exit = yield* runOn(client, new Conflict().pipe(Effect.asVoid, SqlRetry.transaction(policy)))
      expect(failure(exit)).toMatchObject({ _tag: "RetryExhausted", attempts: 4 })
    }))

  it.effect("that wraps an error of the database is judged by that", () =>
    Effect.gen(function* () {
      const client = yield* scripted({
        answer: (statement, nth) => statement === "UPDATE t" && nth === 1 ? sqlState("40001") : undefined
      })
      const mapped = Effect.mapError(update, (cause) => ({ _tag: "OrdersError", cause }))
      expect(yield* runOn(client, mapped.pipe(Effect.as(1), SqlRetry.transaction(policy)))).toEqual(Exit.succeed(1))
    }))

  it.effect("of a run inside that gave up is not retried again", () =>
    Effect.gen(function* () {
      const client = yield* scripted({
        answer: (statement) => statement === "UPDATE t" ? sqlState("40001") : undefined
      })
      const other = yield* scripted()
      const inner = Effect.provideService(update.pipe(SqlRetry.transaction(policy)), SqlClient, client.sql)
      const error = failure(yield* runOn(other, inner.pipe(SqlRetry.transaction(policy))))
      expect(error).toMatchObject({ _tag: "RetryExhausted", attempts: 4 })
      expect(other.log).toEqual(["BEGIN", "ROLLBACK"])
    }))
})

describe("an AggregateError", () => {
  const refused = (reason: SqlErrorReason) => new SqlError({ reason })
  const locked = refused(new LockTimeoutError({ cause: new Error("database is locked") }))
  const call = Object.assign(new Error("a call over HTTP"), { status: 503 })

  it("is worth another attempt where each of its errors is, and comes of the database", () => {
    expect(SqlRetry.isTransient(new AggregateError([locked, sqlState("40001")]))).toBe(true)
    expect(SqlRetry.isTransient(new AggregateError([locked, call]))).toBe(false)
    expect(SqlRetry.isTransient(new AggregateError([locked, sqlState("42601")]))).toBe(false)
    expect(SqlRetry.isTransient(new AggregateError([]))).toBe(false)
  })

  it.effect("is an unknown COMMIT where one of its errors is", () =>
    Effect.gen(function* () {
      const client = yield* scripted({ answer: dying((statement) => statement === "COMMIT") })
      const lost = failure(yield* runOn(client, update.pipe(SqlRetry.transaction(policy))))
      expect(SqlRetry.isUnknownCommit(new AggregateError([locked, lost]))).toBe(true)
      expect(SqlRetry.isUnknownCommit(new AggregateError([locked, locked]))).toBe(false)
      expect([null, undefined, "lost", 1, {}, new Error("lost")].some(SqlRetry.isUnknownCommit)).toBe(false)
    }))
})

describe("a connection that dies inside", () => {
  it.effect.each([["closed", closed], ["57P01", () => sqlState("57P01")]] as const)(
    "%s: is no defect, and retried",
    ([, death]) =>
      Effect.gen(function* () {
        const client = yield* scripted({
          answer: dying((statement, nth) => statement === "UPDATE t" && nth === 1, death)
        })
        // This is what is put right.
        const plain = yield* runOn(client, Effect.flatMap(SqlClient, (sql) => sql.withTransaction(update)))
        expect(defects(plain)).not.toEqual([])
        const again = yield* scripted({
          answer: dying((statement, nth) => statement === "UPDATE t" && nth === 1, death)
        })
        expect(yield* runOn(again, update.pipe(Effect.as(1), SqlRetry.transaction(policy)))).toEqual(Exit.succeed(1))
        expect(again.log).toEqual(["BEGIN", "UPDATE t", "ROLLBACK", "BEGIN", "UPDATE t", "COMMIT"])
      })
  )

  it.effect.each(["closed", "08006", "57P01", "57P02", "57P03", "57P05", "25P03", "25P04"])(
    "in the rollback of a failure of one's own (%s): that failure leaves as it is",
    (code) =>
      Effect.gen(function* () {
        const death = () => code === "closed" ? closed() : sqlState(code)
        const client = yield* scripted({ answer: dying((statement) => statement === "ROLLBACK", death) })
        const declined = new Declined()
        expect(failure(yield* runOn(client, Effect.andThen(update, declined).pipe(SqlRetry.transaction(policy)))))
          .toBe(declined)
        expect(client.log).toEqual(["BEGIN", "UPDATE t", "ROLLBACK"])
      })
  )

  it.effect("in the rollback, by a fault of TLS: the failure of one's own leaves as it is", () =>
    Effect.gen(function* () {
      const client = yield* scripted({
        answer: dying((statement) => statement === "ROLLBACK", () => broken("ERR_SSL_BAD_RECORD_MAC"))
      })
      const declined = new Declined()
      expect(failure(yield* runOn(client, Effect.andThen(update, declined).pipe(SqlRetry.transaction(policy)))))
        .toBe(declined)
    }))

  it.effect("in the rollback of a defect: the defect stays, alone", () =>
    Effect.gen(function* () {
      const client = yield* scripted({ answer: dying((statement) => statement === "ROLLBACK") })
      expect(defects(yield* runOn(client, Effect.die("a bug").pipe(SqlRetry.transaction(policy))))).toEqual(["a bug"])
      expect(client.log).toEqual(["BEGIN", "ROLLBACK"])
    }))

  it.effect("in the rollback of a savepoint: retried as a whole", () =>
    Effect.gen(function* () {
      const client = yield* scripted({ answer: dying((statement, nth) => statement === "UPDATE t" && nth === 1) })
      const nested = Effect.flatMap(SqlClient, (sql) => sql.withTransaction(update)).pipe(Effect.as(1))
      expect(yield* runOn(client, nested.pipe(SqlRetry.transaction(policy)))).toEqual(Exit.succeed(1))
      expect(client.log.filter((statement) => statement === "UPDATE t")).toHaveLength(2)
    }))
})

describe("a defect", () => {
  it.effect("that one made of a deadlock stays one", () =>
    Effect.gen(function* () {
      const deadlock = sqlState("40P01")
      const client = yield* scripted({ answer: (statement) => statement === "UPDATE t" ? deadlock : undefined })
      expect(defects(yield* runOn(client, Effect.orDie(update).pipe(SqlRetry.transaction(policy))))).toEqual([deadlock])
      expect(client.log).toEqual(["BEGIN", "UPDATE t", "ROLLBACK"])
    }))

  it.effect("of a rollback on a connection that lives stands beside the failure", () =>
    Effect.gen(function* () {
      const full = sqlState("53100x")
      const client = yield* scripted({ answer: (statement) => statement === "ROLLBACK" ? full : undefined })
      const exit = yield* runOn(client, Effect.fail(new Declined()).pipe(SqlRetry.transaction(policy)))
      expect(defects(exit)).toEqual([full])
      expect(Exit.isFailure(exit) && Cause.hasFails(exit.cause)).toBe(true)
      expect(client.log).toEqual(["BEGIN", "ROLLBACK"])
    }))
})

describe("COMMIT", () => {
  it.effect.each([["closed", closed], ["57P01", () => sqlState("57P01")], ["08007", () => sqlState("08007")]] as const)(
    "that loses the connection (%s) is not repeated, and the error says why",
    ([, death]) =>
      Effect.gen(function* () {
        const client = yield* scripted({ answer: dying((statement) => statement === "COMMIT", death) })
        const error = failure(yield* runOn(client, update.pipe(SqlRetry.transaction(policy, { name: "pay" }))))
        expect(error).toMatchObject({ _tag: "RetryExhausted", attempts: 1, reason: { _tag: "Unsafe" } })
        expect(String(error)).toContain("pay gave up after 1 attempt")
        expect(String(error)).toContain("may have taken effect")
        expect(String(error)).toContain("lost at COMMIT: whether the transaction was committed is not known")
        expect(SqlRetry.isUnknownCommit(error)).toBe(true)
        expect(client.log).toEqual(["BEGIN", "UPDATE t", "COMMIT"])
      })
  )

  // To a call that had still to connect, these say that nothing was sent. COMMIT was.
  it.effect.each(["EHOSTUNREACH", "ENOBUFS", "ERR_SSL_TLSV1_ALERT_INTERNAL_ERROR", "ERR_SSL_BAD_RECORD_MAC"])(
    "that loses the connection by %s is not repeated either",
    (code) =>
      Effect.gen(function* () {
        const client = yield* scripted({ answer: dying((statement) => statement === "COMMIT", () => broken(code)) })
        const error = failure(yield* runOn(client, update.pipe(SqlRetry.transaction(policy))))
        expect(error).toMatchObject({ _tag: "RetryExhausted", attempts: 1, reason: { _tag: "Unsafe" } })
        expect(SqlRetry.isUnknownCommit(error)).toBe(true)
        expect(client.log).toEqual(["BEGIN", "UPDATE t", "COMMIT"])
      })
  )

  it.effect("that loses the connection is repeated where that is said to be safe", () =>
    Effect.gen(function* () {
      const client = yield* scripted({ answer: dying((statement, nth) => statement === "COMMIT" && nth === 1) })
      const run = update.pipe(Effect.as(1), SqlRetry.transaction(policy, { idempotent: true }))
      expect(yield* runOn(client, run)).toEqual(Exit.succeed(1))
      expect(client.log).toEqual(["BEGIN", "UPDATE t", "COMMIT", "BEGIN", "UPDATE t", "COMMIT"])
    }))

  it.effect.each(["40001", "40P01", "25P03", "25P04"])(
    "that the server refused with %s is repeated: nothing applied",
    (code) =>
      Effect.gen(function* () {
        const client = yield* scripted({
          answer: (statement, nth) => statement === "COMMIT" && nth === 1 ? sqlState(code) : undefined
        })
        expect(yield* runOn(client, update.pipe(Effect.as(1), SqlRetry.transaction(policy)))).toEqual(Exit.succeed(1))
      })
  )

  it.effect("that violates a deferred constraint is one attempt, and the error as it is", () =>
    Effect.gen(function* () {
      const violation = sqlState("23505")
      const client = yield* scripted({ answer: (statement) => statement === "COMMIT" ? violation : undefined })
      expect(failure(yield* runOn(client, update.pipe(SqlRetry.transaction(policy))))).toBe(violation)
      expect(SqlRetry.isUnknownCommit(violation)).toBe(false)
    }))

  it.effect("runs what waits for it once, however often the transaction ran", () =>
    Effect.gen(function* () {
      const client = yield* scripted({
        answer: (statement, nth) => statement === "UPDATE t" && nth < 3 ? sqlState("40001") : undefined
      })
      let mails = 0
      const mailing = Effect.flatMap(SqlClient, (sql) => sql.afterCommit(Effect.sync(() => void mails++)))
      yield* runOn(client, Effect.andThen(mailing, update).pipe(SqlRetry.transaction(policy)))
      expect(client.log.filter((statement) => statement === "BEGIN")).toHaveLength(3)
      expect(mails).toBe(1)
    }))
})
