// One of several servers at one SQLite file: `httpServer.ts FILE LOG`. It says its port, and notes in the log what it ran.
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { HttpIdempotency, IdempotencyStore } from "@reprise/idempotency"
import { SqliteClient } from "@reprise/sqlite"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServer from "effect/http/HttpServer"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import { appendFileSync } from "node:fs"
import { createServer } from "node:http"
import type { Socket } from "node:net"

const [file, log] = process.argv.slice(2) as [string, string]

let answered = 0

const charge = Effect.gen(function* () {
  const { headers, text } = yield* HttpServerRequest.HttpServerRequest
  const { length } = yield* text
  appendFileSync(log, "charge\n")
  yield* Effect.sleep(Number(headers["x-takes"] ?? 300))
  return HttpServerResponse.jsonUnsafe({ by: process.pid, length }, { status: 201 })
})

/** Loses the first answer of this process when it is asked to: after the handler, and before the client. */
const losing = HttpRouter.middleware((app) =>
  Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    const response = yield* app
    if (request.headers["x-lose"] === undefined || answered++ > 0) return response
    yield* Effect.sync(() => (request.source as { socket: { destroy(): void } }).socket.destroy())
    return yield* Effect.never
  })
)

const keyed = HttpIdempotency.router({ scope: Effect.succeed("live"), lease: "3 seconds", wait: "1 minute" })

const memory = HttpRouter.add(
  "GET",
  "/memory",
  Effect.sync(() => HttpServerResponse.jsonUnsafe(process.memoryUsage.rss()))
)

const sockets: Array<Socket> = []
const server = createServer().on("connection", (socket) => sockets.push(socket))

/** Of all connections, in bytes. */
const traffic = HttpRouter.add(
  "GET",
  "/read",
  Effect.sync(() => HttpServerResponse.jsonUnsafe(sockets.reduce((sum, { bytesRead }) => sum + bytesRead, 0)))
)

const store = Layer.provide(IdempotencyStore.layerSql(), SqliteClient.layer({ filename: file }))
const routes = Layer.mergeAll(
  memory,
  traffic,
  HttpRouter.add("POST", "/charges", charge).pipe(
    Layer.provide(keyed.combine(losing).layer),
    Layer.provide(store)
  )
)

const say = Layer.effectDiscard(HttpServer.addressFormattedWith((address) => Console.log(address)))

HttpRouter.serve(routes, { disableLogger: true, disableListenLog: true }).pipe(
  Layer.merge(say),
  Layer.provide(NodeHttpServer.layer(() => server, { host: "127.0.0.1", port: 0 })),
  Layer.launch,
  Effect.runFork
)
