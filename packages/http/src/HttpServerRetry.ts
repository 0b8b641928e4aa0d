/**
 * Retries as a server sees them: what a request says of its caller's, and answers that say whether to come back.
 *
 * ```ts
 * import { Policy, Retry } from "@reprise/core"
 * import * as HttpServerRetry from "@reprise/http/HttpServerRetry"
 * import { Effect } from "effect"
 * import { HttpEffect, HttpServerResponse } from "effect/http"
 *
 * const stock = Effect.fail("the warehouse is down").pipe(Retry.run(Policy.delays(["1 millis"]), { name: "stock" }))
 *
 * const app = Effect.as(stock, HttpServerResponse.text("in stock")).pipe(
 *   HttpServerRetry.respondable,
 *   HttpServerRetry.incoming({ within: "2 seconds" })
 * )
 *
 * const handler = HttpEffect.toWebHandler(app)
 * const response = await handler(new Request("http://shop.example/stock"))
 * console.log(response.status, response.headers.get("x-should-retry")) // => 503 false
 * ```
 */
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as HttpServerRequest from "effect/http/HttpServerRequest"
import type * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as internal from "./internal/server/incoming.ts"
import * as respond from "./internal/server/respond.ts"
import * as validate from "./internal/semantics/validate.ts"

/**
 * See {@link incoming}.
 *
 * @category models
 */
export interface IncomingOptions {
  /**
   * The longest that the server works for a request, whatever its caller would wait. Finite, at least 1 ms. Default:
   * none but the caller's.
   */
  readonly within?: Duration.Input | undefined
}

/**
 * Middleware that reads what a request says of its caller's attempts and patience, for all that the handler calls.
 *
 * - `retry-attempt`, `x-envoy-attempt-count` (both 1 for the first) and `grpc-previous-rpc-attempts` (0): the highest
 *   counts. From the second attempt on, runs of `Retry` inside earn their retry budgets nothing, as
 *   `RetryLayers.incoming` says
 * - `grpc-timeout`, such as `1500m`: the deadline (`Deadline`), which runs inside keep to
 *
 * None of it is trusted. What is not of a header's grammar counts as absent, a deadline can only be shortened, and
 * nobody becomes an earlier attempt by saying so. It interrupts nothing: add `Effect.timeout` for that.
 *
 * It goes where middleware goes: around the app, `HttpServer.serve(app, HttpServerRetry.incoming())`, or
 * `HttpRouter.middleware(HttpServerRetry.incoming(), { global: true })`.
 *
 * @throws `InvalidPolicy` for a bad option
 * @category middleware
 */
export const incoming = (options: IncomingOptions = {}): <A, E, R>(
  app: Effect.Effect<A, E, R>
) => Effect.Effect<A, E, R | HttpServerRequest.HttpServerRequest> => {
  const { within } = validate.options("incoming", options, { within: [] })
  const longest = within === undefined ? undefined : validate.duration("incoming.within", within, 1)
  return (app) => internal.incoming(app, longest)
}

/**
 * See {@link overloaded}.
 *
 * @category models
 */
export interface OverloadedOptions {
  /** When to come back. Finite, at least 0; sent in seconds, rounded up. Default: not at all. */
  readonly retryAfter?: Duration.Input | undefined
}

/**
 * The answer of a server that has too much to do: 503, with `Retry-After` where it is known when that is over, and
 * otherwise with `x-should-retry: false`, "do not retry". This package's clients obey both, and so do those of OpenAI,
 * Anthropic and others made by the same generator; other clients know `Retry-After`.
 *
 * ```ts
 * import * as HttpServerRetry from "@reprise/http/HttpServerRetry"
 *
 * console.log(HttpServerRetry.overloaded({ retryAfter: "1500 millis" }).headers["retry-after"]) // => 2
 * console.log(HttpServerRetry.overloaded().headers["x-should-retry"]) // => false
 * ```
 *
 * @throws `InvalidPolicy` for a bad option
 * @category responses
 */
export const overloaded = (options: OverloadedOptions = {}): HttpServerResponse.HttpServerResponse => {
  const { retryAfter } = validate.options("overloaded", options, { retryAfter: [] })
  return respond.unavailable(
    retryAfter === undefined ? undefined : validate.duration("overloaded.retryAfter", retryAfter, 0)
  )
}

/**
 * Lets a `RetryExhausted` that leaves a handler, as an error or as a defect, be answered with 503 and "do not retry"
 * instead of 500: what is behind was tried enough, and the caller's retries would multiply with those. The answer says
 * nothing of what failed. The error stays as it is, for the log.
 *
 * It goes around the app, `HttpServer.serve(HttpServerRetry.respondable(app))`, or into the router,
 * `HttpRouter.middleware(HttpServerRetry.respondable, { global: true })`. The second argument of `HttpServer.serve`
 * comes too late: there an error is answered already.
 *
 * @category middleware
 */
export const respondable: <A, E, R>(app: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R> = respond.respondable
