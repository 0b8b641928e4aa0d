// On SQLite, where another process is another client of the same file.
import { describe, expect, it } from "@effect/vitest"
import { Policy, Retry } from "@reprise/core"
import { SqlRetry } from "@reprise/sql"
import { SqliteClient } from "@reprise/sqlite"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const policy = Policy.immediate(5)

const file = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "reprise-sql-"))),
    (directory) => Effect.sync(() => rmSync(directory, { recursive: true, force: true }))
  ),
  (directory) => join(directory, "data.sqlite")
)
const connect = (filename: string, disableWAL = false) =>
  Effect.map(Layer.build(Layer.fresh(SqliteClient.layer({ filename, disableWAL }))), Context.get(SqlClient))

const table = Effect.flatMap(SqlClient, (sql) => sql`CREATE TABLE t (n INTEGER NOT NULL UNIQUE)`)
const insert = Effect.flatMap(SqlClient, (sql) => sql`INSERT INTO t VALUES (1)`)
const rows = Effect.flatMap(SqlClient, (sql) => sql<{ n: number }>`SELECT n FROM t`)

describe("SQLite", () => {
  it.effect("a COMMIT that readers keep waiting has not applied, and is tried again", () =>
    Effect.gen(function* () {
      const filename = yield* file
      // Without a write-ahead log, COMMIT wants the file for itself.
      const [ours, theirs] = [yield* connect(filename, true), yield* connect(filename, true)]
      yield* Effect.provideService(table, SqlClient, ours)
      yield* theirs`INSERT INTO t VALUES (7)`
      yield* theirs`BEGIN`
      yield* theirs`SELECT n FROM t`
      const codes: Array<string | undefined> = []
      yield* insert.pipe(
        SqlRetry.transaction(policy, {
          onRetry: ({ error }) =>
            Effect.andThen(
              Effect.sync(() => void codes.push(SqlRetry.classify(error).code)),
              Effect.ignore(theirs`COMMIT`)
            )
        }),
        Effect.provideService(SqlClient, ours)
      )
      expect(codes).toEqual(["LockTimeoutError"])
      expect(yield* Effect.provideService(rows, SqlClient, ours)).toEqual([{ n: 7 }, { n: 1 }])
    }))

  it.effect("a file that another client has locked is asked for again", () =>
    Effect.gen(function* () {
      const filename = yield* file
      const [ours, theirs] = [yield* connect(filename), yield* connect(filename)]
      yield* Effect.provideService(table, SqlClient, ours)
      yield* theirs`BEGIN IMMEDIATE`
      const attempts = yield* Effect.andThen(insert, Retry.Attempt).pipe(
        SqlRetry.transaction(policy, {
          isolation: "serializable",
          onRetry: ({ attempt }) => attempt === 3 ? Effect.orDie(Effect.asVoid(theirs`COMMIT`)) : Effect.void
        }),
        Effect.provideService(SqlClient, ours)
      )
      expect(attempts.number).toBe(4)
      expect(yield* Effect.provideService(rows, SqlClient, theirs)).toEqual([{ n: 1 }])
    }))

  it.effect("a constraint, and what is no SQL: one attempt, and nothing is left", () =>
    Effect.gen(function* () {
      const sql = yield* connect(":memory:")
      let attempts = 0
      const count = Effect.sync(() => void attempts++)
      yield* Effect.provideService(table, SqlClient, sql)
      for (const statement of ["INSERT INTO t VALUES (1)", "SELEC 1", "INSERT INTO t VALUES (NULL)"]) {
        const error = yield* Effect.andThen(count, Effect.andThen(insert, sql.unsafe(statement))).pipe(
          SqlRetry.transaction(policy),
          Effect.provideService(SqlClient, sql),
          Effect.flip
        )
        expect(error).toMatchObject({ _tag: "SqlError" })
      }
      expect(attempts).toBe(3)
      expect(yield* Effect.provideService(rows, SqlClient, sql)).toEqual([])
    }))

  it.effect("a savepoint that fails leaves what was done before it", () =>
    Effect.gen(function* () {
      const sql = yield* connect(":memory:")
      const again = insert.pipe(SqlRetry.transaction(policy), Effect.flip)
      const all = Effect.all([table, insert, again, rows]).pipe(SqlRetry.transaction(policy))
      const [, , error, found] = yield* Effect.provideService(all, SqlClient, sql)
      expect(error).toMatchObject({ _tag: "SqlError", reason: { _tag: "UniqueViolation" } })
      expect(found).toEqual([{ n: 1 }])
    }))
})
