/**
 * Middleware for servers of `effect/http`: requests that carry the header `Idempotency-Key` are handled once for each key,
 * as draft-ietf-httpapi-idempotency-key-header-07 describes.
 *
 * ```ts
 * import { HttpIdempotency, IdempotencyStore } from "@reprise/idempotency"
 * import { Effect } from "effect"
 * import { HttpEffect, HttpServerRequest, HttpServerResponse } from "effect/http"
 *
 * let charges = 0
 * const charge = Effect.gen(function* () {
 *   const { amount } = (yield* (yield* HttpServerRequest.HttpServerRequest).json) as { amount: number }
 *   return HttpServerResponse.jsonUnsafe({ id: `ch_${++charges}`, amount }, { status: 201 })
 * })
 *
 * const app = charge.pipe(HttpIdempotency.middleware({ scope: Effect.succeed("tenant-7") }))
 * const { handler } = HttpEffect.toWebHandlerLayer(app, IdempotencyStore.layerMemory())
 *
 * const send = async () => {
 *   const headers = { "idempotency-key": "\"order-1017\"" }
 *   const body = JSON.stringify({ amount: 20 })
 *   const response = await handler(new Request("http://pay.example/charges", { method: "POST", headers, body }))
 *   return [response.status, await response.text(), response.headers.get("idempotent-replayed")]
 * }
 *
 * console.log(await send()) // => [ 201, '{"id":"ch_1","amount":20}', null ]
 * console.log(await send()) // => [ 201, '{"id":"ch_1","amount":20}', 'true' ]
 * ```
 */
import type * as Transience from "@reprise/core/Transience"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import type * as Schema from "effect/Schema"
import type { Scope } from "effect/Scope"
import type { unhandled } from "effect/Types"
import type { Reconciled } from "./Idempotency.ts"
import { IdempotencyStore } from "./IdempotencyStore.ts"
import * as internal from "./internal/http/middleware.ts"
import * as recorded from "./internal/http/recorded.ts"
import { type AnyOptions, settingsOf } from "./internal/http/settings.ts"

/**
 * What comes of a request, as it passes through its transaction.
 *
 * @category models
 */
export interface Handled {
  readonly "~@reprise/idempotency/Handled": "Handled"
}

/**
 * How requests with a key are handled.
 *
 * @category models
 */
