// Idempotency keys: one for an operation, the same in all its attempts, and what is said of a request stays with it.
import { describe, expect, it } from "@effect/vitest"
import { IdempotencyKey } from "@reprise/core"
import { HttpRetry } from "@reprise/http"
import * as Effect from "effect/Effect"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import { awaited, type Reply, retrying, script } from "./clientScript.ts"

const post = HttpClientRequest.post("https://pay.example/charges")

const keysOf = (sent: ReadonlyArray<HttpClientRequest.HttpClientRequest>, header = "idempotency-key") =>
  sent.map(({ headers }) => headers[header])

const generator = () => {
  let made = 0
  return Effect.provideService(
    IdempotencyKey.Generator,
    Effect.sync(() => IdempotencyKey.make(`made-${++made}`))
  )
}

const lost: ReadonlyArray<Reply> = ["ECONNRESET", 503, 200]

describe("keyed", () => {
  it.effect("the caller's key goes with every attempt", () =>
    Effect.gen(function* () {
      const { client, sent } = retrying(lost)
      yield* awaited(client.execute(HttpRetry.keyed(post, "order-17")))
      expect(keysOf(sent)).toEqual([`"order-17"`, `"order-17"`, `"order-17"`])
    }))

  it.effect("a new one for each execution, the same in all its attempts", () =>
    Effect.gen(function* () {
      const { client, sent } = retrying(["ECONNRESET", 200, 503, 503, 200])
      const request = post.pipe(HttpRetry.keyed())
      yield* Effect.andThen(awaited(client.execute(request)), awaited(client.execute(request))).pipe(generator())
      expect(keysOf(sent)).toEqual([`"made-1"`, `"made-1"`, `"made-2"`, `"made-2"`, `"made-2"`])
    }))

  it.effect("by default a random UUID", () =>
    Effect.gen(function* () {
      const { client, sent } = retrying([200])
      yield* awaited(client.execute(HttpRetry.keyed(post)))
      expect(sent[0]!.headers["idempotency-key"]).toMatch(
        /^"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"$/
      )
      expect(sent[0]!.headers["reprise-retry"]).toBeUndefined()
    }))

  it.effect("survives whatever is set after it, and the client's own changes", () =>
    Effect.gen(function* () {
      const { sent, ...made } = script(...lost)
      const client = made.client.pipe(
        HttpRetry.client(undefined, { budget: "none" }),
        HttpClient.mapRequest(HttpClientRequest.prependUrl("https://pay.example"))
      )
      const request = HttpClientRequest.post("/charges").pipe(
        HttpRetry.keyed(),
        HttpClientRequest.setHeaders({ accept: "text/plain", "x-a": "b" }),
        HttpClientRequest.bodyText("100"),
        HttpClientRequest.setUrlParam("a", "b")
      )
      yield* awaited(client.execute(request)).pipe(generator())
      expect(keysOf(sent)).toEqual([`"made-1"`, `"made-1"`, `"made-1"`])
    }))

  it.effect("in another header, and bare", () =>
    Effect.gen(function* () {
      for (const key of ["order-17", undefined]) {
        const { client, sent } = retrying(lost)
        const form = { header: "PayPal-Request-Id", style: "bare" } as const
        const request = key === undefined ? HttpRetry.keyed(post, form) : HttpRetry.keyed(post, key, form)
        yield* awaited(client.execute(request)).pipe(generator())
        expect(keysOf(sent, "paypal-request-id")).toEqual(Array(3).fill(key ?? "made-1"))
        expect(keysOf(sent)).toEqual([undefined, undefined, undefined])
      }
    }))

  it.effect("a header set by hand counts, and a key that is there is not replaced", () =>
    Effect.gen(function* () {
      const { client, sent } = retrying(lost)
      const request = post.pipe(HttpRetry.keyed(), HttpClientRequest.setHeader("Idempotency-Key", "by-hand"))
      yield* awaited(client.execute(request))
      expect(keysOf(sent)).toEqual(["by-hand", "by-hand", "by-hand"])
    }))

  it.effect("of two headers for keys, either makes it safe", () =>
    Effect.gen(function* () {
      const { client, sent } = retrying(lost, undefined, { keyed: { header: "x-key" } })
      yield* awaited(client.execute(HttpRetry.keyed(post, "own")))
      expect(keysOf(sent)).toEqual([`"own"`, `"own"`, `"own"`])
      expect(keysOf(sent, "x-key")).toEqual([undefined, undefined, undefined])
    }))

  it.effect("for every POST and PATCH of a client that says so, and for no GET", () =>
    Effect.gen(function* () {
      const { client, sent } = retrying([200], undefined, { keyed: true })
      for (const method of ["POST", "PATCH", "GET", "PUT"] as const) {
        yield* awaited(client.execute(HttpClientRequest.make(method)("https://pay.example/"))).pipe(generator())
      }
      yield* awaited(client.execute(HttpRetry.keyed(post, "own")))
      yield* awaited(client.execute(post)).pipe(
        HttpRetry.withOptions({ keyed: { header: "x-key", style: "bare" } }),
        generator()
      )
      expect(keysOf(sent)).toEqual([`"made-1"`, `"made-1"`, undefined, undefined, `"own"`, undefined])
      expect(keysOf(sent, "x-key")[5]).toBe("made-1")
    }))

  it("is a text of Structured Fields: quoted and escaped", () => {
    const valueOf = (key: string) => HttpRetry.keyed(post, key).headers["idempotency-key"]
    expect(valueOf(`a"b`)).toBe(`"a\\"b"`)
    expect(valueOf(`a\\b`)).toBe(`"a\\\\b"`)
    expect(valueOf("a, b;c=1")).toBe(`"a, b;c=1"`)
  })

  it.each([
    ["a line feed", "a\nb"],
    ["CR and LF, and a header", "a\r\nauthorization: b"],
    ["a tab", "a\tb"],
    ["NUL", "a\0b"],
    ["DEL", "a\x7fb"],
    ["Latin-1", "schön"],
    ["Unicode", "naïve ☃"],
    ["half a character", "\ud800"],
    ["nothing", ""],
    ["a space at the end", "a "],
    ["too much", "a".repeat(256)]
  ])("is refused with %s, and is not shown", (_, key) => {
    for (const style of ["quoted", "bare"] as const) {
      const error = Result.getFailure(Result.try(() => HttpRetry.keyed(post, key, { style }))).pipe(
        Option.getOrUndefined
      )
      expect(error).toBeInstanceOf(IdempotencyKey.InvalidIdempotencyKey)
      expect(key.length > 4 && String(error).includes(key)).toBe(false)
    }
  })

  it("names of headers and styles are checked", () => {
    expect(() => HttpRetry.keyed(post, "a", { header: "a b" })).toThrow(/the name of a header/)
    expect(() => HttpRetry.keyed(post, "a", { header: "a=b" })).toThrow(/the name of a header/)
    expect(() => HttpRetry.keyed(post, "a", { style: "other" as never })).toThrow(/"quoted" or "bare"/)
  })

  it.each([
    "Host",
    "content-length",
    "content-type",
    "Authorization",
    "cookie",
    "transfer-encoding",
    "connection",
    "retry-attempt",
    "reprise-retry",
    "x-forwarded-for"
  ])("no key stands in %s", (header) => {
    expect(() => HttpRetry.keyed(post, "a", { header })).toThrow(/keyed.header/)
    expect(() => HttpRetry.client(undefined, { keyed: { header } })).toThrow(/client.keyed.header/)
  })

  it("a misspelt option is refused, and so is a key that is not there", () => {
    // @ts-expect-error -- `style` it is
    expect(() => HttpRetry.keyed(post, "a", { sytle: "bare" })).toThrow(/one of the options/)
    // @ts-expect-error -- `style` it is
    expect(() => HttpRetry.keyed({ sytle: "bare" })(post)).toThrow(/one of the options/)
    // @ts-expect-error -- `style` it is
    expect(() => HttpRetry.client(undefined, { keyed: { sytle: "bare" } })).toThrow(/one of the options/)
    const order: { readonly id?: string } = {}
    // @ts-expect-error -- there may be no number
    expect(() => HttpRetry.keyed(post, order.id)).toThrow(/keyed.key/)
    // @ts-expect-error -- there may be no number
    expect(() => post.pipe(HttpRetry.keyed(order.id))).toThrow(/keyed.key/)
    // @ts-expect-error -- nor is it null
    expect(() => HttpRetry.keyed(post, null)).toThrow(/must be a text/)
  })

  it.effect("a mark from outside makes no other header a key", () =>
    Effect.gen(function* () {
      for (
        const mark of ["key=content-type", "key=authorization", "generate=host=bare", "generate=content-length=bare"]
      ) {
        const { client, sent } = retrying(lost)
        const headers = { "reprise-retry": mark, "content-type": "text/plain", "authorization": "Bearer x" }
        yield* awaited(client.execute(post.pipe(HttpClientRequest.setHeaders(headers))))
        expect([mark, sent.length, sent[0]!.headers["host"]]).toEqual([mark, 1, undefined])
      }
    }))
})

describe("idempotent", () => {
  it.effect("a POST that says so is retried as a GET is, without a key", () =>
    Effect.gen(function* () {
      const { client, sent } = retrying(lost)
      yield* awaited(client.execute(post.pipe(HttpRetry.idempotent, HttpClientRequest.bodyText("x"))))
      expect(sent.length).toBe(3)
      expect(sent[2]!.headers["reprise-retry"]).toBeUndefined()
      expect(sent[2]!.headers["idempotency-key"]).toBeUndefined()
    }))

  it.effect("goes together with a key", () =>
    Effect.gen(function* () {
      const { client, sent } = retrying(lost)
      yield* awaited(client.execute(post.pipe(HttpRetry.keyed(), HttpRetry.idempotent))).pipe(generator())
      expect(keysOf(sent)[2]).toBe(`"made-1"`)
    }))

  it.effect("what nobody can read in the mark says nothing", () =>
    Effect.gen(function* () {
      const { client, sent } = retrying(lost)
      yield* awaited(
        client.execute(post.pipe(HttpClientRequest.setHeader("reprise-retry", "generate= key idempotentish =")))
      )
      expect([sent.length, sent[0]!.headers["reprise-retry"]]).toEqual([1, undefined])
    }))
})
