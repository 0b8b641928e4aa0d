// A request that is one transaction of the store's own database.
import * as NodeCrypto from "@effect/platform-node/NodeCrypto"
import { Transience } from "@reprise/core"
import { HttpIdempotency, IdempotencyStore } from "@reprise/idempotency"
import { SqlRetry } from "@reprise/sql"
import { SqliteClient } from "@reprise/sqlite"
import { Data, Effect, Layer } from "effect"
import { HttpEffect, HttpServerRequest, HttpServerRespondable, HttpServerResponse } from "effect/http"
import { SqlClient, SqlError } from "effect/sql"
import { describe, expect, it } from "vitest"
import * as memory from "./memory.ts"

type Outcome = (run: number) => Effect.Effect<HttpServerResponse.HttpServerResponse, unknown>
type Options = Partial<HttpIdempotency.Options<unknown, SqlClient.SqlClient>>

const transactional = (sql: SqlClient.SqlClient): Options => ({ transaction: sql.withTransaction })

/** A handler that writes, and then comes to what it is given. */
const start = (
  outcome: Outcome,
  options: (sql: SqlClient.SqlClient) => Options = transactional,
  around: (sql: SqlClient.SqlClient) => SqlClient.SqlClient["withTransaction"] = () => (effect) => effect
) => {
  let run = 0
  const app = Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql`CREATE TABLE IF NOT EXISTS charges (run INTEGER)`
    const handler = Effect.suspend(() => {
      const mine = ++run
      return Effect.andThen(sql`INSERT INTO charges ${sql.insert({ run: mine })}`, Effect.suspend(() => outcome(mine)))
    })
    const middleware = HttpIdempotency.middleware({ scope: Effect.succeed("a"), ...options(sql) })
    return yield* around(sql)(middleware(handler))
  })
  const written = Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const rows = yield* sql<{ run: number }>`SELECT run FROM charges`
    return HttpServerResponse.text(rows.map((row) => row.run).join())
  })
  const database = SqliteClient.layer({ filename: ":memory:" })
  const store = Layer.provideMerge(Layer.provide(IdempotencyStore.layerSql(), NodeCrypto.layerDigest), database)
  const router = Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ method }) => method === "GET" ? written : app)
  const { dispose, handler } = HttpEffect.toWebHandlerLayer(router, store)
  return {
    ask: async (body = "{}", signal?: AbortSignal) => {
      const headers = { "idempotency-key": "\"k\"" }
      const init = { method: "POST", headers, body, ...(signal && { signal }) }
      const response = await handler(new Request("http://pay.example/", init))
      return [response.status, response.headers.has("idempotent-replayed") ? "replayed" : "new"]
    },
    /** The runs whose writes are there. */
    written: async () => (await handler(new Request("http://pay.example/"))).text(),
    runs: () => run,
    [Symbol.asyncDispose]: dispose
  }
}

const busy = Transience.annotate(new Error("busy"), { transience: "transient", applied: "no" })
const ok = Effect.succeed(HttpServerResponse.empty({ status: 201 }))
const status = (code: number, headers = {}) => Effect.succeed(HttpServerResponse.empty({ status: code, headers }))

class Refused extends Data.TaggedError("Refused")<{ readonly status: number }> {
  [HttpServerRespondable.symbol]() {
    return Effect.succeed(HttpServerResponse.empty({ status: this.status }))
  }
}

const locked = new SqlError.SqlError({ reason: new SqlError.LockTimeoutError({ cause: new Error("busy") }) })

