import { describe, expect, it } from "@effect/vitest"
import { SqliteClient } from "@reprise/sqlite"
import * as Config from "effect/Config"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as SqlClient from "effect/sql/SqlClient"
import * as Str from "effect/String"
import { TestClock } from "effect/testing"
import * as Tracer from "effect/Tracer"
import { existsSync } from "node:fs"
import { connect, file, inMemory, onFile, reason } from "./database.ts"

describe("a client", () => {
  it.effect("is Effect's SqlClient and the package's own, one and the same", () =>
    Effect.gen(function* () {
      const own = yield* SqliteClient.SqliteClient
      const common = yield* SqlClient.SqlClient
      expect(own).toBe(common)
      expect(own.config.filename).toBe(":memory:")
      expect(own.driver).toBe("sqlite-node")
    }).pipe(Effect.provide(SqliteClient.layer({ filename: ":memory:" }))))

  it.effect("gives what RETURNING returns", () =>
    Effect.gen(function* () {
      const sql = yield* inMemory()
      yield* sql`CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT)`
      const rows = yield* sql`INSERT INTO t ${sql.insert([{ name: "a" }, { name: "b" }]).returning("*")}`
      expect(rows).toEqual([{ id: 1, name: "a" }, { id: 2, name: "b" }])
      expect(yield* sql`UPDATE t SET ${sql.update({ name: "c" })} WHERE id = ${2}`).toEqual([])
      expect(yield* sql`SELECT name FROM t WHERE id IN ${sql.in([2, 3])}`).toEqual([{ name: "c" }])
    }))

  it.effect("gives raw results: rows, or what a write changed", () =>
    Effect.gen(function* () {
      const sql = yield* inMemory()
      yield* sql`CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT)`
      expect(yield* sql`INSERT INTO t (name) VALUES ('a'), ('b')`.raw).toEqual({ changes: 2, lastInsertRowid: 2 })
      expect(yield* sql`SELECT name FROM t`.raw).toEqual([{ name: "a" }, { name: "b" }])
      expect(yield* sql`INSERT INTO t (id) VALUES (${2n ** 53n + 1n})`.raw)
        .toEqual({ changes: 1, lastInsertRowid: 2n ** 53n + 1n })
    }))

  it.effect("gives values without losing columns of the same name", () =>
    Effect.gen(function* () {
      const sql = yield* inMemory()
      const statement = sql`SELECT 1 AS id, 2 AS id`
      expect(yield* statement.values).toEqual([[1, 2]])
      expect(yield* statement.valuesUnprepared).toEqual([[1, 2]])
      // The same statement again, from the cache.
      expect(yield* statement).toEqual([{ id: 2 }])
      expect(yield* statement.unprepared).toEqual([{ id: 2 }])
      expect(yield* sql`CREATE TABLE t (id)`.values).toEqual([])
    }))

  it.effect("transforms names, and leaves them where it is told to", () =>
    Effect.gen(function* () {
      const sql = yield* inMemory({
        transformQueryNames: Str.camelToSnake,
        transformResultNames: Str.snakeToCamel
      })
      yield* sql`CREATE TABLE line_items (unit_price INTEGER)`
      yield* sql`INSERT INTO ${sql("lineItems")} ${sql.insert({ unitPrice: 5 })}`
      expect(yield* sql`SELECT * FROM line_items`).toEqual([{ unitPrice: 5 }])
      expect(yield* sql`SELECT * FROM line_items`.unprepared).toEqual([{ unitPrice: 5 }])
      expect(yield* sql`SELECT * FROM line_items`.withoutTransform).toEqual([{ unit_price: 5 }])
    }))

  it.effect("reads its configuration when the layer is built", () =>
    Effect.gen(function* () {
      const filename = yield* file
      const live = SqliteClient.layerConfig({
        filename: Config.String("DATABASE"),
        prepareCacheSize: Config.Int("CACHE").pipe(Config.withDefault(10))
      })
      const provider = ConfigProvider.layer(ConfigProvider.fromUnknown({ DATABASE: filename }))
      const config = yield* Effect.map(SqliteClient.SqliteClient, (client) => client.config).pipe(
        Effect.provide(Layer.provide(live, provider))
      )
      expect(config).toEqual({ filename, prepareCacheSize: 10 })
      const missing = yield* Effect.flip(Layer.build(Layer.provide(
        live,
        ConfigProvider.layer(
          ConfigProvider.fromUnknown({})
        )
      )))
      expect(missing._tag).toBe("ConfigError")
    }))

  it.effect("shows statements to the tracer, never parameters", () =>
    Effect.gen(function* () {
      const spans: Array<Tracer.Span> = []
      const tracer = Tracer.make({
        span: (options) => {
          const span = new Tracer.NativeSpan(options)
          spans.push(span)
          return span
        }
      })
      const sql = yield* inMemory({ spanAttributes: { "db.namespace": "shop" } })
      yield* Effect.exit(sql`SELECT json_extract('{}', ${"a secret"})`).pipe(Effect.withTracer(tracer))
      const [span] = spans
      expect(spans).toHaveLength(1)
      expect(Object.fromEntries(span!.attributes)).toMatchObject({
        "db.namespace": "shop",
        "db.system.name": "sqlite",
        "db.query.text": "SELECT json_extract('{}', ?)"
      })
      expect(JSON.stringify([...span!.attributes, span!.status], (_, value) =>
        typeof value === "bigint" ? String(value) : value)).not.toContain("secret")
    }))
})

