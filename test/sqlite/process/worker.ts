// One of several processes on one file: `worker.ts FILE count N` adds N to a counter, one at a time;
// `worker.ts FILE migrate` runs the migrations. What it did goes to standard output, as one line of JSON.
import { Policy, Retry } from "@reprise/core"
import { SqliteClient } from "@reprise/sqlite"
import * as Effect from "effect/Effect"
import * as Migrator from "effect/sql/Migrator"
import * as SqlClient from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"

export interface Counted {
  /** How often it found the file locked. */
  readonly locked: number
}

export interface Migrated {
  readonly ran: ReadonlyArray<number>
}

const [filename, task, times] = process.argv.slice(2)
if (filename === undefined) throw new Error("Name the file")

let locked = 0
const isLocked = (error: unknown): boolean => {
  const yes = (error as SqlError).reason?._tag === "LockTimeoutError"
  if (yes) locked++
  return yes
}
const policy = Policy.exponential("1 millis").pipe(
  Policy.capped("20 millis"),
  Policy.jittered,
  Policy.within("2 minutes"),
  Policy.whileInput(isLocked)
)

const count = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const increment = sql.withTransaction(Effect.gen(function* () {
    const [row] = yield* sql<{ n: number }>`SELECT n FROM counter`
    yield* sql`UPDATE counter SET n = ${row!.n + 1}`
  })).pipe(Retry.run(policy))
  for (let i = 0; i < Number(times); i++) yield* increment
  const counted: Counted = { locked }
  return counted
})

const migrate = Effect.gen(function* () {
  const run = Migrator.make({})({
    loader: Migrator.fromRecord({
      "1_create": Effect.flatMap(SqlClient.SqlClient, (sql) => Effect.asVoid(sql`CREATE TABLE t (id)`)),
      "2_fill": Effect.flatMap(SqlClient.SqlClient, (sql) => Effect.asVoid(sql`INSERT INTO t VALUES (1)`))
    })
  })
  const migrated: Migrated = { ran: (yield* run.pipe(Retry.run(policy))).map(([id]) => id) }
  return migrated
})

const program: Effect.Effect<object, unknown, SqlClient.SqlClient> = task === "count" ? count : migrate
const answer = await Effect.runPromise(Effect.provide(program, SqliteClient.layer({ filename })))
process.stdout.write(`${JSON.stringify(answer)}\n`)
