import { describe, expect, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import type { SqliteClient } from "@reprise/sqlite"
import { connect, file, inMemory, onFile, reason } from "./database.ts"

const ids = (sql: SqliteClient.SqliteClient) =>
  sql`SELECT id FROM t ORDER BY id`.values.pipe(Effect.map((_) => _.flat()))

describe("a transaction", () => {
  it.effect("takes the write lock before it reads", () =>
    Effect.gen(function* () {
      const filename = yield* file
      const [one, other] = [yield* connect(filename), yield* connect(filename)]
      yield* one`CREATE TABLE t (id)`
      yield* one.withTransaction(Effect.gen(function* () {
        expect(yield* ids(one)).toEqual([])
        expect((yield* reason(other`INSERT INTO t VALUES (1)`))._tag).toBe("LockTimeoutError")
        yield* one`INSERT INTO t VALUES (2)`
      }))
      expect(yield* ids(other)).toEqual([2])
    }))

  it.effect("that fails leaves nothing, and one that succeeds everything", () =>
    Effect.gen(function* () {
      const sql = yield* onFile()
      yield* sql`CREATE TABLE t (id)`
      const failed = yield* Effect.exit(
        sql.withTransaction(Effect.andThen(sql`INSERT INTO t VALUES (1)`, Effect.fail("no")))
      )
      expect(failed).toEqual(Exit.fail("no"))
      expect(yield* ids(sql)).toEqual([])
      yield* sql.withTransaction(Effect.andThen(sql`INSERT INTO t VALUES (1)`, sql`INSERT INTO t VALUES (2)`))
      expect(yield* ids(sql)).toEqual([1, 2])
    }))

  it.effect("inside another is a savepoint", () =>
    Effect.gen(function* () {
      const sql = yield* inMemory()
      yield* sql`CREATE TABLE t (id)`
      yield* sql.withTransaction(Effect.gen(function* () {
        yield* sql`INSERT INTO t VALUES (1)`
        yield* Effect.ignore(sql.withTransaction(Effect.andThen(sql`INSERT INTO t VALUES (2)`, Effect.fail("no"))))
        yield* sql.withTransaction(Effect.gen(function* () {
          yield* sql`INSERT INTO t VALUES (3)`
          yield* Effect.ignore(sql.withTransaction(Effect.andThen(sql`INSERT INTO t VALUES (4)`, Effect.fail("no"))))
        }))
      }))
      expect(yield* ids(sql)).toEqual([1, 3])
    }))

  it.effect("leaves no savepoint behind", () =>
    Effect.gen(function* () {
      const sql = yield* inMemory()
      const { message } = yield* reason(sql.withTransaction(Effect.gen(function* () {
        yield* sql.withTransaction(sql`SELECT 1`)
        yield* Effect.ignore(sql.withTransaction(Effect.fail("no")))
        yield* sql`RELEASE SAVEPOINT effect_sql_1`
      })))
      expect(message).toContain("no such savepoint")
    }))

  it.effect("keeps other fibers out until it ends", () =>
    Effect.gen(function* () {
      const sql = yield* inMemory()
      yield* sql`CREATE TABLE t (id)`
      const inside = yield* Deferred.make<void>()
      const leave = yield* Deferred.make<void>()
      const transaction = yield* Effect.forkChild(Effect.exit(sql.withTransaction(Effect.gen(function* () {
        yield* sql`INSERT INTO t VALUES (1)`
        yield* Deferred.succeed(inside, undefined)
        yield* Deferred.await(leave)
        return yield* Effect.fail("no")
      }))))
      yield* Deferred.await(inside)
      const outside = yield* Effect.forkChild(Effect.andThen(sql`INSERT INTO t VALUES (2)`, ids(sql)))
      yield* Effect.yieldNow
      expect(outside.pollUnsafe()).toBe(undefined)
      yield* Deferred.succeed(leave, undefined)
      yield* Fiber.join(transaction)
      expect(yield* Fiber.join(outside)).toEqual([2])
    }))

  it.effect("that is interrupted is rolled back, and lets the next one in", () =>
    Effect.gen(function* () {
      const sql = yield* onFile()
      yield* sql`CREATE TABLE t (id)`
      const inside = yield* Deferred.make<void>()
      const fiber = yield* Effect.forkChild(sql.withTransaction(
        sql`INSERT INTO t VALUES (1)`.pipe(
          Effect.andThen(Deferred.succeed(inside, undefined)),
          Effect.andThen(Effect.never)
        )
      ))
      yield* Deferred.await(inside)
      yield* Fiber.interrupt(fiber)
      yield* sql.withTransaction(sql`INSERT INTO t VALUES (2)`)
      expect(yield* ids(sql)).toEqual([2])
    }))

  it.effect("whose commit fails is rolled back, and the client goes on", () =>
    Effect.gen(function* () {
      const sql = yield* inMemory()
      yield* sql`CREATE TABLE parents (id INTEGER PRIMARY KEY)`
      yield* sql`CREATE TABLE t (id REFERENCES parents DEFERRABLE INITIALLY DEFERRED)`
      expect((yield* reason(sql.withTransaction(sql`INSERT INTO t VALUES (1)`)))._tag).toBe("ConstraintError")
      expect(yield* ids(sql)).toEqual([])
      yield* sql.withTransaction(sql`SELECT 1`)
    }))

  it.effect("that SQLite itself rolled back fails with what it met, not with the rollback", () =>
    Effect.gen(function* () {
      const sql = yield* inMemory()
      yield* sql`CREATE TABLE t (id PRIMARY KEY)`
      yield* sql`INSERT INTO t VALUES (1)`
      const failed = yield* reason(sql.withTransaction(sql.withTransaction(sql`INSERT OR ROLLBACK INTO t VALUES (1)`)))
      expect(failed._tag).toBe("UniqueViolation")
      yield* sql.withTransaction(sql`INSERT INTO t VALUES (2)`)
    }))

  it.effect("that SQLite itself rolled back takes no more statements, which would be committed one by one", () =>
    Effect.gen(function* () {
      const sql = yield* inMemory()
      yield* sql`CREATE TABLE t (id PRIMARY KEY)`
      yield* sql`INSERT INTO t VALUES (1)`
      const refusals = yield* Effect.forEach([
        sql`INSERT INTO t VALUES (3)`,
        sql`INSERT INTO t VALUES (3)`.unprepared,
        Stream.runDrain(sql`INSERT INTO t VALUES (3) RETURNING id`.stream),
        sql.withTransaction(sql`INSERT INTO t VALUES (3)`)
      ], (late) =>
        reason(sql.withTransaction(Effect.gen(function* () {
          yield* sql`INSERT INTO t VALUES (2)`
          yield* Effect.ignore(sql`INSERT OR ROLLBACK INTO t VALUES (1)`)
          yield* late
        }))))
      for (const { _tag, message } of refusals) {
        expect(_tag).toBe("UnknownError")
        expect(message).toContain("the transaction is over")
      }
      expect(yield* ids(sql)).toEqual([1])
      yield* sql.withTransaction(sql`INSERT INTO t VALUES (2)`)
    }))

  it.effect("takes no statements of a fiber that has outlived it", () =>
    Effect.gen(function* () {
      const sql = yield* inMemory()
      yield* sql`CREATE TABLE t (id)`
      const ended = yield* Deferred.make<void>()
      const late = yield* sql.withTransaction(
        Effect.forkDetach(Effect.andThen(Deferred.await(ended), reason(sql`INSERT INTO t VALUES (1)`)))
      )
      yield* Deferred.succeed(ended, undefined)
      expect((yield* Fiber.join(late)).message).toContain("the transaction is over")
      expect(yield* ids(sql)).toEqual([])
    }))

  it.effect("that is open when the client is closed is rolled back, and ends as it would have", () =>
    Effect.gen(function* () {
      const filename = yield* file
      const inside = yield* Deferred.make<void>()
      const fiber = yield* Effect.scoped(Effect.gen(function* () {
        const sql = yield* connect(filename)
        yield* sql`CREATE TABLE t (id)`
        const fiber = yield* Effect.forkDetach(sql.withTransaction(
          Effect.andThen(
            sql`INSERT INTO t VALUES (1)`,
            Effect.andThen(Deferred.succeed(inside, undefined), Effect.never)
          )
        ))
        yield* Deferred.await(inside)
        return fiber
      }))
      yield* Fiber.interrupt(fiber)
      expect(Exit.hasDies(yield* Fiber.await(fiber))).toBe(false)
      const sql = yield* connect(filename)
      expect(yield* ids(sql)).toEqual([])
    }))
})
