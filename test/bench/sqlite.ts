import { SqliteClient } from "@reprise/sqlite"
import { Array as Arr, Context, Effect, Exit, Layer, Scope, Semaphore, Stream } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient, type SqlConnection, Statement } from "effect/sql"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import type { Measurement } from "./Measurement.ts"
import { compare, speedAtLeast } from "./Row.ts"
import { type Side, takeTurns } from "./rounds.ts"

const batchSize = 1_000
const table = "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER NOT NULL, item TEXT NOT NULL)"
const rows = Arr.makeBy(batchSize, (index) => ({ customer: index, item: `item ${index}` }))

interface Both {
  readonly sql: SqliteClient.SqliteClient
  readonly direct: DatabaseSync
}

/** Each side has a database of its own, with the same settings. */
const open = async (scope: Scope.Scope, place: (side: string) => string, synchronous: string): Promise<Both> => {
  const layer = Layer.fresh(SqliteClient.layer({ filename: place("ours") }))
  const context = await Effect.runPromise(Scope.provide(Layer.build(layer), scope))
  const sql = Context.get(context, SqliteClient.SqliteClient)
  const direct = new DatabaseSync(place("direct"))
  direct.exec("PRAGMA journal_mode = WAL")
  for (const text of [`PRAGMA synchronous = ${synchronous}`, table]) {
    await Effect.runPromise(sql.unsafe(text))
    direct.exec(text)
  }
  return { sql, direct }
}

// What Effect's statement costs whatever the driver: it compiles the text, opens a span and takes the connection.
const empty: Effect.Effect<ReadonlyArray<never>> = Effect.succeed([])
const nothing: SqlConnection.Connection = {
  execute: () => empty,
  executeRaw: () => empty,
  executeStream: () => Stream.empty,
  executeValues: () => empty,
  executeValuesUnprepared: () => empty,
  executeUnprepared: () => empty
}
const doesNothing = SqlClient.make({
  ...SqlClient.makeSqliteAcquirers({ connection: Effect.succeed(nothing), semaphore: Semaphore.makeUnsafe(1) }),
  compiler: Statement.makeCompilerSqlite(),
  driver: "nothing",
  spanAttributes: [["db.system.name", "sqlite"]]
}).pipe(Effect.provide(Reactivity.layer))

const inFibre = (statement: (index: number) => Effect.Effect<unknown, unknown>): Side => async (iterations) => {
  let done = 0
  await Effect.runPromise(Effect.whileLoop({
    while: () => done < iterations,
    body: () => statement(done),
    step: () => void done++
  }))
  return done
}

const directly = (statement: (index: number) => void): Side => (iterations) => {
  let done = 0
  for (; done < iterations; done++) statement(done)
  return done
}

const single = ({ direct, sql }: Both) => {
  const insert = direct.prepare("INSERT INTO orders (customer, item) VALUES (?, ?)")
  return {
    ours: inFibre((index) => sql`INSERT INTO orders (customer, item) VALUES (${index}, ${"tea"})`),
    direct: directly((index) => insert.run(index, "tea"))
  }
}

/** The same in parts: our own code alone, and Effect's without ours. */
const parts = async ({ direct, sql }: Both) => {
  const insert = direct.prepare("INSERT INTO orders (customer, item) VALUES (?, ?)")
  const connection = await Effect.runPromise(Effect.scoped(sql.reserve))
  const floor = await Effect.runPromise(doesNothing)
  return {
    connection: inFibre((index) =>
      connection.execute("INSERT INTO orders (customer, item) VALUES (?, ?)", [index, "tea"], undefined)
    ),
    floor: inFibre((index) => floor`INSERT INTO orders (customer, item) VALUES (${index}, ${"tea"})`),
    direct: directly((index) => insert.run(index, "tea"))
  }
}

const readOne = ({ direct, sql }: Both) => {
  const select = direct.prepare("SELECT * FROM orders WHERE id = ?")
  return {
    ours: inFibre((index) => sql`SELECT * FROM orders WHERE id = ${index}`),
    direct: directly((index) => select.all(index))
  }
}