export interface Options<E = never, R = never, F = never> {
  /**
   * Whose keys they are, as the tenant and the operation: 1 to 255 characters. Read it from what your authentication
   * provides: then a replay is for the same caller only, and the types do not let the middleware stand before the
   * authentication.
   */
  readonly scope: Effect.Effect<string, E, R>
  /** Whether a request without a key is refused with 400, or handled as if there were no middleware. Default: true. */
  readonly required?: boolean | undefined
  /** Which methods want a key; others pass. Default: POST and PATCH. */
  readonly methods?: ReadonlyArray<string> | undefined
  /** The name of the header. Default: `idempotency-key`. */
  readonly header?: string | undefined
  /**
   * Whether a key may also come without quotation marks, as clients of Stripe's and many others send it. Such a key has
   * no space, comma or quotation mark. In or without quotation marks, it is the same key. Default: false.
   */
  readonly unquotedKeys?: boolean | undefined
  /**
   * What must be the same in each request with a key, besides method, path and query; the request can be read in it. What
   * cannot be compared is refused with 400. Default: the bytes of the body, whatever the headers say of them. Give one
   * where a client makes the body anew for each attempt, as a form with another boundary.
   */
  readonly payload?: Effect.Effect<unknown, E, R> | undefined
  /**
   * Makes each request one transaction: its claim, what its handler writes, and its record are committed together, or not
   * at all. Give `sql.withTransaction`, or `SqlRetry.transaction()` of `@reprise/sql`, of the client that the store was
   * given (`IdempotencyStore.layerSql`). What is no outcome undoes all, and leaves nothing in doubt; a transaction that
   * fails for the time being is 503. Default: none.
   */
  readonly transaction?: ((request: Effect.Effect<Handled, unknown>) => Effect.Effect<Handled, unknown, R>) | undefined
  /** The longest body of a request, in bytes; more is 413. At least 1. Default: 1,048,576. */
  readonly maxBodyBytes?: number | undefined
  /**
   * The schema of the handler's failures that are outcomes and become a response further out only, as those of an
   * `HttpApi`: a replay fails with them. Other failures are judged by the response that they have. Default: none.
   */
  readonly failure?: Schema.ConstraintCodec<F, unknown, R, R> | undefined
  /**
   * Headers of a response that are recorded besides those that describe its body, those that say who may cache it
   * (`cache-control`, `expires`, `vary`), `allow`, `link`, `location` and `www-authenticate`. Never `set-cookie`, nor
   * headers of the connection.
   */
  readonly headers?: ReadonlyArray<string> | undefined
  /**
   * The longest body of a response that is recorded, in bytes. Of a longer one the first caller gets all, and the
   * others get 500 and that it was not kept. A stream is held back until it has ended, or is longer than that. At least 0.
   * Default: 1,048,576.
   */
  readonly maxResponseBytes?: number | undefined
  /** When to come back, while the first request is in progress or the store is away. At least 1 ms. Default: 1 second. */
  readonly retryAfter?: Duration.Input | undefined
  /** The address of a page on keys, which problems have as their `type`. Default: none, which is `about:blank`. */
  readonly documentation?: string | undefined
  /**
   * What becomes of the handler when its client has gone, or the server is stopped. `"interrupt"` interrupts it, and
   * leaves the record in doubt. Default: `"finish"`, so that the client's next attempt gets the outcome. Give the handler
   * a timeout of its own.
   */
  readonly onDisconnect?: "finish" | "interrupt" | undefined
  /** As of `Idempotency.once`. Default: 30 seconds. */
  readonly lease?: Duration.Input | undefined
  /** As of `Idempotency.once`. Default: 24 hours. */
  readonly retention?: Duration.Input | undefined
  /** For how long a request waits for the outcome of the first one, before it gets 409. Default: not at all. */
  readonly wait?: Duration.Input | undefined
  /** As of `Idempotency.once`. Default: `"doubt"`. */
  readonly onAbandoned?: "doubt" | "rerun" | undefined
  /**
   * Asks the outside world what came of a request that is in doubt; it can be read in it, and its key is
   * `IdempotencyKey.Current`. The response that it finds is recorded. Give it a timeout of its own, as to the handler.
   */
  readonly reconcile?: Effect.Effect<Reconciled<HttpServerResponse>, E, R> | undefined
  /**
   * What knows whether a failure of the handler, or a response by its status, is worth another attempt and took effect.
   * Default: `Transience.standard`.
   */
  readonly transience?: Transience.Classifier | undefined
}

/**
 * The header that marks a replay, with the value `true`: `idempotent-replayed`, as Stripe names it.
 *
 * @category constants
 */
export const replayedHeader: string = recorded.replayedHeader

/**
 * Handles a request once for each key.
 *
 * | the request                                        | is answered                                            |
 * | -------------------------------------------------- | ------------------------------------------------------ |
 * | is the first with its key                          | by the handler                                         |
 * | has a key that has an outcome                      | that: status, recorded headers, body; marked           |
 * | has no key, or a malformed one                     | 400                                                    |
 * | has a key that is in progress                      | 409 with `Retry-After`                                 |
 * | has the key of another request                     | 422                                                    |
 * | is too large                                       | 413                                                    |
 * | has a key that is in doubt                         | 500; `x-should-retry: false` where that is for good    |
 * | meets a store that is away                         | 503 with `Retry-After`; nothing was run                |
 *
 * All but the first two have problem details (RFC 9457) as their body, with a `code` for programs.
 *
 * An outcome is each response below 400, and each error that another attempt would meet again, as `transience` says: 402,
 * 404 or 422. 408, 425, 429, and 403, 409, 413, 423 and 503 with `Retry-After`, are none and leave the key as new; 500 and
 * 504 are none and leave it in doubt, as they do not say whether anything took effect. A failure of the handler is judged by itself first, and then by the
 * response that it would become.
 *
 * The body of the request is read before, and again by the handler. The handler runs in a fiber of its own, and finds the
 * key in `IdempotencyKey.Current`. Cookies that it sets are for the first caller only. Around a handler that has it by
 * itself already, with the same scope and key, the outer one does the work.
 *
 * It goes around a handler. For routers, see {@link router}.
 *
 * @throws `InvalidPolicy`
 * @category middleware
 */
