// What the client retries, what it leaves alone, and what it says when it gives up.
import { describe, expect, expectTypeOf, it } from "@effect/vitest"
import { Policy, RetryExhausted, Transience } from "@reprise/core"
import { HttpRetry } from "@reprise/http"
import type * as Cause from "effect/Cause"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientError from "effect/http/HttpClientError"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as Option from "effect/Option"
import * as TestClock from "effect/testing/TestClock"
import { inspect } from "node:util"
import { awaited, type Reply, retrying, script } from "./clientScript.ts"

const url = "https://user:secret@api.example/orders/1?token=secret&q=secret#secret"

/** What a run comes to: the status of a response, the reason of an exhaustion, or the reason of a transport failure. */
const outcome = (exit: Exit.Exit<{ readonly status: number }, unknown>): string | number => {
  if (Exit.isSuccess(exit)) return exit.value.status
  const error = Option.getOrUndefined(Exit.findErrorOption(exit))
  if (RetryExhausted.is(error)) return error.reason._tag
  return HttpClientError.isHttpClientError(error) ? error.reason._tag : String(error)
}

const run = (
  method: "GET" | "POST",
  replies: ReadonlyArray<Reply>,
  options?: HttpRetry.Options,
  policy?: Policy.Policy<unknown>
) =>
  Effect.gen(function* () {
    const { client, sent, times } = retrying(replies, policy, options)
    const exit = yield* awaited(client.execute(HttpClientRequest.make(method)(url)))
    const error = Option.getOrUndefined(Exit.findErrorOption(exit))
    return { outcome: outcome(exit), attempts: sent.length, sent, times, exit, error }
  })

const exhausted = (error: unknown): RetryExhausted.RetryExhausted => {
  if (!RetryExhausted.is(error)) throw new Error(`not exhausted: ${String(error)}`)
  return error
}

describe("which responses are retried", () => {
  it.effect.each([200, 201, 204, 206, 301, 302, 304, 307])("%s passes", (status) =>
    Effect.gen(function* () {
      expect(yield* run("GET", [status])).toMatchObject({ outcome: status, attempts: 1 })
    }))

  it.effect.each([400, 401, 402, 403, 404, 405, 409, 410, 412, 413, 415, 422, 431, 451, 501, 505, 511])(
    "%s is terminal, and passes as it is",
    (status) =>
      Effect.gen(function* () {
        const { attempts, exit } = yield* run("GET", [[status, { "x-some": "header" }, "its body"]])
        const response = Exit.isSuccess(exit) ? exit.value : undefined
        expect([attempts, response?.status, response?.headers["x-some"]]).toEqual([1, status, "header"])
        expect(yield* response!.text).toBe("its body")
      })
  )

  it.effect.each([408, 429, 500, 502, 503, 504, 520, 529])(
    "%s is retried, and then exhausted",
    (status) =>
      Effect.gen(function* () {
        expect(yield* run("GET", [status])).toMatchObject({ outcome: "Attempts", attempts: 3 })
        expect(yield* run("GET", [status, status, 200])).toMatchObject({ outcome: 200, attempts: 3 })
      })
  )

  it.effect.each([421, 425])("%s is retried once, and then passes", (status) =>
    Effect.gen(function* () {
      expect(yield* run("GET", [status, 200])).toMatchObject({ outcome: 200, attempts: 2 })
      expect(yield* run("GET", [status, status])).toMatchObject({ outcome: status, attempts: 2 })
      // Once in a run, and not once in a row.
      expect(yield* run("GET", [status, 503, status])).toMatchObject({ outcome: status, attempts: 3 })
    }))

  it.effect.each([403, 409, 413, 423])(
    "%s is retried where it says when to come back",
    (status) =>
      Effect.gen(function* () {
        expect(yield* run("GET", [[status, { "retry-after": "1" }], 200])).toMatchObject({ outcome: 200, attempts: 2 })
      })
  )

  it.effect("404 is not, whatever it says and whatever the policy is", () =>
    Effect.gen(function* () {
      const policy = Policy.immediate(5)
      const reply: Reply = [404, { "retry-after": "1" }]
      expect(yield* run("GET", [reply], {}, policy)).toMatchObject({ outcome: 404, attempts: 1 })
    }))
})

