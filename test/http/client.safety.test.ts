// What took effect is not sent again: redirects, requests beneath, and keys that stayed behind.
import { describe, expect, it } from "@effect/vitest"
import { IdempotencyKey, Policy, Retry, RetryExhausted, RetryLayers, Transience } from "@reprise/core"
import { HttpRetry } from "@reprise/http"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientError from "effect/http/HttpClientError"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { awaited, type Reply, retrying, script } from "./clientScript.ts"

const outcome = (exit: Exit.Exit<{ readonly status: number }, unknown>): string | number => {
  if (Exit.isSuccess(exit)) return exit.value.status
  const error = Option.getOrUndefined(Exit.findErrorOption(exit))
  if (RetryExhausted.is(error)) return error.reason._tag
  return HttpClientError.isHttpClientError(error) ? error.reason._tag : String(error)
}

const post = HttpClientRequest.post("https://a.example/orders").pipe(HttpClientRequest.bodyText("order"))
const busy: ReadonlyArray<readonly [string, Reply]> = [
  ["429", 429],
  ["503 with a hint", [503, { "retry-after": "1" }]],
  ["a refused connection", "ECONNREFUSED"]
]
const seeOther: Reply = [303, { location: "/orders/1" }]
const fast = Policy.delays([1, 1])

describe.each(busy)("a POST that took effect, and %s of the page it leads to", (_, reply) => {
  it.effect("with redirects of the client's own", () =>
    Effect.gen(function* () {
      const { client, sent } = retrying([seeOther, reply], fast, { redirects: 5 })
      expect(outcome(yield* awaited(client.execute(post)))).toBe("Unsafe")
      expect(sent.map(({ method }) => method)).toEqual(["POST", "GET"])
    }))

  it.effect("with redirects followed beneath", () =>
    Effect.gen(function* () {
      const { client, sent } = script(seeOther, reply)
      const retried = client.pipe(HttpClient.followRedirects(5), HttpRetry.client(fast, { budget: "none" }))
      expect(outcome(yield* awaited(retried.execute(post)))).toBe("Unsafe")
      expect(sent.map(({ method }) => method)).toEqual(["POST", "GET"])
    }))

  it.effect("with a redirect followed beneath to the same place", () =>
    Effect.gen(function* () {
      const { client, sent } = script([303, { location: "/orders" }], reply)
      const retried = client.pipe(HttpClient.followRedirects(5), HttpRetry.client(fast, { budget: "none" }))
      expect(outcome(yield* awaited(retried.execute(post)))).toBe("Unsafe")
      expect(sent.length).toBe(2)
    }))
})

/** Sends by a fetch of ours, which sees what it is called with. */
const byFetch = (
  fetch: (url: URL, init: RequestInit) => Promise<Response>,
  request: HttpClientRequest.HttpClientRequest,
  init?: RequestInit,
  options?: HttpRetry.Options
) => {
  const calls: Array<{ readonly url: string; readonly init: RequestInit; readonly headers: Headers }> = []
  const seen: typeof globalThis.fetch = (input, init = {}) => {
    const url = new URL(input instanceof Request ? input.url : input)
    calls.push({ url: url.href, init, headers: new Headers(init.headers) })
    return fetch(url, init)
  }
  // As a program has it: what fetch is given stands in its layer.
  const layer = FetchHttpClient.layer.pipe(
    Layer.provide(Layer.succeed(FetchHttpClient.Fetch, seen)),
    Layer.provide(init === undefined ? Layer.empty : Layer.succeed(FetchHttpClient.RequestInit, init))
  )
  return Effect.gen(function* () {
    const client = (yield* HttpClient.HttpClient).pipe(HttpRetry.client(fast, { budget: "none", ...options }))
    const exit = yield* awaited(client.execute(request))
    return { calls, outcome: outcome(exit) }
  }).pipe(Effect.provide(layer))
}

const refusal = () =>
  Promise.reject(
    new TypeError("fetch failed", {
      cause: Object.assign(new Error("refused"), { code: "ECONNREFUSED", syscall: "connect" })
    })
  )

const redirect = (location: string, status: number) =>
  Promise.resolve(new Response(null, { status, headers: { location } }))

