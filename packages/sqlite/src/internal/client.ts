/** Opens a database, and makes the client of it. */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type { Reactivity } from "effect/reactivity/Reactivity"
import * as Schedule from "effect/Schedule"
import type { Scope } from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import * as SqlClient from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import * as Statement from "effect/sql/Statement"
import { backup as copy, DatabaseSync } from "node:sqlite"
import type { SqliteClientConfig } from "../SqliteClient.ts"
import * as Connection from "./connection.ts"
import * as Failure from "./failure.ts"

const open = ({ disableWAL, filename, readonly }: SqliteClientConfig): DatabaseSync => {
  Failure.requireName(filename, "open")
  // No `timeout`: SQLite would wait for a lock by blocking this thread, and every other fiber with it.
  const database = new DatabaseSync(filename, { readOnly: readonly === true })
  try {
    // The one or the other reads the file: what is no database is found here.
    database.exec(readonly === true || disableWAL === true ? "PRAGMA schema_version" : "PRAGMA journal_mode = WAL")
    return database
  } catch (thrown) {
    database.close()
    throw thrown
  }
}

// The change to a write-ahead log wants the file for itself. Of two processes that open a new file at once, one finds it
// locked for a moment; so does who opens it while the last other process closes it.
// Five seconds in all.
const patience = { schedule: Schedule.spaced("10 millis"), times: 500 }

const acquire = (config: SqliteClientConfig): Effect.Effect<DatabaseSync, SqlError, Scope> =>
  Effect.acquireRelease(
    Effect.try({ try: () => open(config), catch: (thrown) => Failure.fileFailure(thrown, "open", config.filename) }),
    (database) => Effect.sync(() => database.close())
  ).pipe(Effect.retry({ while: ({ reason }) => reason._tag === "LockTimeoutError", ...patience }))

interface Made {
  readonly client: SqlClient.SqlClient
  readonly backup: (destination: string) => Effect.Effect<void, SqlError>
}

export const make = (config: SqliteClientConfig): Effect.Effect<Made, SqlError, Scope | Reactivity> =>
  Effect.gen(function* () {
    const database = yield* acquire(config)
    const isInside = (fiber: Fiber.Fiber<unknown, unknown>): boolean =>
      Context.getOrUndefined(fiber.context, client.transactionService) !== undefined
    const connection = Connection.make(database, {
      capacity: config.prepareCacheSize ?? 200,
      timeToLive: Duration.toMillis(config.prepareCacheTTL ?? "10 minutes"),
      safeIntegers: config.safeIntegers === true,
      isInside
    })
    const { acquirer, ...acquirers } = SqlClient.makeSqliteAcquirers({
      connection: Effect.succeed(connection),
      semaphore: Semaphore.makeUnsafe(1),
      isTransaction: () => database.isOpen && database.isTransaction
    })

    const client: SqlClient.SqlClient = yield* SqlClient.make({
      ...acquirers,
      acquirer,
      compiler: Statement.makeCompilerSqlite(config.transformQueryNames),
      driver: "sqlite-node",
      spanAttributes: [...Object.entries(config.spanAttributes ?? {}), ["db.system.name", "sqlite"]],
      prepareTransactionControls: true,
      // The write lock at once: a transaction that reads first and then writes would meet a change of another process
      // in the middle, where no waiting helps. On a read-only connection it is a plain BEGIN.
      beginTransaction: "BEGIN IMMEDIATE",
      releaseSavepoint: (name) => `RELEASE SAVEPOINT ${name}`,
      transformRows: config.transformResultNames && Statement.defaultTransforms(config.transformResultNames).array
    })

    const copied = (destination: string) =>
      Effect.uninterruptible(Effect.tryPromise({
        try: () => {
          Failure.requireName(destination, "backup")
          return copy(database, destination)
        },
        catch: (thrown) => Failure.fileFailure(thrown, "backup", destination)
      }))
    const backup = (destination: string): Effect.Effect<void, SqlError> =>
      Effect.withFiber((fiber) =>
        isInside(fiber)
          // It would wait for the end of the transaction that it is part of.
          ? Effect.fail(Failure.fileFailure(new TypeError("a transaction is open"), "backup", destination))
          : Effect.asVoid(Effect.scoped(Effect.andThen(acquirer, copied(destination))))
      )

    return { client, backup }
  })
