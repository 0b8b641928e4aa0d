import { describe, expect, it } from "@effect/vitest"
import type { SqliteClient } from "@reprise/sqlite"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { TestClock } from "effect/testing"
import { DatabaseSync, type StatementSync } from "node:sqlite"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { setImmediate } from "node:timers/promises"
import { vi } from "vitest"
import { connect, file, inMemory } from "./database.ts"

/** Sees what is prepared while the effect runs. */
const watching = <A, E, R>(seen: (sql: string, statement: StatementSync) => void, effect: Effect.Effect<A, E, R>) => {
  // oxlint-disable-next-line typescript/unbound-method -- it is called with its `this`, below
  const prepare = DatabaseSync.prototype.prepare
  return Effect.acquireUseRelease(
    Effect.sync(() =>
      vi.spyOn(DatabaseSync.prototype, "prepare").mockImplementation(function (this: DatabaseSync, sql) {
        const statement = prepare.call(this, sql)
        seen(sql, statement)
        return statement
      })
    ),
    () => effect,
    (spy) => Effect.sync(() => spy.mockRestore())
  )
}

const prepared = (config: { readonly prepareCacheSize?: number; readonly prepareCacheTTL?: Duration.Input }) => {
  const texts: Array<string> = []
  const run = (...columns: ReadonlyArray<string>) =>
    watching(
      (sql) => texts.push(sql.slice("SELECT ".length)),
      Effect.gen(function* () {
        const sql = yield* client
        for (const column of columns) yield* sql.unsafe(`SELECT ${column}`)
        return texts.splice(0)
      })
    )
  const client = Effect.cached(inMemory(config)).pipe(Effect.runSync)
  return { run, client }
}

describe("a statement", () => {
  it.effect("is prepared once", () =>
    Effect.gen(function* () {
      const { run } = prepared({})
      expect(yield* run("1", "2", "1", "2", "1")).toEqual(["1", "2"])
    }))

  it.effect("that was used longest ago makes room for another", () =>
    Effect.gen(function* () {
      const { run } = prepared({ prepareCacheSize: 2 })
      expect(yield* run("1", "2", "1", "3", "1", "2")).toEqual(["1", "2", "3", "2"])
    }))

  it.effect("is prepared each time where none is kept", () =>
    Effect.gen(function* () {
      const { run } = prepared({ prepareCacheSize: 0 })
      expect(yield* run("1", "1")).toEqual(["1", "1"])
    }))

  it.effect("is kept for as long as it is used now and then", () =>
    Effect.gen(function* () {
      const { run } = prepared({ prepareCacheTTL: "1 minute" })
      expect(yield* run("1")).toEqual(["1"])
      yield* TestClock.adjust("59 seconds")
      expect(yield* run("1")).toEqual([])
      yield* TestClock.adjust("59 seconds")
      expect(yield* run("1")).toEqual([])
      yield* TestClock.adjust("60 seconds")
      expect(yield* run("1")).toEqual(["1"])
    }))

  /** Runs a hundred statements, and gives a count of those that are still there. */
  const hundred = (sql: SqliteClient.SqliteClient) =>
    Effect.gen(function* () {
      setFlagsFromString("--expose-gc")
      const collect: () => void = runInNewContext("gc")
      const statements: Array<WeakRef<StatementSync>> = []
      yield* watching(
        (_, statement) => statements.push(new WeakRef(statement)),
        Effect.forEach(Array.from({ length: 100 }), (_, index) => sql.unsafe(`SELECT ${index}`))
      )
      expect(statements).toHaveLength(100)
      // What a WeakRef has shown stays until the end of the turn.
      const alive = Effect.map(Effect.promise(() => setImmediate()), () => {
        collect()
        return statements.filter((statement) => statement.deref() !== undefined).length
      })
      return { alive }
    })

  it.effect("that is evicted is finalised", () =>
    Effect.gen(function* () {
      const { alive } = yield* hundred(yield* inMemory({ prepareCacheSize: 10 }))
      const left = yield* alive
      expect(left).toBeGreaterThanOrEqual(10)
      expect(left).toBeLessThan(20)
    }))

  it.effect("that nobody has used for too long is finalised with the next that is prepared", () =>
    Effect.gen(function* () {
      const sql = yield* inMemory({ prepareCacheTTL: "1 minute" })
      const { alive } = yield* hundred(sql)
      yield* TestClock.adjust("59 seconds")
      yield* sql.unsafe("SELECT 'early'")
      expect(yield* alive).toBe(100)
      yield* TestClock.adjust("1 second")
      yield* sql.unsafe("SELECT 'late'")
      expect(yield* alive).toBeLessThan(10)
    }))

  it.effect("has the columns of the day, whoever changed them", () =>
    Effect.gen(function* () {
      const filename = yield* file
      const [sql, other] = [yield* connect(filename), yield* connect(filename)]
      yield* sql`CREATE TABLE t (a)`
      yield* sql`INSERT INTO t VALUES (1)`
      const all = sql`SELECT * FROM t`
      expect(yield* all).toEqual([{ a: 1 }])
      yield* sql`ALTER TABLE t ADD COLUMN b DEFAULT 2`
      expect(yield* all).toEqual([{ a: 1, b: 2 }])
      yield* other`ALTER TABLE t ADD COLUMN c DEFAULT 3`
      expect(yield* all).toEqual([{ a: 1, b: 2, c: 3 }])
      expect(yield* all.values).toEqual([[1, 2, 3]])
      yield* sql`ALTER TABLE t DROP COLUMN b`
      expect(yield* all.values).toEqual([[1, 3]])
    }))
})