describe("under fetch", () => {
  it.effect("a POST is followed by hand, so that it is known what failed", () =>
    Effect.gen(function* () {
      const first = yield* byFetch(refusal, post)
      expect([first.outcome, first.calls.length]).toEqual(["End", 3])
      expect(first.calls[0]!.init.redirect).toBe("manual")
      const second = yield* byFetch(
        ({ pathname }) => pathname === "/orders" ? redirect("/orders/1", 303) : refusal(),
        post
      )
      expect([second.outcome, second.calls.map(({ init }) => init.method)]).toEqual(["Unsafe", ["POST", "GET"]])
    }))

  it.effect("that is told to follow by itself, a refused connection may be that of the second hop", () =>
    Effect.gen(function* () {
      const { calls, outcome } = yield* byFetch(refusal, post, { redirect: "follow" })
      expect([outcome, calls.length, calls[0]!.init.redirect]).toEqual(["Unsafe", 1, "follow"])
    }))

  it.effect("what the program says of redirects holds", () =>
    Effect.gen(function* () {
      const seeOther = () => redirect("/orders/1", 303)
      for (const request of [post, HttpRetry.keyed(post, "k")]) {
        const { calls, outcome } = yield* byFetch(seeOther, request, { redirect: "manual" })
        expect([outcome, calls.length]).toEqual([303, 1])
      }
      const asked = yield* byFetch(seeOther, post, { redirect: "manual" }, { redirects: 2 })
      expect([asked.outcome, asked.calls.length]).toEqual([303, 3])
    }))

  it.effect("what a client beneath has followed is not followed on", () =>
    Effect.gen(function* () {
      const asked: Array<string> = []
      const fetch: typeof globalThis.fetch = (input) => {
        asked.push(new URL(input instanceof Request ? input.url : input).pathname)
        return redirect(`/orders/${asked.length}`, 303)
      }
      const client = (yield* HttpClient.HttpClient).pipe(
        HttpClient.followRedirects(1),
        HttpRetry.client(fast, { budget: "none" })
      )
      const exit = yield* awaited(client.execute(post)).pipe(Effect.provideService(FetchHttpClient.Fetch, fetch))
      expect([outcome(exit), asked.length]).toEqual([303, 2])
    }).pipe(Effect.provide(FetchHttpClient.layer)))

  it.effect("from a page redirects are fetch's, which shows none", () =>
    Effect.gen(function* () {
      Object.assign(globalThis, { location: new URL("https://a.example/shop") })
      const { calls, outcome } = yield* byFetch(refusal, post).pipe(
        Effect.ensuring(Effect.sync(() => Reflect.deleteProperty(globalThis, "location")))
      )
      expect([outcome, calls.length, calls[0]!.init.redirect]).toEqual(["Unsafe", 1, undefined])
    }))

  it.effect("and so may the answer", () =>
    Effect.gen(function* () {
      const followed = () =>
        Promise.resolve(Object.defineProperty(new Response("busy", { status: 429 }), "redirected", { value: true }))
      expect((yield* byFetch(followed, post, { redirect: "follow" })).outcome).toBe("Unsafe")
    }))

  it.effect("what is for one origin does not go to another, whatever the layer says besides", () =>
    Effect.gen(function* () {
      const { calls, outcome } = yield* byFetch(
        ({ host }) => host === "a.example" ? redirect("https://b.example/", 307) : Promise.resolve(new Response("ok")),
        HttpRetry.keyed(post, "order-17"),
        { credentials: "include", headers: { authorization: "Bearer secret", "x-app": "shop" } }
      )
      expect([outcome, calls.length]).toEqual([200, 2])
      expect(calls.map(({ init }) => init.credentials)).toEqual(["include", "include"])
      const names = ["idempotency-key", "authorization", "x-app"]
      expect(calls.map(({ headers }) => names.map((name) => headers.get(name)))).toEqual([
        [`"order-17"`, "Bearer secret", "shop"],
        [null, null, "shop"]
      ])
    }))

  it.effect("redirects end as those of fetch do", () =>
    Effect.gen(function* () {
      const loop = yield* byFetch(() => redirect("/again", 307), HttpRetry.keyed(post, "k"))
      expect([loop.outcome, loop.calls.length]).toEqual(["TransportError", 21])
      for (const location of ["https://user:pass@b.example/", "ftp://b.example/"]) {
        const refused = yield* byFetch(() => redirect(location, 307), HttpRetry.keyed(post, "k"))
        expect([refused.outcome, refused.calls.length]).toEqual(["TransportError", 1])
      }
    }))

  it.effect("a request that has nothing to hide is fetch's own", () =>
    Effect.gen(function* () {
      const { calls } = yield* byFetch(() => Promise.resolve(new Response("ok")), HttpClientRequest.get(post.url))
      expect(calls[0]!.init.redirect).toBeUndefined()
      const whole = { integrity: "sha256-AAAA" }
      const checked = yield* byFetch(() => Promise.resolve(new Response("ok")), HttpRetry.keyed(post, "k"), whole)
      expect(checked.calls[0]!.init.redirect).toBeUndefined()
    }))
})

