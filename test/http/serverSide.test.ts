import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Deadline, InvalidPolicy, Policy, Retry, RetryBudget, RetryExhausted } from "@reprise/core"
import * as FetchRetry from "@reprise/http/FetchRetry"
import * as HttpServerRetry from "@reprise/http/HttpServerRetry"
import { Data, Duration, Effect, Layer, Logger, Option } from "effect"
import { HttpEffect, HttpRouter, HttpServer, HttpServerRespondable, HttpServerResponse } from "effect/http"
import { createServer } from "node:http"
import { describe, expect, it } from "vitest"
import { rejection } from "./fetchServer.ts"

const quick = Policy.delays(["1 millis"])

class Down extends Data.TaggedError("Down")<{ readonly host: string }> {}

const down = Effect.fail(new Down({ host: "db-1.internal" })).pipe(Retry.run(quick, { name: "secret lookup" }))

/** What a handler finds of the deadline, and whether runs inside earn a budget something, by headers of a request. */
const found = async (headers: Record<string, string>, options?: HttpServerRetry.IncomingOptions) => {
  let left: number | undefined
  let earned = 0
  const app = Effect.gen(function* () {
    left = Option.getOrUndefined(Option.map(yield* Deadline.remaining, Duration.toMillis))
    const budget = RetryBudget.ratio({ minPerSecond: 0, ratio: 10 })
    yield* Retry.run(Effect.void, quick, { budget })
    earned = yield* RetryBudget.balance(budget)
    return HttpServerResponse.empty()
  })
  const handler = HttpEffect.toWebHandler(HttpServerRetry.incoming(options)(app))
  expect((await handler(new Request("http://a.example", { headers }))).status).toBe(204)
  return { left, original: earned > 0 }
}

describe("HttpServerRetry.incoming", () => {
  it("without headers, or with those of a first attempt, changes nothing", async () => {
    expect(await found({})).toEqual({ left: undefined, original: true })
    const first = { "retry-attempt": "1", "x-envoy-attempt-count": "1", "grpc-previous-rpc-attempts": "0" }
    expect(await found(first)).toEqual({ left: undefined, original: true })
  })

  it.each([
    ["retry-attempt", "2"],
    ["x-envoy-attempt-count", "3"],
    ["grpc-previous-rpc-attempts", "1"],
    ["retry-attempt", "999999999"]
  ])("%s: %s is a repetition, which earns a budget nothing", async (name, value) => {
    expect(await found({ [name]: value })).toEqual({ left: undefined, original: false })
  })

  it("the highest of them counts", async () => {
    expect((await found({ "retry-attempt": "3", "x-envoy-attempt-count": "1" })).original).toBe(false)
    expect((await found({ "retry-attempt": "1", "x-envoy-attempt-count": "2" })).original).toBe(false)
  })

  it.each(["0", "-2", "2.5", "1e3", "+2", "two", "", "0x2", "2, 3", "9999999999", "NaN"])(
    "retry-attempt: %j is none",
    async (value) => {
      expect((await found({ "retry-attempt": value })).original).toBe(true)
    }
  )

  it.each([["1500m", 1500], ["2S", 2000], ["0n", 0], ["99999999H", 99_999_999 * 3_600_000]])(
    "grpc-timeout: %s is the deadline",
    async (value, millis) => {
      const { left = -1 } = await found({ "grpc-timeout": value })
      expect(left).toBeLessThanOrEqual(millis)
      expect(left).toBeGreaterThanOrEqual(Math.max(0, millis - 500))
    }
  )

  it.each(["", "S", "1.5S", "-1S", "123456789m", "1s", "1500", "1S, 2S"])("grpc-timeout: %j is none", async (value) => {
    expect((await found({ "grpc-timeout": value })).left).toBe(undefined)
  })

  it("a deadline can only be shortened", async () => {
    for (const [header, most] of [["1H", 5000], ["100m", 100], ["no", 5000]] as const) {
      const { left = -1 } = await found({ "grpc-timeout": header }, { within: "5 seconds" })
      expect(left).toBeLessThanOrEqual(most)
      expect(left).toBeGreaterThanOrEqual(0)
    }
  })

  it("keeps a run inside from waiting past the caller's deadline", async () => {
    const slow = Effect.fail("busy").pipe(
      Retry.run(Policy.constant("1 hour").pipe(Policy.attempts(2))),
      Effect.catchIf(RetryExhausted.is, (error) => Effect.succeed(HttpServerResponse.text(error.reason._tag)))
    )
    const handler = HttpEffect.toWebHandler(Effect.orDie(HttpServerRetry.incoming()(slow)))
    const response = await handler(new Request("http://a.example", { headers: { "grpc-timeout": "10S" } }))
    expect(await response.text()).toBe("Deadline")
  })

  it("refuses bad options", () => {
    expect(() => HttpServerRetry.incoming({ within: 0 })).toThrow("incoming.within must be a finite duration")
    expect(() => HttpServerRetry.incoming({ withing: 1 } as never)).toThrow("incoming.withing must be one of")
  })
})

