/** The tables, brought up to date in one transaction, by one process at a time. */
import * as Effect from "effect/Effect"
import * as Migrator from "effect/sql/Migrator"
import type { SqlClient } from "effect/sql/SqlClient"
import * as Client from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"

// Milliseconds are more than what PostgreSQL has in an INTEGER; SQLite takes both words for the same.
const create = (sql: SqlClient, table: string) =>
  Effect.gen(function* () {
    // A record is found by its id alone: in SQLite it is then kept there, and not in a second tree.
    const clustered = sql.onDialectOrElse({ sqlite: () => "WITHOUT ROWID", orElse: () => "" })
    yield* sql.unsafe(
      `CREATE TABLE ${table} (
        id TEXT PRIMARY KEY NOT NULL,
        state TEXT NOT NULL,
        fence BIGINT NOT NULL,
        holder TEXT NOT NULL,
        fingerprint TEXT NOT NULL,
        lease_until BIGINT NOT NULL,
        expires_at BIGINT NOT NULL,
        sweep_at BIGINT NOT NULL,
        outcome TEXT
      ) ${clustered}`
    )
    // No record expires before. It changes only with a claim: the index costs no more.
    yield* sql.unsafe(`CREATE INDEX ${table}_sweep_at ON ${table} (sweep_at)`)
    yield* sql.unsafe(`CREATE TABLE ${table}_secret (id BIGINT PRIMARY KEY NOT NULL, secret TEXT NOT NULL)`)
  })

export const run = (
  sql: SqlClient,
  table: string
): Effect.Effect<unknown, SqlError | Migrator.MigrationError> =>
  Effect.provideService(
    Migrator.make({})({
      loader: Migrator.fromRecord({ "1_create": create(sql, table) }),
      table: `${table}_migrations`
    }),
    Client.SqlClient,
    sql
  )