describe("other transports", () => {
  it.effect("follow none, with a key or without", () =>
    Effect.gen(function* () {
      for (const request of [post, HttpRetry.keyed(post, "k")]) {
        const { client, sent } = retrying([seeOther, 200], fast)
        expect([outcome(yield* awaited(client.execute(request))), sent.length]).toEqual([303, 1])
      }
    }))
})

describe("a request made beneath", () => {
  it.effect("says nothing of the one that was sent", () =>
    Effect.gen(function* () {
      const { client, sent } = script(200, "ECONNREFUSED")
      const audited = client.pipe(
        HttpClient.tap(() => client.get("https://audit.example/")),
        HttpRetry.client(fast, { budget: "none" })
      )
      expect(outcome(yield* awaited(audited.execute(post)))).toBe("Unsafe")
      expect(sent.map(({ method }) => method)).toEqual(["POST", "GET"])
    }))
})

describe("what no transport has failed with", () => {
  const after = (error: object) => {
    const { client, sent } = script(200)
    const wrapped = client.pipe(
      HttpClient.tap(() => sent.length < 2 ? Effect.fail(error) : Effect.void),
      HttpRetry.client(fast, { budget: "none" })
    )
    return Effect.map(awaited(wrapped.execute(post)), (exit) => [outcome(exit), sent.length])
  }

  it.effect("did nothing where its author says so, and not by its code", () =>
    Effect.gen(function* () {
      const refused = Object.assign(new Error("refused"), { code: "ECONNREFUSED", syscall: "connect" })
      expect(yield* after(refused)).toEqual(["Unsafe", 1])
      const said = Transience.annotate(new Error("not yet"), { transience: "transient", applied: "no" })
      expect(yield* after(said)).toEqual([200, 2])
    }))
})

describe("a key that stayed behind", () => {
  it.effect.each<[string, Reply]>([["a reset", "ECONNRESET"], ["500", 500], ["no answer", () => Effect.never]])(
    "makes nothing safe any more: %s",
    ([, reply]) =>
      Effect.gen(function* () {
        const { client, sent } = retrying([[307, { location: "https://b.example/" }], reply], fast, { redirects: 5 })
        expect(outcome(yield* awaited(client.execute(HttpRetry.keyed(post, "order-17"))))).toBe("Unsafe")
        expect(sent.length).toBe(2)
      })
  )

  it.effect("is there again in the next attempt", () =>
    Effect.gen(function* () {
      const replies: ReadonlyArray<Reply> = [503, [307, { location: "https://b.example/" }], 500]
      const { client, sent } = retrying(replies, fast, { redirects: 5 })
      expect(outcome(yield* awaited(client.execute(HttpRetry.keyed(post, "order-17"))))).toBe("Unsafe")
      expect(sent.map(({ headers }) => "idempotency-key" in headers)).toEqual([true, true, false])
    }))
})

describe("a key that the client makes", () => {
  it.effect.each(["keyed: true", "HttpRetry.keyed"])(
    "is one, also where runs inside are to leave retries to those around: %s",
    (by) =>
      Effect.gen(function* () {
        const { client, sent } = retrying([500, 500, 500, 500, 200], fast, by === "keyed: true" ? { keyed: true } : {})
        const request = by === "keyed: true" ? post : HttpRetry.keyed(post)
        yield* awaited(client.execute(request).pipe(Retry.run(Policy.immediate(3)))).pipe(
          Effect.provideService(RetryLayers.Mode, "collapse"),
          Effect.provideService(
            IdempotencyKey.Generator,
            (() => {
              let made = 0
              return Effect.sync(() => IdempotencyKey.make(`k${++made}`))
            })()
          )
        )
        expect(new Set(sent.map(({ headers }) => headers["idempotency-key"]))).toEqual(new Set([`"k1"`]))
        expect(sent.length).toBe(3)
      })
  )
})