describe("which failures of the transport are retried", () => {
  it.effect.each(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "ECONNRESET", "ETIMEDOUT", "EPIPE", "UND_ERR_SOCKET"])(
    "%s",
    (code) =>
      Effect.gen(function* () {
        expect(yield* run("GET", [code, 200])).toMatchObject({ outcome: 200, attempts: 2 })
        const { error, outcome } = yield* run("GET", [code])
        expect(outcome).toBe("Attempts")
        expect(exhausted(error).lastError).toBeInstanceOf(HttpClientError.HttpClientError)
      })
  )

  it.effect.each([
    "CERT_HAS_EXPIRED",
    "DEPTH_ZERO_SELF_SIGNED_CERT",
    "SELF_SIGNED_CERT_IN_CHAIN",
    "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
    "ERR_TLS_CERT_ALTNAME_INVALID",
    "CERT_REVOKED",
    "HOSTNAME_MISMATCH",
    "EPROTO"
  ])("%s is not: it leaves as it came", (code) =>
    Effect.gen(function* () {
      expect(yield* run("GET", [code])).toMatchObject({ outcome: "TransportError", attempts: 1 })
    }))

  it.effect("nor is an answer that is no HTTP, whoever reads it", () =>
    Effect.gen(function* () {
      const parse = Object.assign(new Error("does not match the HTTP/1.1 protocol"), { name: "HTTPParserError" })
      for (const cause of [parse, new TypeError("fetch failed", { cause: parse })]) {
        expect(yield* run("GET", [cause])).toMatchObject({ outcome: "TransportError", attempts: 1 })
      }
      expect(yield* run("GET", ["HPE_INVALID_CONSTANT"])).toMatchObject({ outcome: "TransportError", attempts: 1 })
    }))

  it.effect("a failure that is its own cause is retried as any other", () =>
    Effect.gen(function* () {
      const inner = new Error("inner")
      const outer = new Error("outer", { cause: inner })
      inner.cause = outer
      expect(yield* run("GET", [outer, 200])).toMatchObject({ outcome: 200, attempts: 2 })
    }))

  it.effect("what the caller's own request causes is not", () =>
    Effect.gen(function* () {
      const encode: Reply = (request) =>
        Effect.fail(new HttpClientError.HttpClientError({ reason: new HttpClientError.EncodeError({ request }) }))
      expect(yield* run("GET", [encode])).toMatchObject({ outcome: "EncodeError", attempts: 1 })
      const { client } = retrying([200])
      expect(outcome(yield* awaited(client.get("http://[not a url")))).toBe("InvalidUrlError")
    }))

  it.effect("nor are arguments that fetch does not take, of which it says no more than of a network in a browser", () =>
    Effect.gen(function* () {
      const failed = new TypeError("Failed to fetch")
      expect(yield* run("GET", [failed, 200])).toMatchObject({ outcome: 200, attempts: 2 })
      for (
        const request of [
          HttpClientRequest.get(url).pipe(HttpClientRequest.setHeader("a", "b\r\nc: d")),
          HttpClientRequest.get(url).pipe(HttpClientRequest.bodyText("x")),
          HttpClientRequest.trace(url)
        ]
      ) {
        const { client, sent } = retrying([failed])
        expect([outcome(yield* awaited(client.execute(request))), sent.length]).toEqual(["TransportError", 1])
      }
    }))

  it.effect("an attempt that takes too long is, and its server need not be known", () =>
    Effect.gen(function* () {
      const { attempts, error, times } = yield* run("GET", [() => Effect.never])
      expect([attempts, exhausted(error).reason._tag]).toEqual([3, "Attempts"])
      expect(exhausted(error).lastError).toMatchObject({ _tag: "TimeoutError" })
      expect(times[1]).toBeGreaterThanOrEqual(10_000)
    }))
})

