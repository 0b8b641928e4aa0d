// The middleware in a server of Node's, asked over sockets.
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { HttpIdempotency } from "@reprise/idempotency"
import { Effect, Exit, Layer, Scope, Stream } from "effect"
import { HttpServer, HttpServerRequest, HttpServerResponse } from "effect/http"
import { once } from "node:events"
import { createServer } from "node:http"
import { type AddressInfo, connect } from "node:net"
import { Readable } from "node:stream"
import { setTimeout } from "node:timers/promises"
import { afterEach, describe, expect, it } from "vitest"
import { type Handler, scope } from "../httpServer.ts"
import * as memory from "../memory.ts"

let running: Scope.Closeable | undefined
const stop = async () => {
  if (running !== undefined) await Effect.runPromise(Scope.close(running, Exit.void))
  running = undefined
}
afterEach(stop)

type Options = Partial<HttpIdempotency.Options>

/** Starts a server, and gives its port. What goes first sees each request before the middleware does. */
const start = async (
  handler: Handler,
  options: Options = {},
  first: Effect.Effect<unknown, never, HttpServerRequest.HttpServerRequest> = Effect.void
): Promise<number> => {
  const node = createServer()
  const app = HttpIdempotency.middleware({ scope, ...options })(handler)
  const listening = { host: "127.0.0.1", port: 0, gracefulShutdownTimeout: "50 millis" } as const
  const live = HttpServer.serve(Effect.andThen(first, app)).pipe(
    Layer.provide(NodeHttpServer.layer(() => node, listening)),
    Layer.provide(memory.layer())
  )
  running = Scope.makeUnsafe()
  await Effect.runPromise(Layer.buildWithScope(live, running))
  // It listens at a port.
  return (node.address() as AddressInfo).port
}

const ask = async (port: number, key = "a", init: RequestInit = {}) => {
  const response = await fetch(`http://127.0.0.1:${port}/`, {
    method: "POST",
    body: "0123456789",
    ...init,
    headers: { "idempotency-key": `"${key}"` }
  })
  return {
    status: response.status,
    text: await response.text(),
    replayed: response.headers.has(HttpIdempotency.replayedHeader)
  }
}

/** Sends these lines and a body, and gives the status and whether it was a replay. */
const send = async (port: number, ...lines: ReadonlyArray<string>) => {
  const socket = connect(port, "127.0.0.1")
  socket.write([...lines, "connection: close", "content-length: 2", "", "ab"].join("\r\n"))
  let said = ""
  for await (const data of socket) said += String(data)
  return `${/ (\d+)/.exec(said)?.[1]} ${said.includes(HttpIdempotency.replayedHeader) ? "replayed" : "new"}`
}

describe("one request in several forms", () => {
  it.each([
    ["with its origin", "POST http://pay.example/p?q=1 HTTP/1.1", "host: other.example"],
    ["for another host", "POST /p?q=1 HTTP/1.1", "host: other.example"],
    ["of HTTP/1.0", "POST /p?q=1 HTTP/1.0", "x-a: b"]
  ])("is the same: %s", async (_, target, host) => {
    const port = await start(Effect.succeed(HttpServerResponse.text("a")))
    expect(await send(port, "POST /p?q=1 HTTP/1.1", "host: a", "idempotency-key: \"k\"")).toBe("200 new")
    expect(await send(port, target, host, "idempotency-key: \"k\"")).toBe("200 replayed")
  })

  it.each(["//p?q=1", "/p/?q=1", "/P?q=1", "/%70?q=1", "/x/../p?q=1", "/p?q=%31", "/p", "/p?q=1&q=1"])(
    "is another: %s",
    async (target) => {
      const port = await start(Effect.succeed(HttpServerResponse.text("a")))
      expect(await send(port, "POST /p?q=1 HTTP/1.1", "host: a", "idempotency-key: \"k\"")).toBe("200 new")
      expect(await send(port, `POST ${target} HTTP/1.1`, "host: a", "idempotency-key: \"k\"")).toBe("422 new")
    }
  )

  it("has one key: the header twice is malformed", async () => {
    const port = await start(Effect.succeed(HttpServerResponse.text("a")), { unquotedKeys: true })
    for (const key of ["k", "\"k\""]) {
      const line = `idempotency-key: ${key}`
      expect(await send(port, "POST / HTTP/1.1", "host: a", line, line)).toBe("400 new")
    }
  })
})

