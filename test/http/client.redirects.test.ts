// Redirects: followed where that is asked for, and what is for one origin does not go to another.
import { describe, expect, it } from "@effect/vitest"
import { Deadline } from "@reprise/core"
import { HttpRetry } from "@reprise/http"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { awaited, type Reply, retrying } from "./clientScript.ts"

const to = (location: string, status = 302): Reply => [status, { location }]

const execute = (
  request: HttpClientRequest.HttpClientRequest,
  replies: ReadonlyArray<Reply>,
  redirects: number | undefined = 5
) =>
  Effect.gen(function* () {
    const { client, sent } = retrying(replies, undefined, { redirects })
    const exit = yield* awaited(client.execute(request)).pipe(Deadline.within("20 seconds"))
    return { sent, status: Exit.isSuccess(exit) ? exit.value.status : undefined }
  })

const post = HttpClientRequest.post("https://a.example/x/y?q=1").pipe(
  HttpClientRequest.bodyText("body"),
  HttpClientRequest.bearerToken("secret"),
  HttpClientRequest.setHeader("x-trace", "1"),
  HttpRetry.keyed("order-17")
)

describe("redirects", () => {
  it.effect("pass where following was not asked for", () =>
    Effect.gen(function* () {
      const { client, sent } = retrying([to("https://b.example/")])
      const exit = yield* awaited(client.get("https://a.example/"))
      expect([sent.length, Exit.isSuccess(exit) && exit.value.status]).toEqual([1, 302])
    }))

  it.effect("within an origin keep everything", () =>
    Effect.gen(function* () {
      const { sent, status } = yield* execute(post, [503, to("../z#there", 307), 200])
      expect([status, sent.length]).toEqual([200, 3])
      expect(sent[2]).toMatchObject({ method: "POST", url: "https://a.example/z" })
      expect(sent[2]!.headers).toMatchObject({
        "idempotency-key": `"order-17"`,
        "authorization": "Bearer secret",
        "retry-attempt": "2"
      })
      expect(sent[2]!.body._tag).toBe("Uint8Array")
    }))

  it.effect("to another origin carry no key, no credentials and nothing of ours", () =>
    Effect.gen(function* () {
      for (const other of ["https://b.example/", "http://a.example/", "https://a.example:8443/", "//b.example/"]) {
        const request = HttpClientRequest.setHeader(post, "host", "a.example")
        const { sent } = yield* execute(request, [503, to(other, 308), 200])
        const { headers, method } = sent[2]!
        expect(method).toBe("POST")
        expect(headers["x-trace"]).toBe("1")
        for (const name of ["idempotency-key", "authorization", "host", "retry-attempt", "grpc-timeout"]) {
          expect([name, sent[1]!.headers[name] !== undefined, headers[name]]).toEqual([name, true, undefined])
        }
      }
    }))

  it.effect("with a key in another header, that one", () =>
    Effect.gen(function* () {
      const request = HttpClientRequest.post("https://a.example/").pipe(
        HttpRetry.keyed({ header: "x-key", style: "bare" })
      )
      const { sent } = yield* execute(request, [to("https://b.example/", 307), 200])
      expect(sent.map(({ headers }) => "x-key" in headers)).toEqual([true, false])
    }))

  it.effect.each<[number, "GET" | "POST" | "HEAD" | "PUT", string]>([
    [301, "POST", "GET"],
    [302, "POST", "GET"],
    [303, "POST", "GET"],
    [303, "PUT", "GET"],
    [302, "PUT", "PUT"],
    [307, "POST", "POST"],
    [308, "POST", "POST"],
    [303, "HEAD", "HEAD"],
    [302, "GET", "GET"]
  ])("%s of a %s is a %s", ([status, method, then]) =>
    Effect.gen(function* () {
      const request = HttpClientRequest.make(method)("https://a.example/").pipe(HttpClientRequest.bodyText("body"))
      const { sent } = yield* execute(request, [to("/b", status), 200])
      expect([sent[1]!.method, sent[1]!.body._tag]).toEqual([then, then === method ? "Uint8Array" : "Empty"])
      expect(sent[1]!.headers["content-length"]).toBe(then === method ? "4" : undefined)
    }))

  it.effect("keep the fragment where they say none (RFC 9110, 10.2.2)", () =>
    Effect.gen(function* () {
      const request = HttpClientRequest.get("https://a.example/x#mine")
      const { sent } = yield* execute(request, [to("/y"), to("https://b.example/z#theirs"), to("/last"), 200])
      expect(sent.map(({ hash, url }) => [url, Option.getOrUndefined(hash)])).toEqual([
        ["https://a.example/x#mine", undefined],
        ["https://a.example/y", "mine"],
        ["https://b.example/z", "theirs"],
        ["https://b.example/last", "theirs"]
      ])
    }))

  it.effect("that lead nowhere, or too far, pass", () =>
    Effect.gen(function* () {
      for (
        const reply of [
          [302, {}],
          to("http://[x"),
          to("ftp://a.example/"),
          to("https://user:pass@a.example/"),
          to("javascript:alert(1)"),
          [304, {
            location: "/"
          }]
        ] as ReadonlyArray<Reply>
      ) {
        expect((yield* execute(post, [reply])).sent.length).toBe(1)
      }
      const { sent, status } = yield* execute(HttpClientRequest.get("https://a.example/"), [to("/again")], 3)
      expect([sent.length, status]).toEqual([4, 302])
    }))

  it.effect("that want a body again which is gone pass", () =>
    Effect.gen(function* () {
      const request = HttpClientRequest.put("https://a.example/").pipe(
        HttpClientRequest.bodyStream(Stream.make(new Uint8Array(1)))
      )
      const read: Reply = ({ body }) =>
        Effect.as(
          body._tag === "Stream" ? Effect.orDie(Stream.runDrain(body.stream)) : Effect.void,
          new Response(null, { status: 307, headers: { location: "/b" } })
        )
      expect(yield* execute(request, [read])).toMatchObject({ status: 307, sent: { length: 1 } })
    }))

  it.effect("a retry begins where the request began", () =>
    Effect.gen(function* () {
      const { sent } = yield* execute(HttpClientRequest.get("https://a.example/1"), [
        to("https://b.example/2"),
        503,
        to("https://b.example/2"),
        200
      ])
      expect(sent.map(({ url }) => url)).toEqual([
        "https://a.example/1",
        "https://b.example/2",
        "https://a.example/1",
        "https://b.example/2"
      ])
    }))

  it.effect("fetch is told to leave them to us, and only then", () =>
    Effect.gen(function* () {
      const inits: Array<RequestInit | undefined> = []
      const fetch = (_: unknown, init?: RequestInit) => {
        inits.push(init)
        return Promise.resolve(new Response(null))
      }
      for (const redirects of [5, undefined]) {
        const client = (yield* HttpClient.HttpClient).pipe(HttpRetry.client(undefined, { redirects }))
        yield* awaited(client.get("https://a.example/")).pipe(Effect.provideService(FetchHttpClient.Fetch, fetch))
      }
      expect(inits.map((init) => [init?.redirect, init?.credentials])).toEqual([["manual", "include"], [
        undefined,
        "include"
      ]])
    }).pipe(
      Effect.provide(FetchHttpClient.layer),
      Effect.provideService(FetchHttpClient.RequestInit, { credentials: "include" })
    ))
})