describe("methods", () => {
  it.effect.each(["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE", "QUERY"] as const)(
    "%s is retried",
    (method) =>
      Effect.gen(function* () {
        const { client, sent } = retrying([500, "ECONNRESET", 200])
        yield* awaited(client.execute(HttpClientRequest.make(method)(url)))
        expect(sent.length).toBe(3)
      })
  )

  it.effect.each(["POST", "PATCH"] as const)("%s is not, and the error says why", (method) =>
    Effect.gen(function* () {
      for (const reply of [500, 502, 503, 504, "ECONNRESET", "UND_ERR_SOCKET"]) {
        const { client, sent } = retrying([reply, 200])
        const exit = yield* awaited(client.execute(HttpClientRequest.make(method)(url)))
        expect([reply, outcome(exit), sent.length]).toEqual([reply, "Unsafe", 1])
        expect(String(Option.getOrUndefined(Exit.findErrorOption(exit)))).toContain("not safe to repeat")
      }
    }))

  it.effect("POST is where nothing was applied", () =>
    Effect.gen(function* () {
      for (
        const reply of ["ECONNREFUSED", "ENOTFOUND", "UND_ERR_CONNECT_TIMEOUT", 408, 429, [503, {
          "retry-after": "1"
        }]] as const
      ) {
        expect([reply, (yield* run("POST", [reply, 200])).outcome]).toEqual([reply, 200])
      }
    }))

  it.effect("POST is not after an attempt that took too long", () =>
    Effect.gen(function* () {
      expect(yield* run("POST", [() => Effect.never])).toMatchObject({ outcome: "Unsafe", attempts: 1 })
    }))

  it.effect("a method that nobody knows is not", () =>
    Effect.gen(function* () {
      const { client, sent } = retrying([500])
      const { body, hash, headers, urlParams } = HttpClientRequest.empty
      const request = HttpClientRequest.makeWith("BREW", "https://pot.example/", urlParams, hash, headers, body)
      const exit = yield* awaited(client.execute(request))
      expect([outcome(exit), sent.length]).toEqual(["Unsafe", 1])
      expect(exhausted(Option.getOrUndefined(Exit.findErrorOption(exit))).operation).toBe("HTTP _OTHER")
    }))
})