describe("with `transaction`", () => {
  it("a response and what its handler wrote are committed together", async () => {
    await using server = start(() => ok)
    expect(await server.ask()).toEqual([201, "new"])
    expect(await server.ask()).toEqual([201, "replayed"])
    expect([await server.written(), server.runs()]).toEqual(["1", 1])
  })

  it.each<readonly [string, Effect.Effect<HttpServerResponse.HttpServerResponse, unknown>, number]>([
    ["a response that says to come back", status(503, { "retry-after": "1" }), 503],
    ["a response that says nothing of what took effect", status(500), 500],
    ["a failure that applied nothing", Effect.fail(busy), 500],
    ["a failure that says nothing", Effect.fail("?"), 500],
    ["a failure that has a response of a passing kind", Effect.fail(new Refused({ status: 503 })), 503],
    ["a defect", Effect.die("?"), 500]
  ])("%s undoes what the handler wrote, leaves no doubt, and the next request runs", async (_, first, code) => {
    await using server = start((run) => run === 1 ? first : ok)
    expect(await server.ask()).toEqual([code, "new"])
    expect(await server.written()).toBe("")
    expect(await server.ask()).toEqual([201, "new"])
    expect(await server.ask()).toEqual([201, "replayed"])
    expect(await server.written()).toBe("2")
  })

  it("a failure whose response is an outcome is recorded with what the handler wrote", async () => {
    await using server = start(() => Effect.fail(new Refused({ status: 402 })))
    expect(await server.ask()).toEqual([402, "new"])
    expect(await server.ask()).toEqual([402, "replayed"])
    expect(await server.written()).toBe("1")
  })

  it("a client that hangs up does not undo it", async () => {
    const { promise: begun, resolve } = Promise.withResolvers<void>()
    await using server = start(() => Effect.andThen(Effect.sync(resolve), Effect.delay(ok, "30 millis")))
    const client = new AbortController()
    const first = server.ask("{}", client.signal)
    await begun
    client.abort()
    await first
    expect(await server.ask()).toEqual([201, "replayed"])
    expect(await server.written()).toBe("1")
  })

  it("a timeout of the handler's own still interrupts it", async () => {
    await using server = start(() => Effect.timeout(Effect.never, "10 millis"))
    expect(await server.ask()).toEqual([500, "new"])
    expect(await server.written()).toBe("")
  })

  it("a transaction that retries runs the handler again, and keeps the last run alone", async () => {
    await using server = start(
      (run) => run < 3 ? Effect.fail(locked) : ok,
      () => ({ transaction: SqlRetry.transaction() })
    )
    expect(await server.ask()).toEqual([201, "new"])
    expect([await server.written(), server.runs()]).toEqual(["3", 3])
    expect(await server.ask()).toEqual([201, "replayed"])
  })

  it("another request with the key is refused, and nothing is tried again for that", async () => {
    await using server = start(() => ok, () => ({ transaction: SqlRetry.transaction() }))
    await server.ask()
    expect(await server.ask("{\"other\":1}")).toEqual([422, "new"])
    expect(server.runs()).toBe(1)
  })

  it("a transaction that cannot be committed gives nobody a response of its handler", async () => {
    const failing = (sql: SqlClient.SqlClient, error: Error): Options => ({
      transaction: (request) => sql.withTransaction(Effect.andThen(request, Effect.fail(error)))
    })
    await using server = start(() => ok, (sql) => failing(sql, locked))
    expect(await server.ask()).toEqual([503, "new"])
    await using broken = start(() => ok, (sql) => failing(sql, new Error("a deferred constraint")))
    expect(await broken.ask()).toEqual([500, "new"])
    expect([await server.written(), await broken.written()]).toEqual(["", ""])
  })

  it("a store that is not in the transaction's database is a mistake that is named", async () => {
    const middleware = HttpIdempotency.middleware({ scope: Effect.succeed("a"), transaction: (effect) => effect })
    const app = Effect.catchDefect(middleware(ok), (defect) => Effect.succeed(HttpServerResponse.text(String(defect))))
    const web = HttpEffect.toWebHandlerLayer(app, memory.layer())
    const headers = { "idempotency-key": "\"k\"" }
    const response = await web.handler(new Request("http://pay.example/", { method: "POST", headers }))
    await web.dispose()
    expect(await response.text()).toContain("middleware.transaction must be of the client that the store was given")
  })
})

describe("within a transaction around the app", () => {
  const around = (sql: SqlClient.SqlClient) => sql.withTransaction

  it("a response and what its handler wrote are committed together", async () => {
    await using server = start(() => ok, () => ({}), around)
    expect(await server.ask()).toEqual([201, "new"])
    expect(await server.ask()).toEqual([201, "replayed"])
    expect(await server.written()).toBe("1")
  })

  it.each([status(503, { "retry-after": "1" }), status(500), Effect.fail("lost")])(
    "what is no outcome leaves nothing of what the handler wrote: case %#",
    async (first) => {
      await using server = start((run) => run === 1 ? first : ok, () => ({}), around)
      await server.ask()
      expect(await server.written()).toBe("")
      expect(await server.ask()).toEqual([201, "new"])
      expect(await server.written()).toBe("2")
    }
  )
})
