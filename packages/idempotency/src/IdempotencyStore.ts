/**
 * Where records are kept: who holds a key, until when, and what came of it.
 *
 * Three come with the package: {@link layerMemory} for one process, {@link layerSql} for SQLite and PostgreSQL, which
 * joins a transaction around it, and {@link layerRedis}. {@link make} is for one of your own.
 */
import type { NonEmptyReadonlyArray } from "effect/Array"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Redis } from "effect/persistence/Redis"
import type * as Redacted from "effect/Redacted"
import type { SqlClient } from "effect/sql/SqlClient"
import type { StoreFailed } from "./IdempotencyError.ts"
import * as stores from "./internal/store/make.ts"
import * as memory from "./internal/store/memory.ts"
import * as redis from "./internal/store/redis.ts"
import * as sql from "./internal/store/sql.ts"

// ---------------------------------------------------------------------------------------------------------------------
// What a store does
// ---------------------------------------------------------------------------------------------------------------------

/**
 * A claim: the record, its number, and the token of who made it. The number grows with each claim of a record for as long
 * as the record is kept, the token is no other claim's. A change is made only for who has both.
 *
 * @category models
 */
export interface Held {
  readonly id: string
  readonly fence: number
  readonly holder: string
}

/**
 * A wish to hold a record.
 *
 * @category models
 */
export interface Request {
  /** A hash of scope and key. */
  readonly id: string
  readonly holder: string
  /** A keyed hash of the payload. */
  readonly fingerprint: string
  /** In milliseconds, on the clock of the store. */
  readonly lease: number
  /** For how long the record is kept after its last change, in milliseconds; while it is held, after the lease. */
  readonly retention: number
}

/**
 * A record that is there.
 *
 * @category models
 */
export interface Found {
  readonly state: "running" | "doubt" | "done"
  readonly fingerprint: string
  readonly fence: number
  readonly holder: string
  /**
   * With `running`: milliseconds to the end of the lease, by the clock of the store; 0 or less where it has ended. Else 0.
   */
  readonly left: number
  /** With `done`: what came of it, as a text. */
  readonly outcome: string | undefined
}

/**
 * How a holder leaves a record.
 *
 * @category models
 */
export type Ending =
  | { readonly state: "done"; readonly outcome: string; readonly retention: number }
  | { readonly state: "doubt" | "free"; readonly retention: number }

/**
 * What a store has to do, each in one atomic step, and by its own clock alone. A step that is repeated, because its answer
 * was lost, must come to the same.
 *
 * @category models
 */
export interface Backing {
  /**
   * Holds a record that is not there, is free, or has passed its retention: gives its number. Otherwise gives what is
   * there, and changes nothing.
   */
  readonly claim: (request: Request) => Effect.Effect<number | Found, StoreFailed>
  /**
   * Holds a record that still has this number and is in doubt, or whose lease has ended, and gives its new number;
   * `undefined` where it is otherwise by now.
   */
  readonly retake: (request: Request, fence: number) => Effect.Effect<number | undefined, StoreFailed>
  /** A new lease from now; false for who does not hold the record, or has left it. */
  readonly renew: (held: Held, terms: Pick<Request, "lease" | "retention">) => Effect.Effect<boolean, StoreFailed>
  /** Leaves the record; false for who does not hold it. A lease that has ended is no hindrance, another holder is. */
  readonly finish: (held: Held, ending: Ending) => Effect.Effect<boolean, StoreFailed>
  /** What is there, unless it is free or has passed its retention. */
  readonly read: (id: string) => Effect.Effect<Found | undefined, StoreFailed>
  /** Removes at most so many records that have passed their retention, and says how many. */
  readonly sweep: (limit: number) => Effect.Effect<number, StoreFailed>
  /** Whether what is asked now is part of a transaction of the store's own. */
  readonly inTransaction: Effect.Effect<boolean>
  /**
   * Runs an effect inside such a transaction, undoes what it wrote there when it fails, and gives what it came to either
   * way. Not there for a store without transactions.
   */
  readonly savepoint?: (<A, R>(effect: Effect.Effect<A, A, R>) => Effect.Effect<A, StoreFailed, R>) | undefined
}

/**
 * A store, together with the secrets for fingerprints.
 *
 * @category models
 */
