import * as NodeCrypto from "@effect/platform-node/NodeCrypto"
import * as NodeRedis from "@effect/platform-node/NodeRedis"
import { PgClient } from "@effect/sql-pg"
import { Idempotency, IdempotencyStore } from "@reprise/idempotency"
import { SqliteClient } from "@reprise/sqlite"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Redis from "effect/persistence/Redis"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import { SqlClient } from "effect/sql/SqlClient"
import { randomUUID } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { performance } from "node:perf_hooks"
import { hasRedis, startRedis } from "../redis/server.ts"
import { hasPostgres, startPostgres } from "../sql/postgres.ts"
import type { Many, Measurement } from "./Measurement.ts"
import { alone, compare, type Row, speedAtLeast } from "./Row.ts"
import { type Side, takeTurns } from "./rounds.ts"
import { quantile } from "./statistics.ts"

type Store = IdempotencyStore.IdempotencyStore

/** A key that was never used. Most clients draw theirs, so that neighbours in time are none in a table. */
const newKey = (): string => randomUUID()

const options = { scope: "tenant-7", payload: { amount: 20, currency: "EUR", to: "acct_1" }, success: Schema.String }
const fresh = Effect.suspend(() => Idempotency.once({ ...options, key: newKey() }, Effect.succeed("charged")))
const replay = Idempotency.once({ ...options, key: "replayed" }, Effect.succeed("charged"))

/** As much as a record is. */
const fingerprint = "0".repeat(64)
const outcome = "{\"success\":\"charged\"}"

const concurrently = <A, E>(self: Effect.Effect<A, E>, concurrency: number): Side => (iterations) =>
  Effect.runPromise(
    Effect.as(Effect.replicateEffect(self, iterations, { concurrency, discard: true }), iterations)
  )

interface Place {
  readonly name: string
  readonly layer: Layer.Layer<Store, unknown>
  /** An insert and an update, and nothing else. */
  readonly bare: Effect.Effect<unknown, unknown>
  readonly iterations: number
  /** How many at a time: what is another process is asked by many at once. */
  readonly concurrency: number
}

const table = (sql: SqlClient, name: string) =>
  sql.unsafe(`CREATE TABLE ${name} (id TEXT PRIMARY KEY NOT NULL, state TEXT NOT NULL, fence BIGINT NOT NULL,
    holder TEXT NOT NULL, fingerprint TEXT NOT NULL, lease_until BIGINT NOT NULL, expires_at BIGINT NOT NULL, outcome TEXT)`)

const bareSql = (sql: SqlClient) =>
  Effect.suspend(() => {
    const id = newKey()
    return Effect.andThen(
      sql`INSERT INTO bare VALUES (${id}, 'running', 1, ${fingerprint}, ${fingerprint}, ${1}, ${1}, NULL)`,
      sql`UPDATE bare SET state = 'done', outcome = ${outcome}, expires_at = ${2} WHERE id = ${id}`
    )
  })

const onSql = <E>(
  name: string,
  client: Layer.Layer<SqlClient, E>,
  scope: Scope.Scope,
  options: Pick<Place, "concurrency" | "iterations"> & { readonly before?: string }
) =>
  Effect.gen(function* () {
    const context = yield* Layer.buildWithScope(client, scope)
    const sql = Context.get(context, SqlClient)
    if (options.before !== undefined) yield* sql.unsafe(options.before)
    yield* table(sql, "bare")
    const layer = Layer.provide(IdempotencyStore.layerSql(), Layer.succeedContext(context))
    return { name, layer, bare: bareSql(sql), ...options }
  })

const inMemory = (): Place => {
  const rows = new Map<string, object>()
  return {
    name: "memory",
    layer: IdempotencyStore.layerMemory({ capacity: 100_000_000 }),
    bare: Effect.suspend(() => {
      const key = newKey()
      return Effect.andThen(
        Effect.sync(() => rows.set(key, { state: "running" })),
        Effect.sync(() => rows.set(key, { state: "done", outcome }))
      )
    }),
    iterations: 5_000,
    concurrency: 1
  }
}

