import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { BeginTransaction } from "effect/sql/SqlClient"
import * as Stream from "effect/Stream"
import { readFileSync, writeFileSync } from "node:fs"
import { inspect } from "node:util"
import { connect, file, inMemory, onFile, reason } from "./database.ts"

describe("a failure", () => {
  it.effect("of a unique constraint names it, also the primary key", () =>
    Effect.gen(function* () {
      const sql = yield* inMemory()
      yield* sql`CREATE TABLE users (id INTEGER PRIMARY KEY, email TEXT UNIQUE, name TEXT, UNIQUE (name, email))`
      yield* sql`CREATE TABLE keys (id TEXT PRIMARY KEY)`
      yield* sql`INSERT INTO users VALUES (1, 'a', 'n')`
      yield* sql`INSERT INTO keys VALUES ('k')`
      const unique = { _tag: "UniqueViolation", isRetryable: false, operation: "execute" }
      expect(yield* reason(sql`INSERT INTO users VALUES (2, 'a', 'x')`))
        .toMatchObject({ ...unique, constraint: "users.email" })
      expect(yield* reason(sql`INSERT INTO users VALUES (1, 'b', 'x')`))
        .toMatchObject({ ...unique, constraint: "users.id" })
      expect(yield* reason(sql`INSERT INTO keys VALUES ('k')`)).toMatchObject({ ...unique, constraint: "keys.id" })
      expect(yield* reason(sql`INSERT INTO users (rowid) VALUES (1)`)).toMatchObject(unique)
    }))

  it.effect("of another constraint is told apart by the extended code", () =>
    Effect.gen(function* () {
      const sql = yield* inMemory()
      yield* sql`CREATE TABLE parents (id INTEGER PRIMARY KEY)`
      yield* sql`CREATE TABLE t (a NOT NULL, b CHECK (b > 0), c REFERENCES parents)`
      yield* sql`CREATE TABLE strict (a INTEGER) STRICT`
      const codeOf = (text: string) =>
        Effect.map(reason(sql.unsafe(text)), ({ _tag, cause }) => [_tag, (cause as { errcode: number }).errcode])
      expect(yield* codeOf("INSERT INTO t VALUES (NULL, 1, NULL)")).toEqual(["ConstraintError", 1299])
      expect(yield* codeOf("INSERT INTO t VALUES (1, 0, NULL)")).toEqual(["ConstraintError", 275])
      expect(yield* codeOf("INSERT INTO t VALUES (1, 1, 7)")).toEqual(["ConstraintError", 787])
      expect(yield* codeOf("INSERT INTO strict VALUES ('a')")).toEqual(["ConstraintError", 3091])
    }))

  it.effect.each(
    [
      ["SELEC 1", "near \"SELEC\": syntax error"],
      ["SELECT * FROM nowhere", "no such table: nowhere"],
      ["SELECT missing", "no such column: missing"],
      ["SELECT 1; DELETE FROM t", "the text is more than one statement; run them one by one"],
      [`SELECT 1; -- ${"-".repeat(80)}\n SELECT 2`, "the text is more than one statement; run them one by one"],
      [`SELECT 1; ${"/**/".repeat(80)} SELECT 2`, "the text is more than one statement; run them one by one"]
    ] as const
  )("of the text is a syntax error: %s", ([text, message]) =>
    Effect.gen(function* () {
      const sql = yield* inMemory()
      const failed = yield* reason(sql.unsafe(text))
      expect(failed).toMatchObject({ _tag: "SqlSyntaxError", operation: "prepare", isRetryable: false })
      expect(failed.message).toBe(`Failed to prepare the statement: ${message}`)
    }))

  it.effect("of the text is told in full, whatever the parameters", () =>
    Effect.gen(function* () {
      const sql = yield* inMemory()
      const statement = sql`SELECT * FROM nowhere WHERE id = ${1}`
      expect((yield* reason(statement)).message).toBe("Failed to prepare the statement: no such table: nowhere")
      expect((yield* reason(Stream.runDrain(statement.stream))).message).toContain("no such table: nowhere")
    }))

  it.effect("is not made of what may follow one statement", () =>
    Effect.gen(function* () {
      const sql = yield* inMemory()
      expect(yield* sql.unsafe("-- first\n SELECT 1 AS a; ; -- done\n /* all */ ")).toEqual([{ a: 1 }])
      expect((yield* reason(sql.unsafe("-- nothing")))._tag).toBe("UnknownError")
    }))

  it.effect("of a lock is worth another attempt", () =>
    Effect.gen(function* () {
      const filename = yield* file
      const [one, other] = [yield* connect(filename), yield* connect(filename)]
      yield* one`CREATE TABLE t (id)`
      const locked = { _tag: "LockTimeoutError", isRetryable: true }
      yield* one.withTransaction(Effect.gen(function* () {
        expect(yield* reason(other`INSERT INTO t VALUES (1)`)).toMatchObject(locked)
        expect(yield* reason(other.withTransaction(other`SELECT 1`))).toMatchObject(locked)
        expect(yield* other`SELECT * FROM t`).toEqual([])
      }))
      yield* other`INSERT INTO t VALUES (1)`
    }))

  it.effect("of a table in use is a lock too", () =>
    Effect.gen(function* () {
      const sql = yield* inMemory()
      yield* sql`CREATE TABLE t (id)`
      yield* sql`INSERT INTO t SELECT value FROM json_each(${JSON.stringify(Array.from({ length: 200 }))})`
      yield* sql.withTransaction(
        Effect.scoped(Effect.gen(function* () {
          const next = yield* Stream.toPull(sql`SELECT id FROM t`.stream)
          yield* next
          expect((yield* reason(sql`DROP TABLE t`))._tag).toBe("LockTimeoutError")
        })).pipe(Effect.catchTag("Done", Effect.die))
      )
      yield* sql`DROP TABLE t`
    }))

  it.effect("of a stale snapshot is worth another transaction, not another statement", () =>
    Effect.gen(function* () {
      const filename = yield* file
      const [one, other] = [yield* connect(filename), yield* connect(filename)]
      yield* one`CREATE TABLE t (id)`
      const failed = yield* reason(
        one.withTransaction(Effect.gen(function* () {
          yield* one`SELECT * FROM t`
          yield* other`INSERT INTO t VALUES (1)`
          yield* one`INSERT INTO t VALUES (2)`
        })).pipe(Effect.provideService(BeginTransaction, "BEGIN"))
      )
      expect(failed).toMatchObject({ _tag: "SerializationError", isRetryable: true })
    }))

  it.effect("of a file in a directory that does not exist is a connection error", () =>
    Effect.gen(function* () {
      const filename = yield* file
      const failed = yield* reason(connect(`${filename}/no/data.sqlite`))
      expect(failed).toMatchObject({ _tag: "ConnectionError", operation: "open" })
      expect(failed.message).toBe(
        `Failed to open the database ${filename}/no/data.sqlite: unable to open database file`
      )
      expect((yield* reason(connect(filename, { readonly: true })))._tag).toBe("ConnectionError")
      expect((yield* reason(connect("a\0b")))._tag).toBe("UnknownError")
    }))

  it.effect.each([{}, { readonly: true }, { disableWAL: true }])(
    "of what is no database comes when it is opened: %j",
    (config) =>
      Effect.gen(function* () {
        const filename = yield* file
        writeFileSync(filename, "no database, however much of it there is. ".repeat(100))
        const failed = yield* reason(connect(filename, config))
        expect(failed).toMatchObject({ _tag: "UnknownError", operation: "open", isRetryable: false })
        expect(failed.message).toBe(`Failed to open the database ${filename}: file is not a database`)
      })
  )

  it.effect("of a name that is empty is said, where SQLite makes a database that nobody finds again", () =>
    Effect.gen(function* () {
      const failed = yield* reason(connect(""))
      expect(failed).toMatchObject({ _tag: "UnknownError", operation: "open", isRetryable: false })
      expect(failed.message).toContain("the filename is missing or empty")
      const sql = yield* inMemory()
      expect((yield* reason(sql.backup(""))).message).toContain("the filename is missing or empty")
    }))

  it.effect("of a statement that was prepared before its table went is one of its text", () =>
    Effect.gen(function* () {
      const filename = yield* file
      const [sql, other] = [yield* connect(filename), yield* connect(filename)]
      yield* sql`CREATE TABLE t (id)`
      const statement = sql`SELECT * FROM t WHERE id = ${"hunter2"}`
      yield* statement
      yield* other`DROP TABLE t`
      const failed = yield* reason(statement)
      expect(failed).toMatchObject({ _tag: "SqlSyntaxError", operation: "prepare" })
      expect(failed.message).toBe("Failed to prepare the statement: no such table: t")
      yield* other`CREATE TABLE t (id)`
      expect(yield* statement).toEqual([])
    }))

  it.effect("of a file that is damaged says so", () =>
    Effect.gen(function* () {
      const filename = yield* file
      yield* Effect.scoped(Effect.flatMap(connect(filename), (sql) => sql`CREATE TABLE t (id)`))
      // The second page is that of the table.
      const bytes = readFileSync(filename)
      writeFileSync(filename, bytes.fill(0xff, 4096))
      const sql = yield* connect(filename)
      const failed = yield* reason(sql`SELECT * FROM t`)
      expect(failed).toMatchObject({ _tag: "UnknownError", cause: { errcode: 11 } })
      expect(failed.message).toBe("Failed to execute the statement: database disk image is malformed")
    }))

  it.effect("of a full disk says so, and leaves no transaction", () =>
    Effect.gen(function* () {
      const sql = yield* onFile()
      yield* sql`CREATE TABLE t (bytes)`
      yield* sql`PRAGMA max_page_count = 10`
      const failed = yield* reason(sql.withTransaction(sql`INSERT INTO t VALUES (zeroblob(${1_000_000}))`))
      expect(failed).toMatchObject({ _tag: "UnknownError", cause: { errcode: 13, errno: 13 } })
      expect(failed.message).toBe("Failed to execute the statement: database or disk is full")
      yield* sql.withTransaction(sql`INSERT INTO t VALUES (1)`)
    }))

  it.effect("of a value that is too big says so", () =>
    Effect.gen(function* () {
      const sql = yield* inMemory()
      expect(yield* reason(sql`SELECT zeroblob(2000000000)`)).toMatchObject({ cause: { errcode: 18 } })
    }))

  it.effect("never repeats a parameter", () =>
    Effect.gen(function* () {
      const sql = yield* inMemory()
      yield* sql`CREATE TABLE t (id TEXT PRIMARY KEY, n INTEGER CHECK (n > 0)) STRICT`
      yield* sql`INSERT INTO t VALUES (${"hunter2"}, 1)`
      const failures = yield* Effect.forEach([
        sql`INSERT INTO t VALUES (${"hunter2"}, 1)`,
        sql`INSERT INTO t VALUES (${"hunter2"}, ${"hunter2"})`,
        sql`SELECT json_extract('{}', ${"hunter2"})`,
        sql`SELECT json(${"hunter2"})`,
        sql.unsafe("SELECT ?", [{ password: "hunter2" }]),
        sql.unsafe("SELECT ?", ["hunter2", "hunter2"])
      ], Effect.flip)
      expect(inspect(failures, { depth: 10, showHidden: true })).not.toContain("hunter2")
      expect(failures[2]!.message).toContain("the details are withheld")
    }))
})