export const middleware = <E = never, R = never, F = never>(options: Options<E, R, F>): <E2, R2>(
  app: Effect.Effect<HttpServerResponse, E2, R2>
) => Effect.Effect<
  HttpServerResponse,
  E | E2 | F,
  R | R2 | HttpServerRequest | IdempotencyStore | Scope
> => {
  const apply = internal.middleware(settingsOf("middleware", options as AnyOptions))
  // What the handler needs and fails with is the same after as before.
  return (app) => apply(app) as never
}

/**
 * {@link middleware} with the store that is there when it is made, as an `HttpApiMiddleware` is:
 * `Layer.effect(Keyed, HttpIdempotency.make({ scope, failure }))`, where `failure` is the schema of the endpoint's errors.
 *
 * @throws `InvalidPolicy`
 * @category middleware
 */
export const make = <E = never, R = never, F = never>(
  options: Options<E, R, F>
): Effect.Effect<
  <E2, R2>(
    app: Effect.Effect<HttpServerResponse, E2, R2>
  ) => Effect.Effect<HttpServerResponse, E | E2 | F, R | R2 | HttpServerRequest | Scope>,
  never,
  IdempotencyStore
> => {
  const apply = middleware(options)
  // What the handler needs stays as it is, whether or not the store is part of it.
  return Effect.map(
    IdempotencyStore,
    (store) => (app) => Effect.provideService(apply(app), IdempotencyStore, store) as never
  )
}

/**
 * Of a request, it needs what `scope`, `payload` and `reconcile` need, unless it is combined with what provides that.
 *
 * @category models
 */
export type RouterMiddleware<E, R, EX = never, RX = never> = HttpRouter.Middleware<{
  provides: never
  handles: never
  error: Exclude<E, unhandled>
  requires: Exclude<R, HttpRouter.Provided>
  layerError: EX
  layerRequires: IdempotencyStore | RX
}>

/**
 * {@link middleware} for the routes of a router, by options or by an effect that has the program's services for them. What
 * `scope` needs, the authentication provides that it is combined with: without one, the layer does not compile.
 *
 * ```ts
 * import { HttpIdempotency, IdempotencyStore } from "@reprise/idempotency"
 * import { Context, Effect, Layer } from "effect"
 * import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
 *
 * class Tenant extends Context.Service<Tenant, string>()("Tenant") {}
 *
 * const authentication = HttpRouter.middleware<{ provides: Tenant }>()((app) =>
 *   Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers }) =>
 *     headers["authorization"] === "Bearer acme"
 *       ? Effect.provideService(app, Tenant, "acme")
 *       : Effect.succeed(HttpServerResponse.empty({ status: 401 })))
 * )
 *
 * const idempotency = HttpIdempotency.router({ scope: Tenant }).combine(authentication)
 *
 * const routes = HttpRouter.add("POST", "/charges", HttpServerResponse.empty({ status: 201 })).pipe(
 *   Layer.provide(idempotency.layer),
 *   Layer.provide(IdempotencyStore.layerMemory())
 * )
 *
 * const { handler } = HttpRouter.toWebHandler(routes, { disableLogger: true })
 * const send = async (authorization: string) => {
 *   const headers = { authorization, "idempotency-key": "\"order-1017\"" }
 *   return (await handler(new Request("http://pay.example/charges", { method: "POST", headers }))).status
 * }
 *
 * console.log(await send("Bearer acme"), await send("Bearer mallory")) // => 201 401
 * ```
 *
 * @throws `InvalidPolicy`
 * @category middleware
 */
export const router = <E = never, R = never, F = never, EX = never, RX = never>(
  options: Options<E, R, F> | Effect.Effect<Options<E, R, F>, EX, RX>
): RouterMiddleware<E | F, R, EX, RX> => {
  const made = Effect.isEffect(options) ? Effect.flatMap(options, make) : make(options)
  return HttpRouter.middleware(Effect.map(made, (apply) => (app) => apply(app)))
}
