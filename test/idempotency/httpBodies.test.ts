import { Idempotency } from "@reprise/idempotency"
import { Effect, Stream } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { Readable } from "node:stream"
import { describe, expect, it } from "vitest"
import { start } from "./httpServer.ts"

const bytes = (text: string) => new TextEncoder().encode(text)

describe("a web response inside another", () => {
  const web = (status: number) => {
    const response = new Response("declined", {
      status,
      headers: { location: "/1", "x-own": "1", "set-cookie": "a=b" }
    })
    return HttpServerResponse.raw(response, { headers: { "x-outer": "2" } })
  }

  it("is recorded with the status and the headers that it has itself", async () => {
    await using server = start(Effect.sync(() => web(402)))
    const first = await server.ask()
    const again = await server.ask()
    expect([first.status, first.text, first.replayed]).toEqual([402, "declined", false])
    expect([again.status, again.text, again.replayed]).toEqual([402, "declined", true])
    for (const name of ["location", "content-type"]) expect(again.headers.get(name)).toBe(first.headers.get(name))
    expect(["x-own", "x-outer"].map((name) => first.headers.get(name))).toEqual(["1", "2"])
    expect(first.headers.getSetCookie()).toEqual(["a=b"])
    expect(again.headers.getSetCookie()).toEqual([])
  })

  it.each<[string, Effect.Effect<HttpServerResponse.HttpServerResponse, HttpServerResponse.HttpServerResponse>]>([
    ["a success", Effect.sync(() => web(503))],
    ["a failure", Effect.suspend(() => Effect.fail(web(503)))]
  ])("is judged by the status that it has itself, as %s", async (_, handler) => {
    await using server = start(handler)
    expect((await server.ask()).status).toBe(503)
    expect((await server.ask()).code).toBe("idempotency_in_doubt")
  })

  it("is recorded so where the outside world gives it", async () => {
    const reconcile = Effect.sync(() => Idempotency.succeeded(web(402)))
    await using server = start(Effect.die("lost"), { reconcile })
    await server.ask()
    for (const _ of [1, 2]) expect((await server.ask()).status).toBe(402)
  })
})

describe("a body of a response", () => {
  it.each<[string, () => unknown, string]>([
    ["a text", () => "a,b", "text/plain;charset=UTF-8"],
    ["a blob", () => new Blob(["a,b"], { type: "text/csv" }), "text/csv"]
  ])("that is %s keeps its type", async (_, body, type) => {
    await using server = start(Effect.sync(() => HttpServerResponse.raw(body())))
    for (const replayed of [false, true]) {
      const answer = await server.ask()
      expect([answer.text, answer.headers.get("content-type"), answer.replayed]).toEqual(["a,b", type, replayed])
    }
  })

  it("that is a stream of Node's is recorded", async () => {
    await using server = start(Effect.sync(() => HttpServerResponse.raw(Readable.from([bytes("a,"), bytes("b")]))))
    expect((await server.ask()).text).toBe("a,b")
    expect((await server.ask()).text).toBe("a,b")
  })

  it("that is a stream of Node's without an end is given to the first caller as it comes, and closed", async () => {
    const endless = new Readable({ read: () => setImmediate(() => endless.push(bytes("12345678"))) })
    await using server = start(Effect.sync(() => HttpServerResponse.raw(endless)), { maxResponseBytes: 100 })
    const reader = (await server.send()).body!.getReader()
    let read = 0
    while (read < 1000) read += (await reader.read()).value?.length ?? 0
    await reader.cancel()
    expect(endless.destroyed).toBe(true)
    expect((await server.ask()).code).toBe("idempotency_unreplayable")
  })

  it("arrives as it happens where nothing is kept", async () => {
    const { promise, resolve } = Promise.withResolvers<string>()
    const events = Stream.concat(Stream.succeed("1"), Stream.fromEffect(Effect.promise(() => promise)))
    const handler = Effect.succeed(HttpServerResponse.stream(Stream.encodeText(events)))
    await using server = start(handler, { maxResponseBytes: 0 })
    const reader = (await server.send()).body!.getReader()
    expect((await reader.read()).value).toEqual(bytes("1"))
    resolve("2")
    expect((await reader.read()).value).toEqual(bytes("2"))
    expect((await reader.read()).done).toBe(true)
    expect((await server.ask()).code).toBe("idempotency_unreplayable")
  })

  it.each([7, 1_000_000])(
    "leaves what it needs when it has ended, and once, where up to %i bytes are kept",
    async (most) => {
      const events: Array<string> = []
      const handler = Effect.gen(function* () {
        yield* Effect.acquireRelease(
          Effect.sync(() => events.push("open")),
          (_, exit) => Effect.sync(() => events.push(`close ${exit._tag}`))
        )
        const read = (text: string) =>
          Effect.sync(() => {
            events.push(text)
            return bytes(text)
          })
        return HttpServerResponse.stream(Stream.mapEffect(Stream.fromIterable(["12345", "67890", "1"]), read))
      })
      await using server = start(handler, { maxResponseBytes: most })
      expect((await server.ask()).text).toBe("12345678901")
      expect(events).toEqual(["open", "12345", "67890", "1", "close Success"])
    }
  )
})

describe("headers of a response", () => {
  it("that describe its body, say how it may be cached, or that its status calls for, are recorded", async () => {
    const headers = {
      "allow": "GET",
      "cache-control": "no-store",
      "content-disposition": "attachment",
      "content-encoding": "identity",
      "content-language": "en",
      "content-location": "/1",
      "content-range": "bytes 0-1/2",
      "etag": "\"1\"",
      "expires": "0",
      "last-modified": "Thu, 01 Jan 1970 00:00:00 GMT",
      "link": "</2>; rel=next",
      "location": "/1",
      "vary": "accept-language",
      "www-authenticate": "Bearer"
    }
    await using server = start(Effect.succeed(HttpServerResponse.text("ab", { headers })))
    await server.ask()
    const again = await server.ask()
    expect(again.replayed).toBe(true)
    expect(Object.keys(headers).map((name) => again.headers.get(name))).toEqual(Object.values(headers))
  })
})

describe("a request as a web request", () => {
  it("is what it was where it can have no body", async () => {
    const handler = Effect.gen(function* () {
      const web = yield* HttpServerRequest.toWeb(yield* HttpServerRequest.HttpServerRequest)
      return HttpServerResponse.jsonUnsafe([web.method, web.url])
    })
    await using server = start(handler, { methods: ["GET"] })
    const { text } = await server.ask({ method: "GET" })
    expect(JSON.parse(text)).toEqual(["GET", "http://pay.example/charges"])
  })

  it("has its body, in the handler", async () => {
    const handler = Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const web = yield* HttpServerRequest.toWeb(request)
      const text = yield* Effect.promise(() => web.text())
      return HttpServerResponse.jsonUnsafe([web.method, web.url, web.headers.get("x-trace"), text])
    })
    await using server = start(handler)
    const { text } = await server.ask({ headers: { "x-trace": "t" } })
    expect(JSON.parse(text)).toEqual(["POST", "http://pay.example/charges", "t", "{\"amount\":20}"])
  })
})
