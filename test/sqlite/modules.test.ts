// Effect's own modules that keep their data in SQL.
import { describe, expect, it } from "@effect/vitest"
import { SqliteClient } from "@reprise/sqlite"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as KeyValueStore from "effect/persistence/KeyValueStore"
import * as PersistedQueue from "effect/persistence/PersistedQueue"
import * as Schema from "effect/Schema"
import * as Migrator from "effect/sql/Migrator"
import * as SqlClient from "effect/sql/SqlClient"
import { file, onFile } from "./database.ts"

describe("KeyValueStore", () => {
  it.effect("keeps texts and bytes, also for who opens the file later", () =>
    Effect.gen(function* () {
      const filename = yield* file
      const live = Layer.fresh(KeyValueStore.layerSql().pipe(Layer.provide(SqliteClient.layer({ filename }))))
      yield* Effect.gen(function* () {
        const store = yield* KeyValueStore.KeyValueStore
        yield* store.set("text", "ü")
        yield* store.set("text", "ö")
        yield* store.set("bytes", new Uint8Array([0, 255]))
        yield* store.set("gone", "")
        yield* store.remove("gone")
      }).pipe(Effect.provide(live))
      yield* Effect.gen(function* () {
        const store = yield* KeyValueStore.KeyValueStore
        expect(yield* store.get("text")).toBe("ö")
        expect(yield* store.getUint8Array("bytes")).toEqual(new Uint8Array([0, 255]))
        expect(yield* store.has("gone")).toBe(false)
        expect(yield* store.size).toBe(2)
      }).pipe(Effect.provide(live))
    }))
})

describe("PersistedQueue", () => {
  it.live("hands out once what was offered twice, and keeps what failed", () =>
    Effect.gen(function* () {
      const filename = yield* file
      const sqlite = SqliteClient.layer({ filename })
      const live = PersistedQueue.layer.pipe(
        Layer.provide(PersistedQueue.layerStoreSql({ pollInterval: "20 millis" })),
        Layer.provide(sqlite)
      )
      const taken = yield* Effect.gen(function* () {
        const queue = yield* PersistedQueue.make({ name: "orders", schema: Schema.Struct({ order: Schema.Finite }) })
        yield* queue.offer({ order: 1 }, { id: "a" })
        yield* queue.offer({ order: 1 }, { id: "a" })
        const first = yield* queue.take(({ order }, { attempts, id }) => Effect.succeed({ order, attempts, id }))
        yield* queue.offer({ order: 2 }, { id: "b" })
        return [first, yield* Effect.flip(queue.take(({ order }) => Effect.fail(`not ${order}`)))]
      }).pipe(Effect.provide(live))
      expect(taken).toEqual([{ order: 1, attempts: 1, id: "a" }, "not 2"])
      const rows = yield* Effect.flatMap(
        SqlClient.SqlClient,
        (sql) => sql`SELECT id, attempts FROM effect_queue ORDER BY id`.values
      ).pipe(Effect.provide(sqlite))
      expect(rows).toEqual([["a", 1], ["b", 1]])
    }))
})

describe("Migrator", () => {
  it.effect("runs each migration once, and none of a run that fails", () =>
    Effect.gen(function* () {
      const client = yield* onFile()
      const migrate = (more: Record<string, Effect.Effect<void, unknown, SqlClient.SqlClient>>) =>
        Migrator.make({})({
          loader: Migrator.fromRecord({
            "1_create": Effect.flatMap(SqlClient.SqlClient, (sql) => Effect.asVoid(sql`CREATE TABLE t (id)`)),
            ...more
          })
        }).pipe(Effect.provideService(SqlClient.SqlClient, client))
      expect(yield* migrate({})).toEqual([[1, "create"]])
      expect(yield* migrate({})).toEqual([])
      const half = Effect.flatMap(SqlClient.SqlClient, (sql) =>
        Effect.andThen(sql`CREATE TABLE u (id)`, Effect.asVoid(sql`INSERT INTO nowhere VALUES (1)`)))
      expect(yield* Effect.flip(migrate({ "2_half": half }))).toMatchObject({ _tag: "MigrationError", kind: "Failed" })
      expect(yield* client`SELECT name FROM sqlite_master WHERE name IN ('t', 'u')`).toEqual([{ name: "t" }])
      const rows = yield* client<{ migration_id: number }>`SELECT migration_id FROM effect_sql_migrations`
      expect(rows).toEqual([{ migration_id: 1 }])
    }))
})