const onRedis = (url: string, scope: Scope.Scope) =>
  Effect.gen(function* () {
    const context = yield* Layer.buildWithScope(
      NodeRedis.layer({ url, disableOfflineQueue: true, socket: { reconnectStrategy: 500 } }),
      scope
    )
    const { send } = Context.get(context, Redis.Redis)
    const place: Place = {
      name: "Redis",
      layer: Layer.provide(IdempotencyStore.layerRedis(), Layer.succeedContext(context)),
      bare: Effect.suspend(() => {
        const key = newKey()
        return Effect.andThen(
          send("SET", key, `running 1 ${fingerprint} ${fingerprint}`, "NX", "PX", "86400000"),
          send("SET", key, `done 1 ${fingerprint} ${outcome}`, "XX", "PX", "86400000")
        )
      }),
      iterations: 5_000,
      concurrency: 50
    }
    return place
  })

const measure = async (place: Place, many: Many): Promise<ReadonlyArray<Row>> => {
  const scope = Scope.makeUnsafe()
  const rounds = many(15, 7)
  const iterations = many(place.iterations, place.iterations / 5)
  try {
    const layer = Layer.provide(place.layer, NodeCrypto.layerDigest)
    const context = await Effect.runPromise(Layer.buildWithScope(layer, scope))
    const once = Effect.provideContext(fresh, context)
    const again = Effect.provideContext(replay, context)
    await Effect.runPromise(again)
    const { bare, ours } = await takeTurns({
      ours: concurrently(once, place.concurrency),
      bare: concurrently(place.bare, place.concurrency)
    }, { rounds, iterations })
    const replays = many(1_000, 200)
    const slowest: Array<number> = []
    for (let round = 0; round < rounds; round++) {
      const samples: Array<number> = []
      for (let i = 0; i < replays; i++) {
        const start = performance.now()
        await Effect.runPromise(again)
        samples.push(performance.now() - start)
      }
      slowest.push(quantile(samples, 0.99))
    }
    const atOnce = place.concurrency === 1 ? "" : `, ${place.concurrency} at a time`
    return [
      compare(`once ÷ an insert and an update, ${place.name}${atOnce}`, "ns", ours, bare, speedAtLeast(0.5)),
      alone(`a replay, 99th percentile, ${place.name}`, "ms", slowest)
    ]
  } finally {
    await Effect.runPromise(Scope.close(scope, Exit.void))
  }
}

export const idempotency: Measurement = {
  title: "An operation run once, against a bare insert and update on the same store",
  async measure({ many }) {
    const directory = mkdtempSync(join(tmpdir(), "reprise-bench-"))
    const scope = Scope.makeUnsafe()
    const postgres = hasPostgres ? await startPostgres({ fsync: "on" }) : undefined
    const redis = hasRedis ? await startRedis() : undefined
    try {
      const sqlite = (name: string) => SqliteClient.layer({ filename: join(directory, name) })
      const places: ReadonlyArray<Place> = await Effect.runPromise(Effect.all([
        Effect.sync(inMemory),
        onSql("SQLite", sqlite("synced"), scope, { iterations: 500, concurrency: 1 }),
        onSql("SQLite with synchronous = NORMAL", Layer.fresh(sqlite("normal")), scope, {
          iterations: 2_000,
          concurrency: 1,
          before: "PRAGMA synchronous = NORMAL"
        }),
        ...(postgres === undefined ? [] : [
          onSql("PostgreSQL", PgClient.layer({ url: Redacted.make(postgres.url), maxConnections: 10 }), scope, {
            iterations: 1_000,
            concurrency: 10
          })
        ]),
        ...(redis === undefined ? [] : [onRedis(redis.url, scope)])
      ]))
      const rows: Array<Row> = []
      for (const place of places) rows.push(...await measure(place, many))
      return rows
    } finally {
      await Effect.runPromise(Scope.close(scope, Exit.void))
      await postgres?.stop()
      await redis?.stop()
      rmSync(directory, { recursive: true })
    }
  }
}