describe("HttpServerRetry.overloaded", () => {
  it.each([[undefined, undefined, "false"], [0, "0", undefined], ["1 millis", "1", undefined], [
    "1500 millis",
    "2",
    undefined
  ], ["2 minutes", "120", undefined]])("retryAfter %s", (retryAfter, after, verdict) => {
    const { headers, status } = HttpServerRetry.overloaded({ retryAfter: retryAfter as Duration.Input })
    expect([status, headers["retry-after"], headers["x-should-retry"]]).toEqual([503, after, verdict])
  })

  it.each([[-1], [Infinity], [NaN], ["soon"]])("refuses %s", (retryAfter) => {
    expect(() => HttpServerRetry.overloaded({ retryAfter: retryAfter as number })).toThrow(InvalidPolicy.InvalidPolicy)
  })

  it("is what this package's client reads", async () => {
    const answering = (response: HttpServerResponse.HttpServerResponse) =>
      HttpEffect.toWebHandler(Effect.succeed(response))
    for (
      const [response, reason] of [
        [HttpServerRetry.overloaded(), "Pushback"],
        [HttpServerRetry.overloaded({ retryAfter: "1 hour" }), "RetryAfterTooLong"],
        [HttpServerRetry.overloaded({ retryAfter: 0 }), "End"]
      ] as const
    ) {
      const handler = answering(response)
      const fetch = (input: unknown) => handler(new Request(input as string))
      const error = await rejection(FetchRetry.fetch(quick, { budget: "none", fetch })("http://a.example"))
      expect(RetryExhausted.is(error) && error.reason._tag).toBe(reason)
    }
  })
})

describe("HttpServerRetry.respondable", () => {
  const answer = async (app: Effect.Effect<HttpServerResponse.HttpServerResponse, unknown>) => {
    const response = await HttpEffect.toWebHandler(HttpServerRetry.respondable(app))(new Request("http://a.example"))
    return [response.status, response.headers.get("x-should-retry"), await response.text()]
  }
  const doNotRetry = [503, "false", ""]

  it("answers an exhaustion with 503 and \"do not retry\", without a word of what failed", async () => {
    expect(await answer(down)).toEqual(doNotRetry)
    expect(await answer(Effect.orDie(down))).toEqual(doNotRetry)
    expect(await answer(Effect.all([Effect.void, down], { concurrency: 2 }) as never)).toEqual(doNotRetry)
  })

  it("leaves everything else alone", async () => {
    expect(await answer(Effect.succeed(HttpServerResponse.text("ok")))).toEqual([200, null, "ok"])
    expect(await answer(Effect.fail(new Down({ host: "a" })))).toEqual([500, null, ""])
    expect(await answer(Effect.die(new Error("bug")))).toEqual([500, null, ""])
    expect(await answer(Effect.fail(HttpServerResponse.text("no", { status: 418 })))).toEqual([418, null, "no"])
  })

  it("leaves an exhaustion alone that answers for itself, or is frozen", async () => {
    const own = Effect.mapError(down, (error) =>
      Object.assign(error, {
        [HttpServerRespondable.symbol]: () => Effect.succeed(HttpServerResponse.empty({ status: 429 }))
      }))
    expect((await answer(own))[0]).toBe(429)
    expect((await answer(Effect.mapError(down, Object.freeze)))[0]).toBe(500)
  })

  it("hands on the same error with the same cause, which prints as before", async () => {
    const cause = await Effect.runPromise(Effect.flip(Effect.sandbox(down)))
    const error = cause.reasons[0]!._tag === "Fail" ? cause.reasons[0]!.error : undefined
    const before = JSON.stringify(error)
    const passed = await Effect.runPromise(
      Effect.flip(Effect.sandbox(HttpServerRetry.respondable(Effect.failCause(cause))))
    )
    expect(passed).toBe(cause)
    expect(JSON.stringify(error)).toBe(before)
    expect(Object.keys(error!)).not.toContain(HttpServerRespondable.symbol)
  })

  it("in a router on a real server, together with `incoming`", async () => {
    const Routes = Layer.mergeAll(
      HttpRouter.add("GET", "/down", down),
      HttpRouter.add("GET", "/busy", Effect.succeed(HttpServerRetry.overloaded({ retryAfter: "3 seconds" }))),
      HttpRouter.middleware(HttpServerRetry.respondable, { global: true }),
      HttpRouter.middleware(HttpServerRetry.incoming({ within: "2 seconds" }), { global: true })
    )
    const program = Effect.gen(function* () {
      yield* Layer.build(HttpRouter.serve(Routes, { disableListenLog: true, disableLogger: true }))
      const url = yield* HttpServer.addressFormattedWith(Effect.succeed)
      return yield* Effect.promise(() => Promise.all(["/down", "/busy", "/none"].map((path) => fetch(`${url}${path}`))))
    }).pipe(
      Effect.provide(
        Layer.mergeAll(NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" }), Logger.layer([]))
      ),
      Effect.scoped
    )
    const responses = await Effect.runPromise(program)
    expect(responses.map(({ headers, status }) => [status, headers.get("x-should-retry"), headers.get("retry-after")]))
      .toEqual([[503, "false", null], [503, null, "3"], [404, null, null]])
    expect(await Promise.all(responses.map((_) => _.text()))).toEqual(["", "", ""])
  })
})