describe("the error", () => {
  const reply: Reply = [
    503,
    { "x-request-id": "r-1", "set-cookie": "session=secret", "x-internal": "secret", "content-type": "text/plain" },
    `secret ${"x".repeat(3000)}`
  ]

  it.effect("carries status, method, bare URL, harmless headers and the beginning of the body", () =>
    Effect.gen(function* () {
      const { error } = yield* run("GET", [reply])
      const { lastError } = exhausted(error)
      if (!(lastError instanceof HttpRetry.ResponseError)) throw new Error("another error")
      expect(lastError).toMatchObject({
        _tag: "ResponseError",
        status: 503,
        method: "GET",
        url: "https://api.example/orders/1",
        applied: "maybe",
        throttled: true
      })
      expect(lastError.headers).toEqual({ "x-request-id": "r-1", "content-type": "text/plain" })
      expect(lastError.excerpt).toBe(`secret ${"x".repeat(1017)}`)
    }))

  it.effect("shows no secrets, printed or as JSON", () =>
    Effect.gen(function* () {
      const { error } = yield* run("GET", [reply])
      const { lastError } = exhausted(error)
      for (const text of [error, lastError].flatMap((_) => [String(_), JSON.stringify(_), inspect(_, { depth: 10 })])) {
        expect(text).not.toContain("secret")
        expect(text).toContain("503")
      }
    }))

  it.effect("of a transport shows none either, in what logs print", () =>
    Effect.gen(function* () {
      const { error } = yield* run("GET", ["ECONNRESET"])
      expect(String(error)).toContain("GET https://api.example/orders/1")
      const { lastError } = exhausted(error)
      for (const text of [String(error), JSON.stringify(error), inspect(error), String(lastError)]) {
        expect(text).not.toContain("secret")
      }
      const terminal = yield* run("GET", ["CERT_HAS_EXPIRED"])
      expect(String(terminal.error)).not.toContain("secret")
    }))

  it.effect("more headers where they are asked for, and more or nothing of the body", () =>
    Effect.gen(function* () {
      const more = yield* run("GET", [reply], { responseHeaders: ["X-Internal"], excerptBytes: 0 })
      const { lastError } = exhausted(more.error)
      expect(lastError).toMatchObject({ headers: { "x-internal": "secret" } })
      expect((lastError as HttpRetry.ResponseError).excerpt).toBeUndefined()
    }))

  it.effect("has no more than 1,024 characters of a header", () =>
    Effect.gen(function* () {
      for (const [length, kept] of [[1024, "x".repeat(1024)], [1025, `${"x".repeat(1024)}…`]] as const) {
        const { error } = yield* run("GET", [[503, { "x-request-id": "x".repeat(length) }]])
        expect((exhausted(error).lastError as HttpRetry.ResponseError).headers["x-request-id"]).toBe(kept)
      }
    }))

  it.effect("has no excerpt of what is no text, and no half characters", () =>
    Effect.gen(function* () {
      const png = yield* run("GET", [[503, { "content-type": "image/png" }, "xyz"]])
      expect((exhausted(png.error).lastError as HttpRetry.ResponseError).excerpt).toBeUndefined()
      const cut = yield* run("GET", [[503, { "content-type": "application/problem+json" }, "äöü"]], { excerptBytes: 3 })
      expect((exhausted(cut.error).lastError as HttpRetry.ResponseError).excerpt).toBe("ä")
    }))

  it.effect("describes itself, so a run around knows what it means", () =>
    Effect.gen(function* () {
      const { error } = yield* run("GET", [[429, { "retry-after": "7" }]], {}, Policy.none)
      expect(error).toBeUndefined()
      const { error: given } = yield* run(
        "GET",
        [[429, { "retry-after": "7" }]],
        {},
        Policy.delays([1]).pipe(Policy.attempts(1))
      )
      expect(Transience.classify(exhausted(given).lastError)).toMatchObject({
        transience: "transient",
        applied: "no",
        throttled: true,
        hint: { _tag: "After", millis: 7000 }
      })
    }))

  it.effect("every run's types say what can come of it", () =>
    Effect.gen(function* () {
      const client = script(200).client.pipe(HttpRetry.client())
      type Failure = Effect.Error<ReturnType<typeof client.get>>
      expectTypeOf<Failure>().toEqualTypeOf<
        | HttpClientError.HttpClientError
        | RetryExhausted.RetryExhausted<HttpRetry.ResponseError | Cause.TimeoutError | HttpClientError.HttpClientError>
      >()
      expect((yield* client.get(url)).status).toBe(200)
    }))
})

describe("types", () => {
  const { client } = script(200)

  it("a policy must be able to read what fails", () => {
    class Own extends Data.TaggedError("Own")<{}> {}
    const isOwn = (error: Own): boolean => error._tag === "Own"
    const isStatus = (error: HttpRetry.ResponseError | HttpClientError.HttpClientError): boolean => "status" in error
    const own = Policy.standard.pipe(Policy.whileInput(isOwn))
    // @ts-expect-error -- it cannot read a ResponseError
    expect(HttpRetry.client(own)).toBeDefined()
    const read = client.pipe(HttpRetry.client(Policy.standard.pipe(Policy.whileInput(isStatus))))
    expectTypeOf(read).toEqualTypeOf<HttpClient.HttpClient.With<HttpRetry.Errors<HttpClientError.HttpClientError>>>()
  })

  it("two layers do not pile up exhaustions", () => {
    const twice = client.pipe(HttpRetry.client(), HttpRetry.client())
    expectTypeOf(twice).toEqualTypeOf<
      HttpClient.HttpClient.With<
        | HttpClientError.HttpClientError
        | RetryExhausted.RetryExhausted<HttpRetry.ResponseError | Cause.TimeoutError | HttpClientError.HttpClientError>
      >
    >()
    expect(HttpClient.isHttpClient(twice)).toBe(true)
  })
})