describe("a body that was read before the middleware", () => {
  const echo = Effect.flatMap(
    HttpServerRequest.HttpServerRequest,
    ({ text }) => Effect.map(text, (text) => HttpServerResponse.text(text))
  )
  const reading = (read: (request: HttpServerRequest.HttpServerRequest) => Effect.Effect<unknown, unknown>) =>
    Effect.ignore(Effect.flatMap(HttpServerRequest.HttpServerRequest, read))

  it("is compared where it was kept, as a text is", async () => {
    const port = await start(echo, {}, reading(({ text }) => text))
    expect(await ask(port)).toMatchObject({ status: 200, text: "0123456789" })
    expect((await ask(port, "a", { body: "other" })).status).toBe(422)
  })

  it("and is gone, as a stream is, is not taken for an empty one", async () => {
    const port = await start(echo, {}, reading(({ stream }) => Stream.runDrain(stream)))
    expect((await ask(port)).status).toBe(500)
    expect((await ask(port, "a", { body: "" })).status).toBe(200)
  })
})

describe("a stream of Node's without an end", () => {
  it("is given to the first caller as it comes, and closed when that has gone", async () => {
    const endless = new Readable({ read: () => setImmediate(() => endless.push(Buffer.alloc(1000))) })
    const port = await start(Effect.sync(() => HttpServerResponse.raw(endless)), { maxResponseBytes: 10_000 })
    const client = new AbortController()
    const { body } = await fetch(`http://127.0.0.1:${port}/`, {
      method: "POST",
      headers: { "idempotency-key": "\"a\"" },
      signal: client.signal
    })
    const reader = body!.getReader()
    let read = 0
    while (read < 50_000) read += (await reader.read()).value?.length ?? 0
    const closed = new Promise((resolve) => endless.on("close", resolve))
    client.abort()
    await closed
    expect((await ask(port)).status).toBe(422)
  })
})

describe("clients that break off at any moment", () => {
  it.each(["finish", "interrupt"] as const)("run nothing twice, with onDisconnect %s", async (onDisconnect) => {
    const runs = new Map<string, { begun: number; ended: number }>()
    const handler = Effect.gen(function* () {
      const { headers, text } = yield* HttpServerRequest.HttpServerRequest
      const mine = runs.get(headers["idempotency-key"]!) ?? { begun: 0, ended: 0 }
      runs.set(headers["idempotency-key"]!, mine)
      yield* Effect.acquireRelease(Effect.sync(() => mine.begun++), () => Effect.sync(() => mine.ended++))
      yield* Effect.sleep("15 millis")
      const parts = Stream.fromIterable([yield* text, "!"]).pipe(Stream.tap(() => Effect.sleep("3 millis")))
      return HttpServerResponse.stream(Stream.encodeText(parts))
    })
    const port = await start(handler, { onDisconnect, wait: "5 seconds" })
    const half = (key: string) =>
      ["POST / HTTP/1.1", "host: a", `idempotency-key: "${key}"`, "content-length: 10", "", "01234"].join("\r\n")
    const answers = await Promise.all(
      Array.from({ length: 100 }, async (_, i) => {
        for (const moment of [i % 3, i % 20, i / 3, i / 2]) {
          const socket = connect(port, "127.0.0.1").on("error", () => {})
          await once(socket, "connect")
          socket.write(half(`${i}`))
          await setTimeout(moment / 2)
          socket.write("56789")
          await setTimeout(moment / 2)
          socket.resetAndDestroy()
        }
        return ask(port, `${i}`)
      })
    )
    await stop()
    expect([...runs.values()].filter(({ begun, ended }) => begun !== 1 || ended !== 1)).toEqual([])
    const outcomes = new Set(answers.map(({ status, text }) => status === 200 ? text : JSON.parse(text).code))
    outcomes.delete("0123456789!")
    expect([...outcomes]).toEqual(onDisconnect === "finish" ? [] : ["idempotency_in_doubt"])
  })
})

describe("a server that is stopped", () => {
  it("answers whom it has begun with, and lets go who waits", async () => {
    const handler = Effect.delay(Effect.succeed(HttpServerResponse.text("done")), "500 millis")
    const port = await start(handler, { wait: "1 minute" })
    const first = ask(port)
    await setTimeout(100)
    const second = ask(port)
    await setTimeout(100)
    const stopped = stop()
    expect((await second).status).toBe(503)
    expect(await first).toMatchObject({ status: 200, text: "done" })
    await stopped
  })
})
