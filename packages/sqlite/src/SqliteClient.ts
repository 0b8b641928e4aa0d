/**
 * A `SqlClient` over the SQLite that is built into Node.js.
 *
 * ```ts
 * import { SqliteClient } from "@reprise/sqlite"
 * import { Effect } from "effect"
 * import { SqlClient } from "effect/sql"
 *
 * const program = Effect.gen(function* () {
 *   const sql = yield* SqlClient.SqlClient
 *   yield* sql`CREATE TABLE orders (id INTEGER PRIMARY KEY, item TEXT NOT NULL)`
 *   yield* sql`INSERT INTO orders ${sql.insert([{ item: "tea" }, { item: "cups" }])}`
 *   return yield* sql<{ item: string }>`SELECT item FROM orders ORDER BY id`
 * })
 *
 * const rows = await Effect.runPromise(Effect.provide(program, SqliteClient.layer({ filename: ":memory:" })))
 * console.log(rows.map((row) => row.item)) // => [ 'tea', 'cups' ]
 * ```
 */
import * as Config from "effect/Config"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Reactivity from "effect/reactivity/Reactivity"
import type { Scope } from "effect/Scope"
import * as SqlClient from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import * as internal from "./internal/client.ts"

/**
 * Marks a {@link SqliteClient}.
 *
 * @category models
 */
export type TypeId = "~@reprise/sqlite/SqliteClient"

/**
 * Marks a {@link SqliteClient}.
 *
 * @category models
 */
export const TypeId: TypeId = "~@reprise/sqlite/SqliteClient"

/**
 * Effect's `SqlClient` on one connection to SQLite, with what only SQLite can do.
 *
 * @category models
 */
export interface SqliteClient extends SqlClient.SqlClient {
  readonly [TypeId]: TypeId
  readonly config: SqliteClientConfig

  /**
   * Copies the whole database into a file, while other processes go on working with it. Use it in place of copying the
   * file, which misses what is still in the write-ahead log.
   *
   * What the destination held is lost. Other statements of this client wait until the copy is complete; it cannot be
   * interrupted. It fails with a `SqlError` where it cannot write, `LockTimeoutError` where the destination is locked, and
   * inside a transaction of this client.
   */
  readonly backup: (destination: string) => Effect.Effect<void, SqlError>

  /** SQLite has no such statement in Effect's compiler. */
  readonly updateValues: never
}

/**
 * The service of a {@link SqliteClient}. {@link layer} provides it, and the same client as Effect's `SqlClient`, which
 * is the one to ask for unless the program needs what only SQLite has.
 *
 * @category services
 */
export const SqliteClient: Context.Service<SqliteClient, SqliteClient> = /* @__PURE__ */ Context.Service<SqliteClient>(
  "@reprise/sqlite/SqliteClient"
)

/**
 * Where the database is and how it is used.
 *
 * @category models
 */
export interface SqliteClientConfig {
  /** The path of the file, made if it does not exist; `:memory:` for a database that ends with the client. */
  readonly filename: string
  /** Refuses every write; the file must exist. Default: `false`. */
  readonly readonly?: boolean | undefined
  /** How many prepared statements are kept, the last used first; 0 keeps none. Default: 200. */
  readonly prepareCacheSize?: number | undefined
  /** For how long a prepared statement is kept that is not used. Default: 10 minutes. */
  readonly prepareCacheTTL?: Duration.Input | undefined
  /** Leaves the journal as it is, without write-ahead log: readers and the writer then exclude each other. Default: `false`. */
  readonly disableWAL?: boolean | undefined
  /**
   * Gives every integer as a `bigint`, as `SqlClient.SafeIntegers` does for a part of a program. Default: `false`, a
   * `number` up to 2^53 - 1 and a `bigint` beyond, so that none is rounded.
   */
  readonly safeIntegers?: boolean | undefined
  /** Attributes of every span, beside `db.system.name`. */
  readonly spanAttributes?: Readonly<Record<string, unknown>> | undefined
  /** Names of columns on their way out, as `String.snakeToCamel`. */
  readonly transformResultNames?: ((name: string) => string) | undefined
  /** Names on their way in, as `String.camelToSnake`. */
  readonly transformQueryNames?: ((name: string) => string) | undefined
}

/**
 * Opens the database for as long as the scope is open. Use it where a layer is in the way.
 *
 * It fails with a `SqlError` that names the file: `ConnectionError` for one that cannot be opened or made,
 * `AuthorizationError` for one that may not be written where it must, `UnknownError` for one that is no database and for
 * a name that is empty. While another process holds the lock that opening wants, it asks again every 10 milliseconds, without
 * blocking, and after 5 seconds fails with `LockTimeoutError`. Statements that are still being read when the scope
 * closes fail; a transaction that is still open is rolled back.
 *
 * @category constructors
 */
export const make = (
  config: SqliteClientConfig
): Effect.Effect<SqliteClient, SqlError, Scope | Reactivity.Reactivity> =>
  Effect.map(internal.make(config), ({ backup, client }) =>
    // `updateValues` is there and does nothing of use: that it is `never` keeps it from being called.
    Object.assign(client as SqliteClient, { [TypeId]: TypeId, config, backup }))

const services = (client: SqliteClient): Context.Context<SqliteClient | SqlClient.SqlClient> =>
  Context.make(SqliteClient, client).pipe(Context.add(SqlClient.SqlClient, client))

/**
 * A client as a layer, both as {@link SqliteClient} and as Effect's `SqlClient`. It fails as {@link make} does.
 *
 * @category layers
 */
export const layer = (
  config: SqliteClientConfig
): Layer.Layer<SqliteClient | SqlClient.SqlClient, SqlError> =>
  Layer.effectContext(Effect.map(make(config), services)).pipe(Layer.provide(Reactivity.layer))

/**
 * {@link layer} with a `Config` for the whole or for each field, read when the layer is built.
 *
 * ```ts
 * import { SqliteClient } from "@reprise/sqlite"
 * import { Config, ConfigProvider, Effect, Layer } from "effect"
 *
 * const live = SqliteClient.layerConfig({ filename: Config.String("DATABASE") })
 * const environment = ConfigProvider.layer(ConfigProvider.fromUnknown({ DATABASE: ":memory:" }))
 *
 * const filename = Effect.map(SqliteClient.SqliteClient, (client) => client.config.filename)
 * const program = Effect.provide(filename, Layer.provide(live, environment))
 * console.log(await Effect.runPromise(program)) // => :memory:
 * ```
 *
 * @category layers
 */
export const layerConfig = (
  config: Config.Wrap<SqliteClientConfig>
): Layer.Layer<SqliteClient | SqlClient.SqlClient, Config.ConfigError | SqlError> =>
  Layer.effectContext(Config.unwrap(config).pipe(Effect.flatMap(make), Effect.map(services))).pipe(
    Layer.provide(Reactivity.layer)
  )