describe("a database", () => {
  it.effect("in memory is a database of its own", () =>
    Effect.gen(function* () {
      const one = yield* inMemory()
      const other = yield* inMemory()
      yield* one`CREATE TABLE t (id)`
      expect(yield* other`SELECT name FROM sqlite_master`).toEqual([])
    }))

  it.effect("in a file has a write-ahead log, enforces foreign keys, and waits for nothing", () =>
    Effect.gen(function* () {
      const sql = yield* onFile()
      expect(yield* sql`PRAGMA journal_mode`).toEqual([{ journal_mode: "wal" }])
      expect(yield* sql`PRAGMA foreign_keys`).toEqual([{ foreign_keys: 1 }])
      expect(yield* sql`PRAGMA busy_timeout`).toEqual([{ timeout: 0 }])
    }))

  it.effect("keeps its journal where the log is disabled", () =>
    Effect.gen(function* () {
      const sql = yield* onFile({ disableWAL: true })
      expect(yield* sql`PRAGMA journal_mode`).toEqual([{ journal_mode: "delete" }])
    }))

  it.effect("that is locked while it is opened is opened when it is free", () =>
    Effect.gen(function* () {
      const filename = yield* file
      const other = yield* connect(filename, { disableWAL: true })
      const fiber = yield* other.withTransaction(Effect.gen(function* () {
        yield* other`CREATE TABLE t (id)`
        const fiber = yield* Effect.forkDetach(Effect.scoped(connect(filename)))
        yield* TestClock.adjust("4 seconds")
        expect(fiber.pollUnsafe()).toBe(undefined)
        return fiber
      }))
      yield* TestClock.adjust("10 millis")
      expect(Exit.isSuccess(yield* Fiber.await(fiber))).toBe(true)
    }))

  it.effect("that stays locked while it is opened is given up after five seconds", () =>
    Effect.gen(function* () {
      const filename = yield* file
      const other = yield* connect(filename, { disableWAL: true })
      yield* other.withTransaction(Effect.gen(function* () {
        yield* other`CREATE TABLE t (id)`
        const fiber = yield* Effect.forkDetach(reason(connect(filename)))
        yield* TestClock.adjust("5 seconds")
        expect(yield* Fiber.join(fiber)).toMatchObject({ _tag: "LockTimeoutError", operation: "open" })
      }))
    }))

  it.effect("is closed with the scope, and what was written is there", () =>
    Effect.gen(function* () {
      const filename = yield* file
      const closed = yield* Effect.scoped(Effect.tap(connect(filename), (sql) => sql`CREATE TABLE t (id)`))
      expect(existsSync(`${filename}-wal`)).toBe(false)
      expect((yield* reason(closed`SELECT 1`)).message).toContain("database is not open")
      const sql = yield* connect(filename)
      expect(yield* sql`SELECT name FROM sqlite_master`).toEqual([{ name: "t" }])
    }))

  it.effect("opened to read refuses to write, and has transactions", () =>
    Effect.gen(function* () {
      const filename = yield* file
      const writer = yield* connect(filename)
      yield* writer`CREATE TABLE t (id)`
      const sql = yield* connect(filename, { readonly: true })
      expect(yield* sql.withTransaction(sql`SELECT * FROM t`)).toEqual([])
      expect((yield* reason(sql`INSERT INTO t VALUES (1)`))._tag).toBe("AuthorizationError")
    }))
})

describe("a backup", () => {
  it.effect("is a whole database, with what is still in the log", () =>
    Effect.gen(function* () {
      const filename = yield* file
      const sql = yield* connect(filename)
      yield* sql`CREATE TABLE t (id)`
      yield* sql`INSERT INTO t VALUES (1)`
      yield* sql.backup(`${filename}.copy`)
      yield* sql`INSERT INTO t VALUES (2)`
      const copy = yield* connect(`${filename}.copy`)
      expect(yield* copy`SELECT * FROM t`).toEqual([{ id: 1 }])
    }))

  it.effect("is complete before an interruption ends it", () =>
    Effect.gen(function* () {
      const filename = yield* file
      const sql = yield* connect(filename)
      yield* sql`CREATE TABLE t AS
        WITH RECURSIVE n (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n WHERE id < 2000)
        SELECT id, zeroblob(4000) AS page FROM n`
      const fiber = yield* Effect.forkChild(sql.backup(`${filename}.copy`), { startImmediately: true })
      yield* Fiber.interrupt(fiber)
      const copy = yield* connect(`${filename}.copy`)
      expect(yield* copy`SELECT count(*) AS rows FROM t`).toEqual([{ rows: 2000 }])
    }))

  it.effect("into a directory that does not exist is a typed error", () =>
    Effect.gen(function* () {
      const filename = yield* file
      const sql = yield* connect(filename)
      expect(yield* reason(sql.backup(`${filename}/no/copy`)))
        .toMatchObject({ _tag: "ConnectionError", operation: "backup" })
    }))

  it.effect("into a file that is locked is worth another attempt", () =>
    Effect.gen(function* () {
      const filename = yield* file
      const sql = yield* connect(filename)
      yield* sql`CREATE TABLE t (id)`
      const other = yield* connect(`${filename}.copy`)
      yield* other.withTransaction(Effect.gen(function* () {
        const failed = yield* reason(sql.backup(`${filename}.copy`))
        expect(failed).toMatchObject({ _tag: "LockTimeoutError", operation: "backup", isRetryable: true })
        expect(failed.message).toBe(`Failed to back up the database to ${filename}.copy: it is locked`)
      }))
      yield* sql.backup(`${filename}.copy`)
    }))

  it.effect("inside a transaction is refused, where it would wait for itself", () =>
    Effect.gen(function* () {
      const filename = yield* file
      const sql = yield* connect(filename)
      const { message } = yield* reason(sql.withTransaction(sql.backup(`${filename}.copy`)))
      expect(message).toBe(`Failed to back up the database to ${filename}.copy: a transaction is open`)
    }))
})