describe("a policy of the caller's", () => {
  it.effect("that leaves a response alone leaves it as it is", () =>
    Effect.gen(function* () {
      const policy = Policy.immediate(3).pipe(Policy.whileTag("HttpClientError"))
      const { attempts, exit } = yield* run("GET", [[503, {}, "still here"]], {}, policy)
      expect([attempts, outcome(exit)]).toEqual([1, 503])
      expect(Exit.isSuccess(exit) ? yield* exit.value.text : "").toBe("still here")
    }))

  it.effect("decides by what the error says", () =>
    Effect.gen(function* () {
      const is502 = (error: unknown) => error instanceof HttpRetry.ResponseError && error.status === 502
      const policy = Policy.immediate(3).pipe(Policy.whileInput(is502))
      expect(yield* run("GET", [502, 502, 503, 200], {}, policy)).toMatchObject({ outcome: 503, attempts: 3 })
    }))

  it.effect("rules of the caller's come before the table", () =>
    Effect.gen(function* () {
      const transience = Transience.make([
        Transience.whenStatus(404, "transient"),
        Transience.whenStatus(503, "terminal"),
        Transience.when(
          (error) => (error as { headers?: Record<string, string> }).headers?.["x-again"] === "yes",
          "transient"
        )
      ])
      expect(yield* run("GET", [404, 200], { transience })).toMatchObject({ outcome: 200, attempts: 2 })
      expect(yield* run("GET", [503, 200], { transience })).toMatchObject({ outcome: 503, attempts: 1 })
      expect(yield* run("GET", [[418, { "x-again": "yes" }], 200], { transience })).toMatchObject({
        outcome: 200,
        attempts: 2
      })
    }))

  it.effect("a rule may know a wait where the response says none", () =>
    Effect.gen(function* () {
      const rule = Transience.whenStatus(409, { transience: "transient", retryAfter: "5 seconds" })
      const options = { transience: Transience.make([rule]) }
      const { times } = yield* run("GET", [409, 200], options)
      expect(times[1]! - times[0]!).toBeGreaterThanOrEqual(5000)
      const sooner = yield* run("GET", [[409, { "retry-after": "1" }], 200], options)
      expect(sooner.times[1]! - sooner.times[0]!).toBeLessThan(2000)
    }))

  it("must have an end, and options must be right", () => {
    expect(() => HttpRetry.client(Policy.constant("1 second"))).toThrow(/with an end/)
    expect(() => HttpRetry.client(null as never)).toThrow(/must be a Policy/)
    expect(() => HttpRetry.client(undefined, { attemptTimout: "1 second" } as never)).toThrow(
      /attemptTimout must be one of/
    )
    for (
      const bad of [
        { excerptBytes: -1 },
        { maxOrigins: 0 },
        { attemptTimeout: 0 },
        { redirects: 1.5 },
        { budget: {} },
        { budget: "fleet" },
        { profile: "githb" },
        { profile: {} },
        { transience: {} },
        { exhausted: "nothing" },
        { keyed: { style: "x" } },
        { keyed: { header: "a b" } },
        { responseHeaders: [1] },
        { name: 1 }
      ]
    ) {
      expect(() => HttpRetry.client(undefined, bad as never)).toThrow(/must be/)
    }
    expect(() => HttpRetry.withOptions(Effect.void, { maxOrigins: 1 } as never)).toThrow(/maxOrigins must be one of/)
  })
})

describe("an option that there is not", () => {
  it("is named, and its value is not shown: it may be a key under a wrong name", () => {
    const options = { idempotencykey: "secret" } as HttpRetry.Options // What is tested is that it is none.
    for (const give of [() => HttpRetry.client(undefined, options), () => HttpRetry.withOptions(options)]) {
      expect(give).toThrow(/idempotencykey must be one of/)
      expect(give).not.toThrow(/secret/)
    }
  })
})