export interface IdempotencyStore extends Backing {
  /** The hash by which a record is known. */
  readonly identify: (scope: string, key: string) => Effect.Effect<string>
  /** The fingerprint of a payload under each secret, the current one first. */
  readonly fingerprints: (payload: Uint8Array) => Effect.Effect<NonEmptyReadonlyArray<string>>
  /** A token that no other claim has. */
  readonly holder: () => string
}

/**
 * The store.
 *
 * @category services
 */
export const IdempotencyStore: Context.Service<IdempotencyStore, IdempotencyStore> = /* @__PURE__ */ Context.Service<
  IdempotencyStore
>("@reprise/idempotency/IdempotencyStore")

/**
 * The secrets for fingerprints, the current one first; the others are those of records that are still kept, or of
 * processes that have changed theirs already. At least 16 bytes each, as UTF-8. Default: one that the store draws when it
 * is first used, and keeps beside the records; then who can read the whole store can guess at payloads, and who is given
 * a part of it cannot.
 *
 * @category models
 */
export type Secrets = Redacted.Redacted<string> | NonEmptyReadonlyArray<Redacted.Redacted<string>>

/**
 * A store of your own.
 *
 * @throws `InvalidPolicy` for a secret that is too short
 * @category constructors
 */
export const make = (backing: Backing, secret: Secrets): Effect.Effect<IdempotencyStore> =>
  stores.make(backing, stores.secretsOf(secret))

// ---------------------------------------------------------------------------------------------------------------------
// Layers
// ---------------------------------------------------------------------------------------------------------------------

/**
 * How records are kept in memory.
 *
 * @category models
 */
export interface MemoryOptions {
  /** The most records. At least 1. Default: 10,000. Where all are in use, a new key is refused with `StoreFailed`. */
  readonly capacity?: number | undefined
}

/**
 * Keeps records in the memory of this process, by its monotonic clock. They are lost with the process, so that what it
 * was at runs again: for tests, and for what is harmless.
 *
 * @throws `InvalidPolicy`
 * @category layers
 */
export const layerMemory = (options: MemoryOptions = {}): Layer.Layer<IdempotencyStore> =>
  Layer.effect(IdempotencyStore, memory.make(options))

/**
 * How a store that is another process, or a file, is used.
 *
 * @category models
 */
export interface SharedOptions {
  /** Default: drawn by the store. */
  readonly secret?: Secrets | undefined
  /**
   * The longest that one question to the store may take, with all its repetitions: for that long a caller may be kept
   * that wants to leave. At least 1 ms. Default: 5 seconds.
   */
  readonly timeout?: Duration.Input | undefined
}

/**
 * How records are kept in a database.
 *
 * @category models
 */
export interface SqlOptions extends SharedOptions {
  /** Names the tables. A lower-case SQL name. Default: `reprise_idempotency`. */
  readonly table?: string | undefined
}

/**
 * Keeps records in SQLite or PostgreSQL, by the clock of the database. Makes its tables, also where several processes
 * start at once, and brings old ones up to date.
 *
 * Inside `sql.withTransaction` of the same client it is part of that transaction: record and business writes are
 * committed together, or not at all.
 *
 * Errors: `StoreFailed` (`open`) where the tables cannot be made. Another dialect dies with `InvalidPolicy`.
 *
 * @throws `InvalidPolicy`
 * @category layers
 */
export const layerSql = (options: SqlOptions = {}): Layer.Layer<IdempotencyStore, StoreFailed, SqlClient> =>
  Layer.effect(IdempotencyStore, sql.make(options))

/**
 * How records are kept in Redis.
 *
 * @category models
 */
export interface RedisOptions extends SharedOptions {
  /** Every key begins with it. Default: `reprise:idempotency`. */
  readonly prefix?: string | undefined
}

/**
 * Keeps records in Redis, by the clock of the server; Redis removes them by itself. A record is as safe as Redis is set
 * up to keep it: a failover to a replica that has not seen a claim, or an eviction (`maxmemory-policy`), forgets it, so that
 * the operation may run again.
 *
 * Use a client that fails while it is not connected (`disableOfflineQueue: true`).
 *
 * Errors: `StoreFailed` (`open`) where the secret cannot be read.
 *
 * @throws `InvalidPolicy`
 * @category layers
 */
export const layerRedis = (options: RedisOptions = {}): Layer.Layer<IdempotencyStore, StoreFailed, Redis> =>
  Layer.effect(IdempotencyStore, redis.make(options))
