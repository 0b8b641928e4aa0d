// sindresorhus/got#1382, nodejs/undici#470: a retried request had an empty body. F9: a body that can be read once is not
// retried silently.
import { describe, expect, it } from "@effect/vitest"
import { Deadline, RetryExhausted } from "@reprise/core"
import { HttpRetry } from "@reprise/http"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as HttpBody from "effect/http/HttpBody"
import * as HttpClientError from "effect/http/HttpClientError"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { awaited, type Reply, retrying } from "./clientScript.ts"

const put = HttpClientRequest.put("https://files.example/1")
const bytes = new TextEncoder().encode("hello")

/** A server that reads the body of each request, and then fails in some way. */
const server = (...then: ReadonlyArray<number | string>) => {
  const bodies: Array<string> = []
  const reply = (what: number | string): Reply => (request) =>
    Effect.gen(function* () {
      const { body } = request
      const read = body._tag === "Stream"
        ? yield* Effect.orDie(Stream.mkUint8Array(body.stream))
        : body._tag === "FormData"
        ? "form"
        : body._tag === "Empty"
        ? ""
        : body.body
      bodies.push(read instanceof Uint8Array ? new TextDecoder().decode(read) : String(read))
      if (typeof what === "number") return new Response(null, { status: what })
      const cause = Object.assign(new Error(what), { code: what })
      return yield* new HttpClientError.HttpClientError({
        reason: new HttpClientError.TransportError({ request, cause })
      })
    })
  return { ...retrying(then.map(reply)), bodies }
}

const once = () => {
  let read = false
  return Stream.suspend(() => {
    const stream = Stream.make(...(read ? [] : [bytes.slice(0, 2), bytes.slice(2)]))
    read = true
    return stream
  })
}

const failureOf = (exit: Exit.Exit<unknown, unknown>): RetryExhausted.RetryExhausted => {
  const error = Option.getOrUndefined(Exit.findErrorOption(exit))
  if (!RetryExhausted.is(error)) throw new Error(`not exhausted: ${String(error)}`)
  return error
}

describe("bodies that are prepared", () => {
  it.effect("bytes are those of the call, whatever is written into them afterwards", () =>
    Effect.gen(function* () {
      const views: ReadonlyArray<(bytes: Uint8Array<ArrayBuffer>) => HttpBody.HttpBody> = [
        (bytes) => HttpBody.uint8Array(bytes),
        (bytes) => HttpBody.raw(bytes),
        (bytes) => HttpBody.raw(bytes.buffer)
      ]
      for (const view of views) {
        const own = bytes.slice()
        const { bodies, client } = server(503, 200)
        const sent = awaited(client.execute(HttpClientRequest.setBody(put, view(own))))
        const fiber = yield* Effect.forkChild(sent, { startImmediately: true })
        own.fill(0)
        yield* Fiber.join(fiber)
        expect(bodies.every((body) => body === "hello" || body === "[object ArrayBuffer]")).toBe(true)
      }
      const form = new URLSearchParams({ a: "1" })
      const { bodies, client } = server(503, 200)
      const sent = awaited(client.execute(HttpClientRequest.setBody(put, HttpBody.raw(form))))
      const fiber = yield* Effect.forkChild(sent, { startImmediately: true })
      form.set("a", "2")
      yield* Fiber.join(fiber)
      expect(bodies).toEqual(["a=1", "a=1"])
    }))

  it.effect("a stream that is kept and does not come is not waited for longer than for an attempt", () =>
    Effect.gen(function* () {
      const slow = HttpClientRequest.bodyStream(put, Stream.concat(Stream.make(bytes), Stream.never))
      const reads: Reply = ({ body }) =>
        Effect.as(
          body._tag === "Stream" ? Effect.orDie(Stream.runDrain(body.stream)) : Effect.void,
          new Response(null)
        )
      const { client, sent } = retrying([reads])
      const exit = yield* awaited(client.execute(HttpRetry.bufferUpTo(slow, 1000)))
      expect([failureOf(exit).reason._tag, sent.length]).toEqual(["Unsafe", 1])
      const near = yield* awaited(client.execute(HttpRetry.bufferUpTo(slow, 1000)).pipe(Deadline.within("1 second")))
      expect(Exit.isFailure(near)).toBe(true)
      expect(yield* Clock.currentTimeMillis).toBeLessThan(22_000)
    }))

  it.effect("a stream that is kept and comes slowly is whole", () =>
    Effect.gen(function* () {
      const slow = Stream.make(bytes, bytes).pipe(Stream.rechunk(1), Stream.tap(() => Effect.sleep("2 seconds")))
      const { bodies, client } = server(503, 200)
      const request = HttpRetry.bufferUpTo(HttpClientRequest.bodyStream(put, slow), 1000)
      expect(Exit.isSuccess(yield* awaited(client.execute(request)))).toBe(true)
      expect(bodies).toEqual(["hellohello", "hellohello"])
      const once = server(200)
      yield* awaited(once.client.execute(request).pipe(HttpRetry.withOptions({ attemptTimeout: "3 seconds" })))
      expect(once.bodies).toEqual(["hellohello"])
    }))

  it.effect("a stream that dies is not read again", () =>
    Effect.gen(function* () {
      const dying = HttpRetry.replayable(HttpClientRequest.bodyStream(put, Stream.die(new Error("broken"))))
      let sent = 0
      const reads: Reply = (request) =>
        Effect.andThen(
          Effect.sync(() => sent++),
          Effect.catchCause(
            request.body._tag === "Stream" ? Stream.runDrain(request.body.stream) : Effect.void,
            (cause) =>
              Effect.fail(
                new HttpClientError.HttpClientError({ reason: new HttpClientError.TransportError({ request, cause }) })
              )
          )
        ).pipe(Effect.as(new Response(null)), Effect.mapError((error) => error as HttpClientError.HttpClientError))
      const { client } = retrying([reads])
      const exit = yield* awaited(client.execute(dying))
      expect([sent, Exit.isFailure(exit)]).toEqual([1, true])
    }))
})

