/** Stores that several processes share. */
import * as NodeRedis from "@effect/platform-node/NodeRedis"
import * as PgClient from "@effect/sql-pg/PgClient"
import * as IdempotencyStore from "@reprise/idempotency/IdempotencyStore"
import * as SqliteClient from "@reprise/sqlite/SqliteClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as SqlClient from "effect/sql/SqlClient"

export type Kind = "sqlite" | "postgres" | "redis"

/** Where a store is, and the name of its tables, or the prefix of its keys. */
export interface Place {
  readonly kind: Kind
  readonly at: string
  readonly name: string
}

export type Store = IdempotencyStore.IdempotencyStore

const databases = {
  sqlite: (at: string) => SqliteClient.layer({ filename: at }),
  postgres: (at: string) => PgClient.layer({ url: Redacted.make(at), maxConnections: 8 })
}

/** Of Redis there is none: nothing here asks for it. */
const noDatabase = Layer.succeed(SqlClient.SqlClient, {} as SqlClient.SqlClient)

/** The store, and the database that it is in. */
export const layerOf = ({ at, kind, name }: Place): Layer.Layer<Store | SqlClient.SqlClient, unknown> => {
  if (kind === "redis") {
    return Layer.merge(
      Layer.provide(
        IdempotencyStore.layerRedis({ prefix: name }),
        NodeRedis.layer({ url: at, disableOfflineQueue: true, socket: { reconnectStrategy: 100 } })
      ),
      noDatabase
    )
  }
  return Layer.provideMerge(IdempotencyStore.layerSql({ table: name }), databases[kind](at))
}

export const inStore = <A, E>(
  place: Place,
  program: Effect.Effect<A, E, Store | SqlClient.SqlClient>
): Promise<A> => Effect.runPromise(Effect.provide(program, layerOf(place)))
