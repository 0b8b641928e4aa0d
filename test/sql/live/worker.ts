// One of several processes on one file of SQLite: `worker.ts FILE N` adds N to a counter, one at a time. What it did goes
// to standard output, as one line of JSON.
import { Policy } from "@reprise/core"
import { SqlRetry } from "@reprise/sql"
import { SqliteClient } from "@reprise/sqlite"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"

const [filename, times] = process.argv.slice(2)
if (filename === undefined) throw new Error("Name the file")

export interface Counted {
  readonly retries: number
}

let retries = 0
const policy = Policy.exponential("1 millis").pipe(
  Policy.capped("20 millis"),
  Policy.jittered,
  Policy.within("2 minutes")
)
const increment = Effect.gen(function* () {
  const sql = yield* SqlClient
  const [row] = yield* sql<{ n: number }>`SELECT n FROM counter`
  yield* sql`UPDATE counter SET n = ${row!.n + 1}`
}).pipe(SqlRetry.transaction(policy, { onRetry: () => Effect.sync(() => void retries++) }))

const program = Effect.replicateEffect(increment, Number(times), { discard: true })
await Effect.runPromise(Effect.provide(program, SqliteClient.layer({ filename })))
const counted: Counted = { retries }
process.stdout.write(`${JSON.stringify(counted)}\n`)
