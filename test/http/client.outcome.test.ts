// A client with retries where a program wants an HttpClient: nothing comes out that would not come out without.
import { describe, expect, expectTypeOf, it } from "@effect/vitest"
import { Deadline, Policy, RetryExhausted } from "@reprise/core"
import { HttpRetry } from "@reprise/http"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientError from "effect/http/HttpClientError"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import type * as HttpClientResponse from "effect/http/HttpClientResponse"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"

import { awaited, type Reply, retrying, script } from "./clientScript.ts"

const fast = Policy.delays([1, 1])
const url = "https://a.example/"

const comesTo = (
  replies: ReadonlyArray<Reply>,
  request: HttpClientRequest.HttpClientRequest = HttpClientRequest.get(url),
  policy: Policy.Policy<unknown> = fast
) =>
  Effect.gen(function* () {
    const { client, sent } = retrying(replies, policy, { exhausted: "response" })
    const exit: Exit.Exit<HttpClientResponse.HttpClientResponse, unknown> = yield* awaited(client.execute(request))
    const error = Option.getOrUndefined(Exit.findErrorOption(exit))
    const read = Exit.isSuccess(exit) ? [exit.value.status, yield* exit.value.text] : undefined
    return { read, error, attempts: sent.length }
  })

const reasonOf = (error: unknown): HttpClientError.HttpClientErrorReason | undefined =>
  HttpClientError.isHttpClientError(error) ? error.reason : undefined

describe("exhausted: \"response\"", () => {
  it.effect("an exhausted response is returned, with its body unread", () =>
    Effect.gen(function* () {
      const replies: ReadonlyArray<Reply> = [[503, {}, "one"], [503, {}, "two"], [503, {}, "three"]]
      expect(yield* comesTo(replies)).toMatchObject({ read: [503, "three"], attempts: 3 })
    }))

  it.effect("those before it are out of the way by then", () =>
    Effect.gen(function* () {
      let left = 0
      const counted: Reply = () =>
        Effect.sync(() => {
          left++
          const pull = (controller: ReadableStreamDefaultController) => {
            left--
            controller.enqueue(new Uint8Array(1))
            controller.close()
          }
          return new Response(new ReadableStream({ pull }, { highWaterMark: 0 }), { status: 503 })
        })
      const { client, sent } = retrying([counted], fast, { exhausted: "response" })
      yield* awaited(client.get(url))
      expect([sent.length, left]).toEqual([3, 1])
    }))

  it.effect("and so is one that is not safe to repeat, or not to be repeated", () =>
    Effect.gen(function* () {
      const post = HttpClientRequest.post(url)
      expect(yield* comesTo([[500, {}, "why"]], post)).toMatchObject({ read: [500, "why"], attempts: 1 })
      const never: Reply = [503, { "x-should-retry": "false" }, "no"]
      expect(yield* comesTo([never])).toMatchObject({ read: [503, "no"], attempts: 1 })
      const later: Reply = [503, { "retry-after": "1000" }, "later"]
      expect(yield* comesTo([later])).toMatchObject({ read: [503, "later"], attempts: 1 })
    }))

  it.effect("an exhausted transport is its last error", () =>
    Effect.gen(function* () {
      const { attempts, error } = yield* comesTo([503, "ECONNREFUSED", "ECONNRESET"])
      expect([attempts, reasonOf(error)]).toMatchObject([3, { _tag: "TransportError", cause: { code: "ECONNRESET" } }])
    }))

  it.effect("an attempt that took too long is one too", () =>
    Effect.gen(function* () {
      const { error } = yield* comesTo([503, () => Effect.never])
      expect(reasonOf(error)).toMatchObject({ _tag: "TransportError", cause: { _tag: "TimeoutError" } })
    }))

  it.effect("what is not worth a retry is as ever", () =>
    Effect.gen(function* () {
      expect(yield* comesTo([[404, {}, "where?"]])).toMatchObject({ read: [404, "where?"], attempts: 1 })
      expect(reasonOf((yield* comesTo(["CERT_HAS_EXPIRED"])).error)?._tag).toBe("TransportError")
      expect(yield* comesTo([503, [200, {}, "ok"]])).toMatchObject({ read: [200, "ok"], attempts: 2 })
    }))

  it.effect("the deadline of a caller leaves the response too", () =>
    Effect.gen(function* () {
      const late: Reply = [503, { "retry-after": "9" }, "late"]
      const exit = yield* comesTo([late]).pipe(Deadline.within("5 seconds"), Effect.exit)
      expect(Exit.isSuccess(exit) && exit.value).toMatchObject({ read: [503, "late"], attempts: 1 })
    }))

  it.effect("an error of a client that looks at the status leaves as it came, and an exhaustion beneath as well", () =>
    Effect.gen(function* () {
      const strict = script(503).client.pipe(
        HttpClient.filterStatusOk,
        HttpRetry.client(fast, { budget: "none", exhausted: "response" })
      )
      const error = Option.getOrUndefined(Exit.findErrorOption(yield* awaited(strict.get(url))))
      expect(reasonOf(error)?._tag).toBe("StatusCodeError")
      const twice = script("ECONNRESET").client.pipe(
        HttpRetry.client(fast, { budget: "none" }),
        HttpRetry.client(fast, { budget: "none", exhausted: "response" })
      )
      expect(RetryExhausted.is(Option.getOrUndefined(Exit.findErrorOption(yield* awaited(twice.get(url)))))).toBe(true)
    }))

  it("keeps the type of the client, and is for a whole client", () => {
    const made = script(200).client.pipe(HttpRetry.client(undefined, { exhausted: "response" }))
    expectTypeOf(made).toEqualTypeOf<HttpClient.HttpClient>()
    expectTypeOf(HttpRetry.client(script(200).client, fast, { exhausted: "response" })).toEqualTypeOf<
      HttpClient.HttpClient
    >()
    // @ts-expect-error -- the type of the client is known before
    expect(() => HttpRetry.withOptions(made.get(url), { exhausted: "error" })).toThrow("one of the options")
    // @ts-expect-error -- neither of the two
    expect(() => HttpRetry.client(undefined, { exhausted: "nothing" })).toThrow(`"error" or "response"`)
  })
})

