import * as NodeCrypto from "@effect/platform-node/NodeCrypto"
import { HttpIdempotency, IdempotencyStore } from "@reprise/idempotency"
import { SqliteClient } from "@reprise/sqlite"
import { Effect, Layer } from "effect"
import { HttpEffect, HttpServerResponse } from "effect/http"
import { SqlClient } from "effect/sql"
import { expect, it } from "vitest"

const database = SqliteClient.layer({ filename: ":memory:" })
const live = Layer.provideMerge(Layer.provide(IdempotencyStore.layerSql(), NodeCrypto.layerDigest), database)

/** A handler in a transaction, which writes and then comes to what it is given. */
const start = (outcome: (run: number) => Effect.Effect<HttpServerResponse.HttpServerResponse, unknown>) => {
  let run = 0
  const app = Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql`CREATE TABLE IF NOT EXISTS charges (run INTEGER)`
    const handler = Effect.andThen(
      sql`INSERT INTO charges ${sql.insert({ run: ++run })}`,
      Effect.suspend(() => outcome(run))
    )
    const response = yield* Effect.exit(
      sql.withTransaction(
        HttpIdempotency.middleware({ scope: Effect.succeed("a"), onDisconnect: "interrupt" })(handler)
      )
    )
    const rows = yield* sql<{ run: number }>`SELECT run FROM charges`
    return HttpServerResponse.setHeader(
      response._tag === "Success" ? response.value : HttpServerResponse.empty({ status: 500 }),
      "x-rows",
      rows.map((row) => row.run).join()
    )
  })
  const { dispose, handler } = HttpEffect.toWebHandlerLayer(app, live)
  return {
    ask: async (init: RequestInit = {}) => {
      const headers = { "idempotency-key": "\"k\"" }
      const response = await handler(new Request("http://pay.example/", { ...init, method: "POST", headers }))
      return [response.status, response.headers.get("x-rows"), response.headers.has("idempotent-replayed")]
    },
    [Symbol.asyncDispose]: dispose
  }
}

it("inside a transaction, a response and what its handler wrote are committed together", async () => {
  await using server = start(() => Effect.succeed(HttpServerResponse.empty({ status: 201 })))
  expect(await server.ask()).toEqual([201, "1", false])
  expect(await server.ask()).toEqual([201, "1", true])
})

it("inside a transaction, a failure undoes both, and the next request runs", async () => {
  await using server = start((run) =>
    run === 1 ? Effect.fail("lost") : Effect.succeed(HttpServerResponse.empty({ status: 201 }))
  )
  expect(await server.ask()).toEqual([500, "", false])
  expect(await server.ask()).toEqual([201, "2", false])
  expect(await server.ask()).toEqual([201, "2", true])
})

it("inside a transaction, a client that leaves undoes both, and its next request runs", async () => {
  const client = new AbortController()
  await using server = start((run) => {
    if (run > 1) return Effect.succeed(HttpServerResponse.empty({ status: 201 }))
    client.abort()
    return Effect.never
  })
  expect(await server.ask({ signal: client.signal })).toEqual([500, "", false])
  expect(await server.ask()).toEqual([201, "2", false])
  expect(await server.ask()).toEqual([201, "2", true])
})