describe("a client that fails by status itself", () => {
  it.effect("is retried by the same rules, and its other errors stay", () =>
    Effect.gen(function* () {
      const fails = (...replies: ReadonlyArray<Reply>) => {
        const made = script(...replies)
        return {
          ...made,
          client: made.client.pipe(HttpClient.filterStatusOk, HttpRetry.client(undefined, { budget: "none" }))
        }
      }
      const again = fails(503, 200)
      expect(outcome(yield* awaited(again.client.get(url)))).toBe(200)
      const never = fails(404)
      expect([outcome(yield* awaited(never.client.get(url))), never.sent.length]).toEqual(["StatusCodeError", 1])
      const over = fails([503, { "retry-after": "100000" }])
      const exit = yield* awaited(over.client.get(url))
      expect(outcome(exit)).toBe("RetryAfterTooLong")
      const lenient = script(503).client.pipe(
        HttpClient.filterStatusOk,
        HttpRetry.client(Policy.immediate(3).pipe(Policy.whileTag("Other")))
      )
      expect(outcome(yield* awaited(lenient.get(url)))).toBe("StatusCodeError")
    }))

  it.effect("leaves the body of a response that passes to who gets the error", () =>
    Effect.gen(function* () {
      const body = () =>
        new ReadableStream({
          async pull(controller) {
            await Promise.resolve()
            controller.enqueue(new TextEncoder().encode("why"))
            controller.close()
          }
        })
      const reply: Reply = () => Effect.succeed(new Response(body(), { status: 503 }))
      const told = <E>(client: HttpClient.HttpClient.With<E>) =>
        Effect.gen(function* () {
          const error = Option.getOrUndefined(Exit.findErrorOption(yield* awaited(client.get(url))))
          return HttpClientError.isHttpClientError(error) && error.reason._tag === "StatusCodeError"
            ? yield* error.reason.response.text
            : "no response"
        })
      const strict = script(reply).client.pipe(HttpClient.filterStatusOk)
      const other = Policy.immediate(3).pipe(Policy.whileTag("Other"))
      expect(yield* told(HttpRetry.client(strict, other, { budget: "none" }))).toBe("why")
      const once = Policy.attempts(Policy.immediate(2), 1)
      expect(yield* told(HttpRetry.client(strict, once, { budget: "none", exhausted: "response" }))).toBe("why")
    }))
})

describe("bodies that are not read by anybody", () => {
  it.effect("are read to their end where that is near, and cancelled where it is not", () =>
    Effect.gen(function* () {
      let pulled = 0
      let cancelled = false
      const endless: Reply = () =>
        Effect.succeed(
          new Response(
            new ReadableStream({
              pull: (controller) => {
                pulled++
                controller.enqueue(new Uint8Array(1024))
              },
              cancel: () => {
                cancelled = true
              }
            }),
            { status: 503 }
          )
        )
      expect((yield* run("GET", [endless, 200])).outcome).toBe(200)
      expect(cancelled).toBe(true)
      expect(pulled).toBeLessThan(200)
    }))

  it.effect("are ended where the run is interrupted", () =>
    Effect.gen(function* () {
      for (const exhausted of ["error", "response"] as const) {
        let cancelled = 0
        const open: Reply = () =>
          Effect.sync(() => new Response(new ReadableStream({ cancel: () => void cancelled++ }), { status: 503 }))
        const { client } = retrying([open], Policy.immediate(1), {
          exhausted,
          onRetry: () => Effect.never
        })
        const fiber = yield* Effect.forkChild(client.get(url), { startImmediately: true })
        // Nobody waits for its end for longer.
        yield* TestClock.adjust("10 seconds")
        yield* Fiber.interrupt(fiber)
        yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
        expect([exhausted, cancelled]).toEqual([exhausted, 1])
      }
    }))

  it.effect("of a HEAD there are none, and of an error of the client's own they stay", () =>
    Effect.gen(function* () {
      const github = { profile: "github", budget: "none" } as const
      const forbidden: Reply = () =>
        Effect.succeed(new Response(null, { status: 403, headers: { "content-type": "application/json" } }))
      const head = script(forbidden).client.pipe(HttpRetry.client(undefined, github))
      const response = yield* head.execute(HttpClientRequest.head(url))
      expect([response.status, yield* response.text]).toEqual([403, ""])
      const failing = script([403, { "content-type": "application/json" }, `{"a":1}`]).client.pipe(
        HttpClient.filterStatusOk,
        HttpRetry.client(undefined, github)
      )
      const error = yield* Effect.flip(failing.get(url))
      expect(HttpClientError.isHttpClientError(error) && (yield* error.response!.json)).toEqual({ a: 1 })
    }))
})