describe("HttpRetry.layer", () => {
  it.effect("is the program's client, with retries", () =>
    Effect.gen(function* () {
      const { client, sent } = script(503, [200, {}, "in stock"])
      const layer = HttpRetry.layer(fast, { name: "stock" }).pipe(
        Layer.provide(Layer.succeed(HttpClient.HttpClient, client))
      )
      expectTypeOf(layer).toEqualTypeOf<Layer.Layer<HttpClient.HttpClient>>()
      const exit = yield* awaited(HttpClient.get(url)).pipe(Effect.provide(layer))
      expect([Exit.isSuccess(exit) && exit.value.status, sent.length]).toEqual([200, 2])
      expect(() => HttpRetry.layer(Policy.exponential("1 second"))).toThrow("a policy with an end")
    }))
})

describe("giving up", () => {
  it.effect.each(["error", "response"] as const)(
    "does not wait for a body that does not come: %s",
    (exhausted) =>
      Effect.gen(function* () {
        const endless: Reply = () =>
          Effect.sync(() => new Response(new ReadableStream({ pull: () => new Promise(() => {}) }), { status: 503 }))
        const { client } = retrying([endless], Policy.delays([1]).pipe(Policy.attempts(1)), { exhausted })
        const from = yield* Clock.currentTimeMillis
        yield* awaited(client.get(url), 10)
        expect((yield* Clock.currentTimeMillis) - from).toBeLessThanOrEqual(100)
      })
  )

  it.effect("nor does a response that is not worth a retry wait for more than a second of a body that is looked at", () =>
    Effect.gen(function* () {
      const pull = async (controller: ReadableStreamDefaultController) => {
        if (sent++ === 0) return controller.enqueue(new TextEncoder().encode(`{"message":`))
        await new Promise<void>((resolve) => void (release = resolve))
        controller.enqueue(new TextEncoder().encode(`"no"}`))
        controller.close()
      }
      let sent = 0
      let release = () => {}
      const slow = (status: number): Reply => () =>
        Effect.sync(() => {
          sent = 0
          const headers = { "content-type": "application/json" }
          return new Response(new ReadableStream({ pull }, { highWaterMark: 0 }), { status, headers })
        })
      for (const [status, most] of [[403, 1100], [404, 50]] as const) {
        const { client } = retrying([slow(status)], fast, { profile: "github" })
        const from = yield* Clock.currentTimeMillis
        const exit = yield* awaited(client.get(url), 10)
        expect((yield* Clock.currentTimeMillis) - from).toBeLessThanOrEqual(most)
        if (Exit.isFailure(exit)) throw new Error("failed")
        const text = yield* Effect.forkChild(exit.value.text, { startImmediately: true })
        yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
        release()
        expect(yield* awaited(Fiber.join(text))).toEqual(Exit.succeed(`{"message":"no"}`))
      }
    }))

  it.effect("nor longer than the attempt has, of which it would end", () =>
    Effect.gen(function* () {
      const headers = { "content-type": "application/json" }
      const stalled: Reply = () =>
        Effect.as(
          Effect.sleep("400 millis"),
          new Response(new ReadableStream({ pull: () => new Promise(() => {}) }), { status: 403, headers })
        )
      const options = { profile: "github", attemptTimeout: "500 millis" } as const
      const { client, sent } = retrying([stalled], fast, options)
      const exit = yield* awaited(client.get(url), 10)
      expect([Exit.isSuccess(exit) && exit.value.status, sent.length]).toEqual([403, 1])
      const patient = retrying([stalled], fast, { ...options, attemptTimeout: "none" })
      const soon = yield* awaited(patient.client.get(url).pipe(Deadline.within("500 millis")), 10)
      expect([Exit.isSuccess(soon) && soon.value.status, patient.sent.length]).toEqual([403, 1])
    }))
})
