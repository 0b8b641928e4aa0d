/** Clients on a real PostgreSQL, each test file in a schema of its own. */
import { PgClient } from "@effect/sql-pg"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { randomUUID } from "node:crypto"
import type { PostgresServer } from "../postgres.ts"

export interface Database {
  /** Runs a program with a client of its own. */
  readonly run: <A>(
    program: Effect.Effect<A, unknown, SqlClient>,
    options?: Omit<PgClient.PgPoolConfig, "startupParameters">
  ) => Promise<A>
  /** Ends a session of the server's, as an operator does. */
  readonly terminate: (pid: number) => Effect.Effect<void>
  readonly drop: () => Promise<void>
}

export const pid: Effect.Effect<number, SqlError, SqlClient> = Effect.flatMap(
  SqlClient,
  (sql) => Effect.map(sql<{ pid: number }>`SELECT pg_backend_pid() AS pid`, (rows) => rows[0]!.pid)
)

export const openDatabase = async (server: PostgresServer): Promise<Database> => {
  const schema = `reprise_${randomUUID().replaceAll("-", "")}`
  const run: Database["run"] = (program, options) =>
    Effect.runPromise(Effect.provide(
      program,
      PgClient.layer({ url: Redacted.make(server.url), startupParameters: { search_path: schema }, ...options })
    ))
  const statement = (text: string) => run(Effect.flatMap(SqlClient, (sql) => Effect.asVoid(sql.unsafe(text))))
  await statement(`CREATE SCHEMA ${schema}`)
  return {
    run,
    terminate: (pid) => Effect.promise(() => statement(`SELECT pg_terminate_backend(${pid})`)),
    drop: () => statement(`DROP SCHEMA ${schema} CASCADE`)
  }
}