describe("hints", () => {
  it.effect("a wait is waited for, with the policy's own wait and a spread on top", () =>
    Effect.gen(function* () {
      const { times } = yield* run("GET", [[503, { "retry-after": "5" }], 200])
      expect(times[1]! - times[0]!).toBeGreaterThanOrEqual(5000)
      expect(times[1]! - times[0]!).toBeLessThanOrEqual(5000 + 200 + 500 + 50)
    }))

  it.effect.each(["61", "3600", "9".repeat(1_000_000)])(
    "too long gives up, and says when to come back: %#",
    (seconds) =>
      Effect.gen(function* () {
        const { attempts, error } = yield* run("GET", [[503, { "retry-after": seconds }]])
        const { reason, retryAt } = exhausted(error)
        expect([attempts, reason._tag]).toEqual([1, "RetryAfterTooLong"])
        if (seconds === "3600") expect(retryAt?.epochMilliseconds).toBe(3_600_000)
        if (reason._tag === "RetryAfterTooLong") expect(Duration.toMillis(reason.max)).toBe(60_000)
      })
  )

  it.effect("do not retry gives up", () =>
    Effect.gen(function* () {
      expect(yield* run("GET", [[503, { "x-should-retry": "false" }]])).toMatchObject({
        outcome: "Pushback",
        attempts: 1
      })
      expect(yield* run("GET", [[404, { "x-should-retry": "false" }]])).toMatchObject({ outcome: 404, attempts: 1 })
    }))

  it.effect("do retry overrides neither limits nor the safety of the method", () =>
    Effect.gen(function* () {
      const again: Reply = [400, { "x-should-retry": "true" }]
      expect(yield* run("GET", [again, 200])).toMatchObject({ outcome: 200, attempts: 2 })
      expect(yield* run("GET", [again])).toMatchObject({ outcome: "Attempts", attempts: 3 })
      expect(yield* run("POST", [[500, { "x-should-retry": "true" }]])).toMatchObject({
        outcome: "Unsafe",
        attempts: 1
      })
      expect(yield* run("GET", ["CERT_HAS_EXPIRED"])).toMatchObject({ attempts: 1 })
    }))

  it.effect("are read by the profile of the client, in the body too, and what passes can still be read", () =>
    Effect.gen(function* () {
      const json = { "content-type": "application/json" }
      const limit = JSON.stringify({ message: "You have exceeded a secondary rate limit" })
      const github = { profile: "github" } as const
      expect(yield* run("GET", [[403, json, limit]], github)).toMatchObject({ outcome: "Elapsed", attempts: 1 })
      for (const body of [`{"message":"Forbidden"}`, `{"message":"${"x".repeat(100_000)}"}`]) {
        const { exit } = yield* run("GET", [[403, json, body]], github)
        expect(outcome(exit)).toBe(403)
        expect(Exit.isSuccess(exit) ? yield* exit.value.text : "").toBe(body)
        expect(Exit.isSuccess(exit) ? yield* exit.value.json : "").toEqual(JSON.parse(body))
      }
      const pieces = [`{"message":"`, "x".repeat(70_000), `"}`]
      const inPieces: Reply = () =>
        Effect.succeed(
          new Response(ReadableStream.from(pieces.map((_) => new TextEncoder().encode(_))), {
            status: 403,
            headers: json
          })
        )
      const { exit } = yield* run("GET", [inPieces], github)
      expect(Exit.isSuccess(exit) ? yield* exit.value.text : "").toBe(pieces.join(""))
      const discord: Reply = [429, json, JSON.stringify({ retry_after: 2.5 })]
      const { times } = yield* run("GET", [discord, 200], { profile: "discord" })
      expect(times[1]! - times[0]!).toBeGreaterThanOrEqual(2500)
    }))

  it.effect("a policy that says nothing of them follows them", () =>
    Effect.gen(function* () {
      const { times } = yield* run("GET", [[429, { "retry-after": "20" }], 200], {}, Policy.immediate(1))
      expect(times[1]! - times[0]!).toBeGreaterThanOrEqual(20_000)
      const short = Policy.immediate(1).pipe(Policy.honoringRetryAfter({ max: "10 seconds" }))
      expect(yield* run("GET", [[429, { "retry-after": "20" }]], {}, short)).toMatchObject({
        outcome: "RetryAfterTooLong"
      })
    }))
})