describe("F9: bodies that are there are sent again, byte for byte", () => {
  it.effect.each<[string, HttpBody.HttpBody, string]>([
    ["nothing", HttpBody.empty, ""],
    ["bytes", HttpBody.uint8Array(bytes), "hello"],
    ["a text", HttpBody.text("hello"), "hello"],
    ["JSON", HttpBody.jsonUnsafe({ a: 1 }), `{"a":1}`],
    ["a raw text", HttpBody.raw("hello"), "hello"],
    ["raw bytes", HttpBody.raw(bytes), "hello"],
    ["raw parameters", HttpBody.raw(new URLSearchParams({ a: "1" })), "a=1"]
  ])("%s", ([, body, text]) =>
    Effect.gen(function* () {
      const { bodies, client } = server("ECONNRESET", 503, 200)
      yield* awaited(client.execute(HttpClientRequest.setBody(put, body)))
      expect(bodies).toEqual([text, text, text])
    }))

  it.effect("a form, with the same boundary", () =>
    Effect.gen(function* () {
      const form = new FormData()
      form.append("a", "1")
      form.append("file", new Blob(["hello"]), "f.txt")
      const { bodies, client, sent } = server(503, 503, 200)
      yield* awaited(client.execute(HttpClientRequest.setBody(put, HttpBody.formData(form))))
      expect(bodies[0]).toContain("hello")
      expect(new Set(bodies).size).toBe(1)
      const boundary = /boundary=(.*)/.exec(sent[0]!.headers["content-type"] ?? "")?.[1]
      expect(bodies[0]).toContain(`--${boundary}`)
    }))

  it.effect("a form that is too long for that goes as it is", () =>
    Effect.gen(function* () {
      const form = new FormData()
      form.append("file", new Blob(["x".repeat(1_048_577)]), "f.txt")
      const { bodies, client } = server(503, 503, 200)
      yield* awaited(client.execute(HttpClientRequest.setBody(put, HttpBody.formData(form))))
      expect(bodies).toEqual(["form", "form", "form"])
    }))
})

