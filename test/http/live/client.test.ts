// The same misbehaving server for each transport: what is retried, and that connections come back.
import { describe, expect, it } from "@effect/vitest"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Deadline, Policy, RetryExhausted } from "@reprise/core"
import { HttpRetry } from "@reprise/http"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientError from "effect/http/HttpClientError"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { createHash } from "node:crypto"
import { until } from "../../core/until.ts"
import * as server from "../server.ts"
import { transports } from "./transports.ts"

const policy = Policy.delays(["5 millis", "5 millis"])

const retrying = (options: HttpRetry.Options = {}) =>
  Effect.map(
    HttpClient.HttpClient,
    HttpRetry.client(policy, { budget: "none", attemptTimeout: "500 millis", ...options })
  )

const outcome = (exit: Exit.Exit<unknown, unknown>): string => {
  if (Exit.isSuccess(exit)) return String(exit.value)
  const error = Option.getOrUndefined(Exit.findErrorOption(exit))
  if (RetryExhausted.is(error)) return error.reason._tag
  return HttpClientError.isHttpClientError(error) ? error.reason._tag : String(error)
}

/** Sends a request to a server, and reads the whole of the response. */
const to = (
  answer: server.Answer,
  request: (origin: string) => HttpClientRequest.HttpClientRequest = HttpClientRequest.get,
  options?: HttpRetry.Options
) =>
  Effect.gen(function* () {
    const made = yield* server.serve(answer)
    const client = yield* retrying(options)
    const exit = yield* Effect.exit(Effect.flatMap(client.execute(request(made.origin)), ({ status, text }) =>
      Effect.map(text, (_) =>
        `${status} ${_}`)))
    const error = Option.getOrUndefined(Exit.findErrorOption(exit))
    return { outcome: outcome(exit), error, attempts: made.count, server: made }
  })

const ok = server.respond(200, "ok")
const post = HttpClientRequest.post
const put = HttpClientRequest.put

