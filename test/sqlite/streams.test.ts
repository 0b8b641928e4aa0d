import { describe, expect, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { SqliteClient } from "@reprise/sqlite"
import { inMemory, onFile, reason } from "./database.ts"

// Rows are numbered while they are read: how many there were, the last one tells.
const upTo = (sql: SqliteClient.SqliteClient, last: number) =>
  sql<{ n: number }>`WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < ${last}) SELECT n FROM c`

describe("a stream", () => {
  it.effect("has every row, in order", () =>
    Effect.gen(function* () {
      const sql = yield* inMemory()
      for (const count of [1, 127, 128, 129, 1_000]) {
        const rows = yield* Stream.runCollect(upTo(sql, count).stream)
        expect(rows.map(({ n }) => n)).toEqual(Array.from({ length: count }, (_, index) => index + 1))
      }
      expect(yield* Stream.runCollect(sql`SELECT 1 WHERE FALSE`.stream)).toEqual([])
    }))

  it.effect("reads no further than it is asked to, and ends early when it is left", () =>
    Effect.gen(function* () {
      const sql = yield* inMemory()
      // To the end, this would take hours.
      const rows = yield* upTo(sql, 1e12).stream.pipe(Stream.take(3), Stream.runCollect)
      expect(rows.map(({ n }) => n)).toEqual([1, 2, 3])
      // The statement is finished with: its table can be dropped, and the connection is free.
      yield* sql`CREATE TABLE t (id)`
      yield* sql`INSERT INTO t VALUES (1), (2)`
      yield* sql`SELECT * FROM t, t AS u`.stream.pipe(Stream.take(1), Stream.runDrain)
      yield* sql`DROP TABLE t`
    }))

  it.effect("ends when its reader fails", () =>
    Effect.gen(function* () {
      const sql = yield* inMemory()
      const exit = yield* Effect.exit(Stream.runForEach(upTo(sql, 1e12).stream, () => Effect.fail("enough")))
      expect(exit).toEqual(Exit.fail("enough"))
      expect(yield* sql`SELECT 1 AS one`).toEqual([{ one: 1 }])
    }))

  it.effect("in a transaction sees what the transaction wrote, and leaves its reader free to write", () =>
    Effect.gen(function* () {
      const sql = yield* onFile()
      yield* sql`CREATE TABLE t (id)`
      yield* sql`CREATE TABLE u (id)`
      yield* sql.withTransaction(Effect.gen(function* () {
        yield* sql`INSERT INTO t SELECT value FROM json_each('[1, 2, 3]')`
        yield* Stream.runForEach(sql<{ id: number }>`SELECT id FROM t`.stream, ({ id }) =>
          Effect.andThen(
            // The same text: the rows of the one are not those of the other.
            sql`SELECT id FROM t`,
            sql`INSERT INTO u VALUES (${id * 10})`
          ))
      }))
      expect(yield* sql`SELECT id FROM u`.values).toEqual([[10], [20], [30]])
    }))

  it.effect("may be two at once in a transaction", () =>
    Effect.gen(function* () {
      const sql = yield* inMemory()
      const both = yield* sql.withTransaction(Stream.runCollect(
        Stream.zip(upTo(sql, 300).stream, upTo(sql, 300).stream)
      ))
      expect(both).toHaveLength(300)
      expect(both.every(([one, other]) => one.n === other.n)).toBe(true)
    }))

  it.effect("transforms names", () =>
    Effect.gen(function* () {
      const sql = yield* inMemory({ transformResultNames: (name) => name.toUpperCase() })
      expect(yield* Stream.runCollect(sql`SELECT 1 AS one`.stream)).toEqual([{ ONE: 1 }])
    }))

  it.effect("fails with what is wrong with its statement, at the start or on the way", () =>
    Effect.gen(function* () {
      const sql = yield* inMemory()
      expect(yield* reason(Stream.runDrain(sql`SELEC 1`.stream))).toMatchObject({ _tag: "SqlSyntaxError" })
      const late = sql`SELECT abs(CASE value WHEN 3 THEN -9223372036854775808 ELSE value END) FROM json_each('[1,2,3]')`
      expect(yield* reason(Stream.runDrain(late.stream))).toMatchObject({ _tag: "UnknownError", operation: "stream" })
      expect(yield* sql`SELECT 1 AS one`).toEqual([{ one: 1 }])
    }))

  it.effect("that is open when the client is closed fails", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const context = yield* Layer.build(SqliteClient.layer({ filename: ":memory:" })).pipe(Scope.provide(scope))
      const sql = Context.get(context, SqliteClient.SqliteClient)
      const failed = yield* reason(
        Stream.runForEach(upTo(sql, 1e12).stream, ({ n }) => n === 10 ? Scope.close(scope, Exit.void) : Effect.void)
      )
      expect(failed).toMatchObject({ _tag: "UnknownError", operation: "stream" })
      expect(failed.message).toContain("statement has been finalized")
    }))
})
