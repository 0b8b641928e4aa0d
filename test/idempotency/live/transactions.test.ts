// Records in transactions of the store's own database, on real ones.
import { HttpIdempotency, Idempotency } from "@reprise/idempotency"
import { SqlRetry } from "@reprise/sql"
import * as Effect from "effect/Effect"
import * as HttpEffect from "effect/http/HttpEffect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Schema from "effect/Schema"
import * as SqlClient from "effect/sql/SqlClient"
import { describe, expect, it } from "vitest"
import { kinds, servers } from "./servers.ts"
import { inStore, layerOf } from "./stores.ts"

const { place } = servers()

const setUp = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`DROP TABLE IF EXISTS accounts`
  yield* sql`CREATE TABLE accounts (name TEXT PRIMARY KEY, amount INTEGER NOT NULL)`
  yield* sql`INSERT INTO accounts ${sql.insert([{ name: "ada", amount: 0 }, { name: "grace", amount: 0 }])}`
})

const amounts = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ amount: number }>`SELECT amount FROM accounts ORDER BY name`
  return rows.map(({ amount }) => Number(amount))
})

const databases = kinds.filter(([kind]) => kind !== "redis")

describe.each(databases)("%s", (kind, isThere) => {
  it.skipIf(!isThere)("a statement that fails under a key spoils nothing else of the transaction", async () => {
    const found = await inStore(
      place(kind),
      Effect.gen(function* () {
        yield* setUp
        const sql = yield* SqlClient.SqlClient
        const options = { key: "k", scope: "s", payload: 1, success: Schema.Unknown }
        const add = sql`UPDATE accounts SET amount = amount + 1`
        const failing = Idempotency.once(options, Effect.andThen(add, sql`INSERT INTO accounts VALUES ('ada', 7)`))
        yield* sql.withTransaction(Effect.andThen(Effect.flip(failing), add))
        return yield* amounts
      })
    )
    expect(found).toEqual([1, 1])
  })

  it.skipIf(!isThere)("50 requests with 10 keys that are all in each other's way are each handled once", async () => {
    const there = place(kind)
    await inStore(there, setUp)
    const handler = Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      // Each reads both and writes one: under serializable isolation, one of two at a time has to be tried again.
      const [ada] = yield* sql<{ amount: number }>`SELECT amount FROM accounts WHERE name = 'ada'`
      yield* sql`UPDATE accounts SET amount = ${Number(ada?.amount) + 1} WHERE name = 'ada'`
      yield* sql`UPDATE accounts SET amount = amount + 1 WHERE name = 'grace'`
      return HttpServerResponse.text("done")
    })
    const transaction = SqlRetry.transaction(undefined, { isolation: "serializable" })
    const app = HttpIdempotency.middleware({ scope: Effect.succeed("s"), transaction })(handler)
    const web = HttpEffect.toWebHandlerLayer(app, layerOf(there))
    const statuses = await Promise.all(
      Array.from({ length: 50 }, async (_, i) => {
        const headers = { "idempotency-key": `"key-${i % 10}"` }
        return (await web.handler(new Request("http://bank.example/", { method: "POST", headers }))).status
      })
    )
    await web.dispose()
    expect(new Set(statuses)).toEqual(new Set([200]))
    expect(await inStore(there, amounts)).toEqual([10, 10])
  })
})