describe.each(transports)("%s", (name, layer) => {
  const provided = (self: Effect.Effect<void, unknown, HttpClient.HttpClient | Scope.Scope>): Effect.Effect<void> =>
    Effect.scoped(self).pipe(Effect.provide(layer), Effect.orDie)

  describe("failures that pass", () => {
    const failures: ReadonlyArray<readonly [string, server.Answer]> = [
      ["a reset", server.reset],
      ["a connection closed without a word", server.hangUp],
      ["half a head, and the end", server.halfHead("end")],
      ["half a head, and nothing", server.halfHead("nothing")],
      ["a head that comes slowly", server.slowHead(20)],
      ["nothing at all", server.stall],
      ["an answer that is late", server.late(1500, ok)],
      ["503", server.respond(503, "busy")],
      ["503 in chunks", server.chunked(503, "bu", "sy")],
      ["503 with a body cut off", server.truncate(503, "bu")],
      ["503 and then the end", server.thenClose(server.respond(503, "busy"))]
    ]
    for (const [title, failure] of failures) {
      it.live(`GET: ${title}`, () =>
        provided(Effect.gen(function* () {
          const { attempts, outcome } = yield* to(server.inTurn(failure, failure, ok))
          expect([outcome, attempts]).toEqual(["200 ok", 3])
        })))
      it.live(`POST: ${title}: refused for safety`, () =>
        provided(Effect.gen(function* () {
          const { attempts, outcome } = yield* to(server.inTurn(failure, ok), post)
          expect([outcome, attempts]).toEqual(["Unsafe", 1])
        })))
      it.live(`POST with a key: ${title}: the same request again`, () =>
        provided(Effect.gen(function* () {
          const body = HttpClientRequest.bodyText("100")
          const { outcome, server: { requests } } = yield* to(server.inTurn(failure, failure, ok), (url) =>
            post(url).pipe(HttpRetry.keyed(), body))
          expect(outcome).toBe("200 ok")
          expect(requests.map((_) =>
            _.body
          )).toEqual(["100", "100", "100"])
          expect(requests[0]!.headers["idempotency-key"]).toMatch(/^".{36}"$/)
          expect(new Set(requests.map((_) => _.headers["idempotency-key"])).size).toBe(1)
          expect(requests.map((_) => _.headers["retry-attempt"])).toEqual([undefined, "2", "3"])
        })))
    }

    it.live("503 shows the beginning of a text that is encoded in no way, and no bytes that nobody has decoded", () =>
      provided(Effect.gen(function* () {
        for (const [encoding, excerpt] of [["identity", "busy"], ["gzip", undefined]] as const) {
          const headers = { "content-type": "text/plain", "content-encoding": encoding }
          const { error } = yield* to(server.respond(503, "busy", headers))
          const shown = RetryExhausted.is(error) && error.lastError instanceof HttpRetry.ResponseError
            ? error.lastError.excerpt
            : "no response"
          expect([encoding, shown]).toEqual([encoding, excerpt])
        }
      })))

    it.live("503 whose body never ends holds up nobody, and costs a connection after a second", () =>
      provided(Effect.gen(function* () {
        const began = performance.now()
        let closed = 0
        const stalling: server.Answer = (socket, request) => {
          socket.on("close", () => closed = performance.now() - began)
          server.stallInBody(503, "bu")(socket, request)
        }
        const { outcome, server: made } = yield* to(server.inTurn(stalling, ok))
        expect([outcome, made.connections]).toEqual(["200 ok", 2])
        expect(performance.now() - began).toBeLessThan(900)
        yield* Effect.promise(() => until(() => closed > 0))
        expect(closed).toBeGreaterThan(900)
        expect(closed).toBeLessThan(3000)
      })))

    it.live("nobody listens: exhausted, also for POST", () =>
      provided(Effect.gen(function* () {
        const closed = yield* Effect.scoped(server.serve(ok))
        const client = yield* retrying()
        for (const request of [HttpClientRequest.get(closed.origin), post(closed.origin)]) {
          const error = Option.getOrUndefined(Exit.findErrorOption(yield* Effect.exit(client.execute(request))))
          expect(RetryExhausted.is(error) && [error.reason._tag, error.attempts]).toEqual(["End", 3])
        }
      })))
  })

  describe("what is no failure", () => {
    it.live("HEAD, 204, 304 and early hints pass, and their connection is used again", () =>
      provided(Effect.gen(function* () {
        const hints: server.Answer = (socket, request) => {
          socket.write("HTTP/1.1 103 Early Hints\r\nlink: </style.css>\r\n\r\n")
          ok(socket, request)
        }
        const connections: Array<number> = []
        for (const client of [yield* HttpClient.HttpClient, yield* retrying()]) {
          const made = yield* server.serve(server.inTurn(ok, server.respond(204), server.respond(304), hints, ok))
          const statuses: Array<number> = []
          for (const method of ["HEAD", "GET", "GET", "GET", "GET"] as const) {
            const response = yield* client.execute(HttpClientRequest.make(method)(made.origin))
            statuses.push(response.status)
            yield* Effect.ignore(response.text)
            // The agent takes the connection back after the response.
            yield* Effect.sleep("20 millis")
          }
          expect(statuses).toEqual([200, 204, 304, 200, 200])
          connections.push(made.connections)
        }
        // Undici closes one after a HEAD, whoever asks.
        expect(connections).toEqual(name === "node" ? [1, 1] : [2, 2])
      })))
    it.live("HEAD is retried, although nothing comes after its head", () =>
      provided(Effect.gen(function* () {
        const { attempts, outcome } = yield* to(
          server.inTurn(server.respond(503, "busy"), server.respond(503, "busy"), ok),
          HttpClientRequest.head
        )
        expect([outcome, attempts]).toEqual(["200 ", 3])
      })))
    it.live("404 passes with its body, in one attempt", () =>
      provided(Effect.gen(function* () {
        expect(yield* to(server.respond(404, "not here"))).toMatchObject({ outcome: "404 not here", attempts: 1 })
      })))
  })

  describe("a connection that was kept alive and is reset", () => {
    const twice = (request: (url: string) => HttpClientRequest.HttpClientRequest) =>
      Effect.gen(function* () {
        const made = yield* server.serve(server.closesKeptAlive(ok))
        const client = yield* retrying()
        yield* Effect.flatMap(client.get(made.origin), (_) => _.text)
        // The agent takes the connection back after the response.
        yield* Effect.sleep(20)
        const exit = yield* Effect.exit(client.execute(request(made.origin)))
        return [Exit.isSuccess(exit) ? exit.value.status : outcome(exit), made.count]
      })
    it.live("GET is sent again", () =>
      provided(Effect.gen(function* () {
        expect(yield* twice(HttpClientRequest.get)).toEqual([200, 3])
      })))
    it.live("POST is not: it may have arrived", () =>
      provided(Effect.gen(function* () {
        expect(yield* twice(post)).toEqual(["Unsafe", 2])
      })))
  })

  describe("F9: bodies", () => {
    it.live("a megabyte is the same in each attempt", () =>
      provided(Effect.gen(function* () {
        const bytes = new Uint8Array(1_048_576).map((_, index) => index % 251)
        const { server: { requests } } = yield* to(
          server.inTurn(server.respond(503), server.reset, ok),
          (url) => put(url).pipe(HttpClientRequest.bodyUint8Array(bytes)),
          { attemptTimeout: "5 seconds" }
        )
        const hash = createHash("sha256").update(bytes).digest("hex")
        expect(requests.map((_) => _.hash)).toEqual([hash, hash, hash])
      })))
    it.live("a form is the same in each attempt", () =>
      provided(Effect.gen(function* () {
        const form = new FormData()
        form.append("a", "1")
        form.append("f", new Blob(["hello"]), "f.txt")
        const { server: { requests } } = yield* to(
          server.inTurn(server.respond(503), server.reset, ok),
          (url) => put(url).pipe(HttpClientRequest.bodyFormData(form))
        )
        expect(requests.length).toBe(3)
        expect(requests[0]!.body).toContain("hello")
        expect(new Set(requests.map((_) => _.hash + _.headers["content-type"])).size).toBe(1)
      })))
    const chunks = ["one ", "two ", "three"].map((_) => new TextEncoder().encode(_))
    const once = () => {
      let read = 0
      return Stream.suspend(() => read++ === 0 ? Stream.fromIterable(chunks) : Stream.empty)
    }
    it.live("a stream is sent once", () =>
      provided(Effect.gen(function* () {
        const stream = HttpClientRequest.bodyStream(once())
        const { error, outcome, server: { requests } } = yield* to(server.inTurn(server.respond(503), ok), (url) =>
          put(url).pipe(stream))
        expect([
          outcome,
          requests.map((_) =>
            _.body
          )
        ]).toEqual(["Unsafe", ["one two three"]])
        expect(String(error)).toContain("HttpRetry.bufferUpTo")
      })))
    it.live("and again where it was buffered, or is replayable", () =>
      provided(Effect.gen(function* () {
        for (const again of [HttpRetry.bufferUpTo(100), HttpRetry.replayable]) {
          const stream = again === HttpRetry.replayable ? Stream.fromIterable(chunks) : once()
          const body = HttpClientRequest.bodyStream(stream)
          const { outcome, server: { requests } } = yield* to(
            server.inTurn(server.respond(503), server.reset, ok),
            (url) => put(url).pipe(body, again)
          )
          expect([outcome, requests.map((_) => _.body)]).toEqual(["200 ok", Array(3).fill("one two three")])
        }
      })))
    it.live("a stream that dies is not read again", () =>
      provided(Effect.gen(function* () {
        const dying = Stream.concat(Stream.make(new Uint8Array(10)), Stream.die(new Error("broken")))
        const stream = HttpClientRequest.bodyStream(dying)
        const { attempts } = yield* to(ok, (url) => HttpRetry.replayable(put(url).pipe(stream)))
        expect(attempts).toBeLessThanOrEqual(1)
      })))
    it.live("a stream that is too long for its buffer arrives whole", () =>
      provided(Effect.gen(function* () {
        const body = HttpClientRequest.bodyStream(once())
        const { outcome, server: { requests } } = yield* to(ok, (url) => put(url).pipe(body, HttpRetry.bufferUpTo(6)))
        expect([outcome, requests.map((_) => _.body)]).toEqual(["200 ok", ["one two three"]])
      })))
  })

  describe("redirects", () => {
    it.live("to another origin carry no key, no attempt and no deadline where the client follows them", () =>
      provided(Effect.gen(function* () {
        const other = yield* server.serve(ok)
        const { outcome } = yield* to(
          server.inTurn(server.respond(503), server.respond(307, "", { location: `${other.origin}/there` })),
          (url) => post(url).pipe(HttpRetry.keyed("order-17"), HttpClientRequest.bodyText("100")),
          { redirects: 5 }
        ).pipe(Deadline.within("10 seconds"))
        expect(outcome).toBe("200 ok")
        expect(other.requests[0]).toMatchObject({ method: "POST", path: "/there", body: "100" })
        for (const header of ["idempotency-key", "retry-attempt", "grpc-timeout"]) {
          expect(other.requests[0]!.headers).not.toHaveProperty(header)
        }
      })))
    it.live("over fetch take no key along by themselves either", () =>
      provided(Effect.gen(function* () {
        const other = yield* server.serve(ok)
        const { outcome } = yield* to(
          server.respond(307, "", { location: `${other.origin}/there` }),
          (url) => post(url).pipe(HttpRetry.keyed("order-17"), HttpClientRequest.bodyText("100"))
        )
        expect([outcome, other.count]).toEqual(name === "fetch" ? ["200 ok", 1] : ["307 ", 0])
        expect(other.requests[0]?.headers ?? {}).not.toHaveProperty("idempotency-key")
      })))
    for (const redirects of [5, undefined]) {
      it.live(`of a POST that took effect: it is not sent again for what the page says (${redirects})`, () =>
        provided(Effect.gen(function* () {
          const dead = yield* Effect.scoped(Effect.map(server.serve(ok), ({ origin }) => origin))
          for (const page of [server.respond(429), server.respond(503, "", { "retry-after": "0" }), undefined]) {
            const location = page === undefined ? `${dead}/orders/1` : "/orders/1"
            const seeOther = server.respond(303, "", { location })
            const made = yield* to(
              (socket, request) => (request.method === "POST" ? seeOther : page ?? ok)(socket, request),
              post,
              { redirects }
            )
            expect(made.outcome).toBe(redirects !== undefined || name === "fetch" ? "Unsafe" : "303 ")
            expect(made.server.requests.filter(({ method }) => method === "POST").length).toBe(1)
          }
        })))
    }
    it.live("are followed as a client does by itself otherwise", () =>
      provided(Effect.gen(function* () {
        const turns = server.inTurn(server.respond(302, "", { location: "/there" }), ok)
        expect((yield* to(turns)).outcome).toBe(name === "fetch" ? "200 ok" : "302 ")
      })))
  })

  describe("hints", () => {
    it.live("F11: zero, and a date that is past, are no wait", () =>
      provided(Effect.gen(function* () {
        for (const retryAfter of ["0", "Thu, 01 Jan 1970 00:00:00 GMT"]) {
          const began = performance.now()
          const { outcome } = yield* to(server.inTurn(server.respond(503, "", { "retry-after": retryAfter }), ok))
          expect(outcome).toBe("200 ok")
          expect(performance.now() - began).toBeLessThan(1000)
        }
      })))
    it.live("one too long gives up at once", () =>
      provided(Effect.gen(function* () {
        const { attempts, outcome } = yield* to(server.respond(503, "", { "retry-after": "86400" }))
        expect([outcome, attempts]).toEqual(["RetryAfterTooLong", 1])
      })))
    it.live("of a megabyte end in some error, soon", () =>
      provided(Effect.gen(function* () {
        const began = performance.now()
        const { attempts, outcome } = yield* to(
          server.respond(503, "", { "retry-after": "9".repeat(1_000_000) }),
          HttpClientRequest.get,
          { attemptTimeout: "2 seconds" }
        )
        expect(["RetryAfterTooLong", "TransportError", "End"]).toContain(outcome)
        expect(attempts).toBeLessThanOrEqual(3)
        expect(performance.now() - began).toBeLessThan(4000)
      })))
  })

  it.live("an interruption ends the attempt, its connection and the run", () =>
    provided(Effect.gen(function* () {
      const made = yield* server.serve(server.stall)
      const client = yield* retrying({ attemptTimeout: "none" })
      yield* Effect.ignore(Effect.timeout(client.get(made.origin), "100 millis"))
      yield* Effect.sleep("100 millis")
      expect([made.count, made.open]).toEqual([1, 0])
    })))
})

describe("undici that takes a megabyte of headers", () => {
  it.live("reads them as a wait without end", () =>
    Effect.scoped(Effect.gen(function* () {
      const { attempts, outcome } = yield* to(
        server.respond(503, "", { "retry-after": "9".repeat(1_000_000) }),
        HttpClientRequest.get,
        { attemptTimeout: "5 seconds" }
      )
      expect([outcome, attempts]).toEqual(["RetryAfterTooLong", 1])
    })).pipe(Effect.provide(NodeHttpClient.layerUndiciOptions({ maxHeaderSize: 4_000_000 }))))
})