const readMany = ({ direct, sql }: Both) => {
  const select = direct.prepare("SELECT * FROM orders LIMIT 1000")
  return {
    ours: inFibre(() => sql`SELECT * FROM orders LIMIT 1000`),
    direct: directly(() => select.all())
  }
}

const batches = ({ direct, sql }: Both) => {
  const text = `INSERT INTO orders (customer, item) VALUES ${Array(batchSize).fill("(?,?)").join(",")}`
  const many = direct.prepare(text)
  const one = direct.prepare("INSERT INTO orders (customer, item) VALUES (?, ?)")
  return {
    statement: inFibre(() => sql`INSERT INTO orders ${sql.insert(rows)}`),
    statementDirect: directly(() => many.run(...rows.flatMap(({ customer, item }) => [customer, item]))),
    transaction: inFibre(() =>
      sql.withTransaction(
        Effect.forEach(rows, ({ customer, item }) =>
          sql`INSERT INTO orders (customer, item) VALUES (${customer}, ${item})`, { discard: true })
      )
    ),
    transactionDirect: directly(() => {
      direct.exec("BEGIN IMMEDIATE")
      for (const { customer, item } of rows) one.run(customer, item)
      direct.exec("COMMIT")
    })
  }
}

const half = speedAtLeast(0.5)
const fourFifths = speedAtLeast(0.8)

export const sqlite: Measurement = {
  title: "SQLite: the client against node:sqlite called directly",
  async measure({ many }) {
    const rounds = many(15, 7)
    const directory = mkdtempSync(join(tmpdir(), "reprise-bench-"))
    const scope = Scope.makeUnsafe()
    try {
      const synced = await open(scope, (side) => join(directory, `synced-${side}`), "FULL")
      const files = await open(scope, (side) => join(directory, side), "NORMAL")
      const memory = await open(scope, () => ":memory:", "FULL")
      const safest = await takeTurns(single(synced), { rounds, iterations: many(1_000, 200) })
      const one = await takeTurns(single(files), { rounds, iterations: many(10_000, 2_000) })
      const batched = await takeTurns(batches(files), { rounds, iterations: many(50, 50) })
      const all = { ours: batched.statement, direct: batched.statementDirect }
      const each = { ours: batched.transaction, direct: batched.transactionDirect }
      const inMemory = await takeTurns(single(memory), { rounds, iterations: many(20_000, 5_000) })
      const apart = await takeTurns(await parts(memory), { rounds, iterations: many(20_000, 5_000) })
      const read = await takeTurns(readOne(memory), { rounds, iterations: many(20_000, 5_000) })
      const thousand = await takeTurns(readMany(memory), { rounds, iterations: many(200, 50) })
      for (const { direct } of [synced, files, memory]) direct.close()
      return [
        compare("one insert ÷ direct, a file synced at every commit", "ns", safest.ours, safest.direct, half),
        compare("one insert ÷ direct, a file with synchronous = NORMAL", "ns", one.ours, one.direct, half),
        compare("one insert ÷ direct, in memory", "ns", inMemory.ours, inMemory.direct, half),
        compare("the same, our connection alone ÷ direct", "ns", apart.connection, apart.direct),
        compare("the same, Effect's statement over nothing ÷ direct", "ns", apart.floor, apart.direct),
        compare("1,000 rows in one INSERT ÷ direct", "ns", all.ours, all.direct, fourFifths),
        compare("1,000 INSERTs in one transaction ÷ direct", "ns", each.ours, each.direct, fourFifths),
        compare("1,000 rows: our one INSERT ÷ 1,000 INSERTs in one transaction, direct", "ns", all.ours, each.direct),
        compare("one row by its key ÷ direct, in memory", "ns", read.ours, read.direct),
        compare("1,000 rows ÷ direct, in memory", "ns", thousand.ours, thousand.direct)
      ]
    } finally {
      await Effect.runPromise(Scope.close(scope, Exit.void))
      rmSync(directory, { recursive: true })
    }
  }
}
