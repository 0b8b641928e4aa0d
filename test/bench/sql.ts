import { Retry } from "@reprise/core"
import { SqlRetry } from "@reprise/sql"
import { SqliteClient } from "@reprise/sqlite"
import { Context, Effect, Exit, Layer, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Measurement } from "./Measurement.ts"
import { atMost, compare } from "./Row.ts"
import { type Side, takeTurns } from "./rounds.ts"

const connect = (scope: Scope.Scope, filename: string): Promise<SqlClient.SqlClient> =>
  Effect.runPromise(Scope.provide(Layer.build(Layer.fresh(SqliteClient.layer({ filename }))), scope)).then(
    Context.get(SqlClient.SqlClient)
  )

/** Both under the same services, so that what is compared is the transaction alone. */
const again = (sql: SqlClient.SqlClient, self: Effect.Effect<unknown, unknown, SqlClient.SqlClient>): Side =>
async (
  iterations
) => {
  let done = 0
  await Effect.runPromise(Effect.provideService(
    Effect.whileLoop({ while: () => done < iterations, body: () => self, step: () => void done++ }),
    SqlClient.SqlClient,
    sql
  ))
  return done
}

const empty = (sql: SqlClient.SqlClient) => ({
  ours: again(sql, SqlRetry.transaction(Effect.void)),
  plain: again(sql, sql.withTransaction(Effect.void)),
  // What a run of core costs, whatever it runs.
  run: again(sql, Retry.run(sql.withTransaction(Effect.void), SqlRetry.policy))
})

const insert = (sql: SqlClient.SqlClient) => {
  const statement = sql`INSERT INTO orders (item) VALUES ('tea')`
  return {
    ours: again(sql, SqlRetry.transaction(statement)),
    plain: again(sql, sql.withTransaction(statement))
  }
}

const fivePercent = atMost(1.05)

export const sql: Measurement = {
  title: "SqlRetry.transaction, on SQLite, where nothing fails",
  async measure({ many }) {
    const rounds = many(31, 15)
    const directory = mkdtempSync(join(tmpdir(), "reprise-bench-"))
    const scope = Scope.makeUnsafe()
    try {
      const file = await connect(scope, join(directory, "data.sqlite"))
      const memory = await connect(scope, ":memory:")
      for (const client of [file, memory]) {
        await Effect.runPromise(client`CREATE TABLE orders (id INTEGER PRIMARY KEY, item TEXT NOT NULL)`)
      }
      const iterations = many(5_000, 2_000)
      const onFile = await takeTurns(empty(file), { rounds, iterations })
      const inMemory = await takeTurns(empty(memory), { rounds, iterations })
      const synced = await takeTurns(insert(file), { rounds, iterations: many(1_000, 200) })
      const inserted = await takeTurns(insert(memory), { rounds, iterations })
      return [
        compare("an empty transaction ÷ withTransaction, a file", "ns", onFile.ours, onFile.plain, fivePercent),
        compare("Retry.run alone ÷ withTransaction, a file", "ns", onFile.run, onFile.plain),
        compare("one insert ÷ withTransaction, a file", "ns", synced.ours, synced.plain),
        compare("an empty transaction ÷ withTransaction, in memory", "ns", inMemory.ours, inMemory.plain, fivePercent),
        compare("Retry.run alone ÷ withTransaction, in memory", "ns", inMemory.run, inMemory.plain),
        compare("one insert ÷ withTransaction, in memory", "ns", inserted.ours, inserted.plain)
      ]
    } finally {
      await Effect.runPromise(Scope.close(scope, Exit.void))
      rmSync(directory, { recursive: true })
    }
  }
}