describe("F9: a stream", () => {
  const streamed = (stream: Stream.Stream<Uint8Array>) => put.pipe(HttpClientRequest.bodyStream(stream))

  it.effect("is sent once, and the error says why", () =>
    Effect.gen(function* () {
      for (const what of [503, "ECONNRESET"]) {
        const { bodies, client } = server(what, 200)
        const error = failureOf(yield* awaited(client.execute(streamed(once()))))
        expect([error.reason._tag, bodies]).toEqual(["Unsafe", ["hello"]])
        expect(String(error)).toContain("HttpRetry.bufferUpTo")
      }
    }))

  it.effect("is sent again where nobody has begun to read it", () =>
    Effect.gen(function* () {
      const { client, sent } = retrying(["ECONNREFUSED", 200])
      expect(Exit.isSuccess(yield* awaited(client.execute(streamed(once()))))).toBe(true)
      expect(sent.length).toBe(2)
    }))

  it.effect("that is declared to be replayable is run again", () =>
    Effect.gen(function* () {
      const { bodies, client } = server("ECONNRESET", 503, 200)
      yield* awaited(
        client.execute(streamed(Stream.make(bytes)).pipe(HttpRetry.replayable, HttpClientRequest.setHeader("a", "b")))
      )
      expect(bodies).toEqual(["hello", "hello", "hello"])
    }))

  it.effect("is buffered up to a limit where that was asked for", () =>
    Effect.gen(function* () {
      const { bodies, client } = server("ECONNRESET", 503, 200)
      yield* awaited(client.execute(streamed(once()).pipe(HttpRetry.bufferUpTo(5))))
      expect(bodies).toEqual(["hello", "hello", "hello"])
    }))

  it.effect("that is longer than the limit is sent whole, once", () =>
    Effect.gen(function* () {
      for (const limit of [0, 1, 2, 4]) {
        const { bodies, client } = server(503, 200)
        const error = failureOf(yield* awaited(client.execute(streamed(once()).pipe(HttpRetry.bufferUpTo(limit)))))
        expect([error.reason._tag, bodies]).toEqual(["Unsafe", ["hello"]])
      }
    }))

  it.effect("that fails while it is buffered fails as it would have", () =>
    Effect.gen(function* () {
      const { client } = server(200)
      const broken = Stream.concat(Stream.make(bytes), Stream.die(new Error("broken")))
      expect(Exit.isFailure(yield* awaited(client.execute(streamed(broken).pipe(HttpRetry.bufferUpTo(100)))))).toBe(
        true
      )
    }))

  it.effect("that fails by itself is not tried again, however the transport says it", () =>
    Effect.gen(function* () {
      const reads: Reply = (request) =>
        Effect.matchEffect(request.body._tag === "Stream" ? Stream.runDrain(request.body.stream) : Effect.void, {
          onFailure: (cause) =>
            Effect.fail(
              new HttpClientError.HttpClientError({ reason: new HttpClientError.TransportError({ request, cause }) })
            ),
          onSuccess: () => Effect.succeed(new Response(null))
        })
      const broken = Stream.concat(Stream.make(bytes), Stream.fail("the disk"))
      for (const again of [HttpRetry.replayable, HttpRetry.bufferUpTo(100), HttpRetry.bufferUpTo(1)]) {
        const { client, sent } = retrying([reads])
        const exit = yield* awaited(client.execute(put.pipe(HttpClientRequest.bodyStream(broken), again)))
        const error = Option.getOrUndefined(Exit.findErrorOption(exit))
        expect([HttpClientError.isHttpClientError(error), sent.length]).toEqual([true, 1])
      }
    }))

  it.effect("something raw that can be read once is sent once", () =>
    Effect.gen(function* () {
      const { client, sent } = retrying([503])
      const error = failureOf(
        yield* awaited(client.execute(HttpClientRequest.setBody(put, HttpBody.raw(new ReadableStream()))))
      )
      expect([error.reason._tag, sent.length]).toEqual(["Unsafe", 1])
    }))

  it("limits are checked", () => {
    expect(() => HttpRetry.bufferUpTo(put, -1)).toThrow(/at least 0/)
    expect(HttpRetry.bufferUpTo(put, 1)).toBe(put)
  })
})
