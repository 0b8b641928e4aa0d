/**
 * Retries for Effect's `HttpClient`, over any of its transports.
 *
 * ```ts
 * import { HttpRetry } from "@reprise/http"
 * import { Effect } from "effect"
 * import { HttpClient, HttpClientResponse } from "effect/http"
 *
 * const answers = [503, 200]
 * const server = HttpClient.make((request) =>
 *   Effect.sync(() => HttpClientResponse.fromWeb(request, new Response("in stock", { status: answers.shift()! })))
 * )
 *
 * const client = server.pipe(HttpRetry.client())
 * const response = await Effect.runPromise(client.get("https://shop.example/stock"))
 * console.log(response.status) // => 200
 * ```
 *
 * One loop is for failing responses and for failures of the transport. What it does with each is decided by status and
 * by error code, never by a message:
 *
 * | failure | retried | may have taken effect |
 * |---|---|---|
 * | no connection: refused, DNS, connect timeout | yes | no |
 * | 408, 429; 425 and 421 once | yes | no |
 * | 503 with a hint of when to come back | yes | no |
 * | 500, 502, 503, 504, most other 5xx, connection lost, read or attempt timeout | yes | maybe |
 * | 409, 413, 423, 403, 509, 530 with such a hint | yes | no |
 * | 400, 401, 403, 404, 422 and other 4xx, 501, 505 to 508, 510, 511, 526 | no | |
 * | a TLS certificate, a body that cannot be encoded, an invalid URL or header, an answer that is no HTTP | no | |
 *
 * A server that says `x-should-retry: true` overrides the first column, also for a 404, and nothing else: not the
 * limits of the policy, nor the last column. (A client certificate that a server misses is no certificate error with
 * undici and fetch, which only see a lost connection, and is retried there.)
 *
 * A failure that may have taken effect is retried where a second execution does no harm: with GET, HEAD, OPTIONS, TRACE,
 * PUT, DELETE and QUERY, with an idempotency key ({@link keyed}, or any `Idempotency-Key` header), and with a request
 * that is declared to be {@link idempotent}. Another POST or PATCH ends with reason `Unsafe`. Where a redirect was
 * followed, "no" is "maybe": what answered was not the first request, which may have taken effect. So it is with the
 * failure of a request that a client beneath makes on the way.
 */
import * as IdempotencyKey from "@reprise/core/IdempotencyKey"
import { InvalidPolicy } from "@reprise/core/InvalidPolicy"
import type * as Policy from "@reprise/core/Policy"
import * as Presets from "@reprise/core/Presets"
import type * as Retry from "@reprise/core/Retry"
import type * as RetryBudget from "@reprise/core/RetryBudget"
import type * as RetryEvents from "@reprise/core/RetryEvents"
import type { RetryExhausted } from "@reprise/core/RetryExhausted"
import type * as Transience from "@reprise/core/Transience"
import type { TimeoutError } from "effect/Cause"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import * as HttpClient from "effect/http/HttpClient"
import type { HttpClientError } from "effect/http/HttpClientError"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as Layer from "effect/Layer"
import * as bodies from "./internal/client/body.ts"
import * as configs from "./internal/client/config.ts"
import * as keys from "./internal/semantics/key.ts"
import * as marks from "./internal/client/marks.ts"
import type { ResponseError } from "./internal/semantics/responseError.ts"
import * as runs from "./internal/client/run.ts"
import * as settings from "./internal/semantics/settings.ts"
import * as validate from "./internal/semantics/validate.ts"
import type * as RetryHint from "./RetryHint.ts"

export {
  /**
   * A failing response that was worth a retry: what policies and events see, and the `lastError` of the exhaustion.
   *
   * It outlives its response and carries what is needed to understand it: `status`, `method`, `url` (without
   * credentials, query and fragment), those `headers` that are nobody's secret, whether the request may have been
   * `applied`, the server's `retryAfter`, and `excerpt`, the first 1024 bytes of a body that is a text, and comes within
   * 50 ms. Neither message nor JSON show the excerpt, which may hold anything. It describes itself to `Transience`.
   *
   * @category errors
   */
  ResponseError
} from "./internal/semantics/responseError.ts"

// ---------------------------------------------------------------------------------------------------------------------
// Client
// ---------------------------------------------------------------------------------------------------------------------

/**
 * How an idempotency key is sent.
 *
 * @category models
 */
export interface KeyOptions {
  /** Default: `Idempotency-Key`. */
  readonly header?: string | undefined
  /**
   * `"quoted"` is a text as draft-ietf-httpapi-idempotency-key-header wants it; `"bare"` is the key as it is, as
   * Stripe's own clients send it. Default: `"quoted"`.
   */
  readonly style?: "quoted" | "bare" | undefined
}

/**
 * How a client retries.
 *
 * @category models
 */
export interface Options {
  /** Name of the run in errors, events and metrics. Default: `HTTP` and the method, such as `HTTP GET`. */
  readonly name?: string | undefined
  /**
   * The longest that an attempt may take until the head of its response is there; the upload of a body counts. At least
   * 1 ms. Default: 10 seconds.
   */
  readonly attemptTimeout?: Duration.Input | "none" | undefined
  /**
   * Who pays for retries. Default: a `RetryBudget.make()` for each origin, so that one that fails takes no retries from
   * the others. `"context"` is the budget of the context (`RetryBudget.layer`), such as that of a fleet, where there is
   * one; it is for all origins.
   */
  readonly budget?: RetryBudget.RetryBudget | "none" | "context" | undefined
  /**
   * For how many origins the client keeps a budget, and the hint in force; beyond it an origin that was not used for a
   * minute makes room, and where there is none new origins share one. From 1 to 1,000,000. Default: 1000.
   */
  readonly maxOrigins?: number | undefined
  /** How what a server says of the wait is read. Default: `"standard"`. */
  readonly profile?: RetryHint.ProfileName | RetryHint.Profile | undefined
  /**
   * What is worth a retry, and what may have taken effect. Rules see a response as
   * `{ _tag: "ResponseError", status, method, url, headers }`, with all its headers. Default: `Transience.standard`.
   */
  readonly transience?: Transience.Classifier | undefined
  /**
   * Whether the server is told: `retry-attempt` with the number of the attempt, from 2 on, and `grpc-timeout` with what
   * is left of the caller's `Deadline`, where there is one. Neither replaces a header that the request has. Default:
   * true; never from a page to another origin, which would have to allow them by name.
   */
  readonly headers?: boolean | undefined
  /** Names of response headers that a {@link ResponseError} carries beside those that it carries anyway. */
  readonly responseHeaders?: ReadonlyArray<string> | undefined
  /** How much of the body a {@link ResponseError} carries. From 0 to 65,536. Default: 1024. */
  readonly excerptBytes?: number | undefined
  /**
   * How many redirects an attempt follows, by the rules of fetch; credentials, the key and the headers above stay
   * behind when they lead to another origin. From 0 to 100. Default: redirects are left to the client beneath.
   *
   * The clients of Node.js and undici follow none. Fetch follows up to 20. Outside of browsers (where the
   * runtime is, or is like, Node.js) they are followed here in
   * its place, by its rules, where there is something that must not go along, a key or a header of ours, or where it
   * must be known which request failed, as with a POST; but not where a `FetchHttpClient.RequestInit` says what becomes
   * of redirects, or has an `integrity`. Browsers do not show redirects, and so the key goes along there, as it does
   * with Effect's `followRedirects`.
   */
  readonly redirects?: number | undefined
  /** Whether a POST or PATCH without a key gets a new one, as by {@link keyed}. Default: false. */
  readonly keyed?: boolean | KeyOptions | undefined
  /**
   * What comes out when the policy gives up: a `RetryExhausted`, or what a client without retries would have come to,
   * so that the client can be given to whatever takes an `HttpClient`. That is the last response with its body unread,
   * or the last `HttpClientError`; an attempt timeout is one with a `TransportError` whose `cause` is the
   * `TimeoutError`. Then no `ResponseError` has an excerpt. Default: `"error"`.
   */
  readonly exhausted?: "error" | "response" | undefined
  /** Run when a retry is granted, before its wait. */
  readonly onRetry?: ((event: Retry.RetryEvent) => Effect.Effect<void>) | undefined
  /** Told everything that happens in a run, as it happens. */
  readonly onEvent?: ((event: RetryEvents.RetryEvent) => Effect.Effect<void>) | undefined
}

/**
 * What a retrying client fails with: what the client beneath does, and exhaustion.
 *
 * @category models
 */
export type Errors<E> = E | RetryExhausted<ResponseError | TimeoutError | Exclude<E, RetryExhausted>>

/**
 * Nothing where a policy can read a failing response, and elsewhere something that no policy is.
 *
 * @category models
 */
export type Reads<I> = [ResponseError] extends [I] ? unknown
  : { readonly "The policy must be able to read": ResponseError }

type Client<E, R> = HttpClient.HttpClient.With<E, R>

const wrap = <E, R>(self: Client<E, R>, config: configs.Config): Client<Errors<E>, R> =>
  HttpClient.makeWith(
    // The driver is untyped inside; what it fails with is what the policy could not cure, or would not.
    (request) =>
      Effect.flatMap(
        request,
        (request) => runs.make(config, (request) => self.postprocess(request), request)
      ) as Effect.Effect<never, Errors<E>, R>,
    self.preprocess
  )

/**
 * A client that tries again. With no arguments it is safe for production:
 *
 * - 3 attempts, with waits that grow from 200 ms, doubling, at most 5 s, each drawn from zero
 * - 10 s for an attempt, and no retry later than 30 s after the first attempt began
 * - a `Retry-After`, in any of its forms, is heeded up to 60 s, by all requests to that origin
 * - a retry budget for each origin
 *
 * Load when everything fails: 1.1 times that of no retries, or 0.3 retries a second where requests are few; a process
 * begins with one retry for each origin, so the first call that fails there may make two attempts rather than three.
 * Without the budget it would be 3 times. Waits are 0.3 s in the mean and 0.6 s at most where no hint asks for more; the
 * worst case is 30.6 s, three attempts at their timeout, and 40 s with hints.
 *
 * A policy of your own replaces the waits and limits, and never the classification: no policy retries a 404. A response
 * that is not worth a retry, by the one or the other, passes as it is. Where the policy is exhausted, the client fails
 * with `RetryExhausted`. A policy that says nothing of hints follows them up to 60 s.
 *
 * What was done to the client before it was wrapped with `mapRequest` and the like is done once for all attempts; what
 * `transform` and `transformResponse` do is done in each. An attempt ends with the head of the response: a body that
 * breaks off while it is read is not read again. The body of a response that is retried is read to its end, so that its
 * connection can be used again, or where that is more than 64 KiB or a second away, its connection is closed; nobody
 * waits for that longer than 50 ms.
 *
 * ```ts
 * import { HttpRetry } from "@reprise/http"
 * import { Policy } from "@reprise/core"
 * import { HttpClient } from "effect/http"
 *
 * const patient = Policy.exponential("1 second").pipe(Policy.capped("1 minute"), Policy.jittered, Policy.attempts(8))
 * const client = HttpClient.HttpClient.pipe(Effect.map(HttpRetry.client(patient, { profile: "github" })))
 *
 * import { Effect } from "effect"
 * console.log(Effect.isEffect(client)) // => true
 * ```
 *
 * @throws `InvalidPolicy` for a policy without an end that does not say `unlimited`, and for a bad option
 * @category clients
 */
export const client: {
  (): <E, R>(self: Client<E, R>) => Client<Errors<E>, R>
  <I = unknown>(
    policy: (Policy.Policy<I, unknown, never> & Reads<I>) | undefined,
    options: Options & { readonly exhausted: "response" }
  ): <E extends I, R>(self: Client<E, R>) => Client<E | HttpClientError, R>
  <I = unknown>(
    policy: (Policy.Policy<I, unknown, never> & Reads<I>) | undefined,
    options?: Options
  ): <E extends I, R>(self: Client<E, R>) => Client<Errors<E>, R>
  <E, R>(self: Client<E, R>): Client<Errors<E>, R>
  <E extends I, R, I = unknown>(
    self: Client<E, R>,
    policy: (Policy.Policy<I, unknown, never> & Reads<I>) | undefined,
    options: Options & { readonly exhausted: "response" }
  ): Client<E | HttpClientError, R>
  <E extends I, R, I = unknown>(
    self: Client<E, R>,
    policy: (Policy.Policy<I, unknown, never> & Reads<I>) | undefined,
    options?: Options
  ): Client<Errors<E>, R>
} = (
  first?: Policy.Any | Client<unknown, unknown>,
  second?: Policy.Any | Options,
  third?: Options
  // `never` fits each overload, which say which of the two forms it is.
): never => {
  if (HttpClient.isHttpClient(first)) {
    return wrap(first, configs.make((second === undefined ? Presets.http : second) as Policy.Any, third ?? {})) as never
  }
  const config = configs.make(first === undefined ? Presets.http : first as Policy.Any, (second ?? {}) as Options)
  return ((self: Client<unknown, unknown>) => wrap(self, config)) as never
}

/**
 * The `HttpClient` of a program with retries, for whatever takes one: {@link client} with `exhausted: "response"`.
 *
 * ```ts
 * import { HttpRetry } from "@reprise/http"
 * import { Effect, Layer } from "effect"
 * import { HttpClient, HttpClientResponse } from "effect/http"
 *
 * const answers = [503, 200]
 * const server = Layer.succeed(HttpClient.HttpClient, HttpClient.make((request) =>
 *   Effect.sync(() => HttpClientResponse.fromWeb(request, new Response("in stock", { status: answers.shift()! })))
 * ))
 *
 * const Client = HttpRetry.layer().pipe(Layer.provide(server))
 * const response = await Effect.runPromise(HttpClient.get("https://shop.example/stock").pipe(Effect.provide(Client)))
 * console.log(response.status) // => 200
 * ```
 *
 * @throws `InvalidPolicy` as {@link client}
 * @category clients
 */
export const layer = (
  policy?: Policy.Policy<ResponseError | HttpClientError | TimeoutError, unknown, never>,
  options?: Omit<Options, "exhausted">
): Layer.Layer<HttpClient.HttpClient, never, HttpClient.HttpClient> => {
  const retrying = client(policy, { ...options, exhausted: "response" })
  return Layer.effect(HttpClient.HttpClient, Effect.map(HttpClient.HttpClient, retrying))
}

// ---------------------------------------------------------------------------------------------------------------------
// Requests
// ---------------------------------------------------------------------------------------------------------------------

/**
 * What can be said of single requests: the options of the client, and another policy.
 *
 * @category models
 */
export interface RequestOptions extends Omit<Options, "maxOrigins" | "exhausted"> {
  readonly policy?: Policy.Policy<unknown, unknown, never> | undefined
}

/**
 * Other options for all requests inside. What is not given stays as the client has it, or the `withOptions` around.
 *
 * ```ts
 * import { HttpRetry } from "@reprise/http"
 * import { Policy } from "@reprise/core"
 * import { HttpClient } from "effect/http"
 *
 * const report = HttpClient.get("https://shop.example/report").pipe(
 *   HttpRetry.withOptions({ name: "report", attemptTimeout: "1 minute", policy: Policy.none })
 * )
 *
 * import { Effect } from "effect"
 * console.log(Effect.isEffect(report)) // => true
 * ```
 *
 * They are read once, where they are given.
 *
 * @throws `InvalidPolicy` for an option that there is not, or a bad one
 * @category requests
 */
export const withOptions: {
  (options: RequestOptions): <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  <A, E, R>(self: Effect.Effect<A, E, R>, options: RequestOptions): Effect.Effect<A, E, R>
} = (first: Effect.Effect<unknown, unknown, unknown> | RequestOptions, second?: RequestOptions): never => {
  // `never` fits both overloads. A bad option throws where it is given, before there is a request.
  if (Effect.isEffect(first)) return provided(configs.given(second!))(first) as never
  return provided(configs.given(first)) as never
}

const provided = (options: RequestOptions): <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R> => {
  const over = configs.over(options)
  return (self) => Effect.updateService(self, configs.Current, over)
}

type Request = HttpClientRequest.HttpClientRequest

const isRequestFirst = (args: IArguments): boolean => HttpClientRequest.isHttpClientRequest(args[0])

/**
 * Gives a request an idempotency key, which every attempt carries, so that the server can tell a retry from a second
 * order. It makes a POST or PATCH safe to repeat, at a server that heeds the key.
 *
 * - `key`: the caller's own, such as an order's id; an explicit `undefined` is refused. Left out, it is a new one each
 *   time the request is executed, from `IdempotencyKey.Generator`; a request that has one already keeps it
 *
 * It may be changed further: what is said stays with it, whatever is set after it. A client without retries sends it as
 * it is, with a `reprise-retry` header where the key was to be made.
 *
 * ```ts
 * import { HttpRetry } from "@reprise/http"
 * import { HttpClientRequest } from "effect/http"
 *
 * const request = HttpClientRequest.post("https://pay.example/charges").pipe(HttpRetry.keyed("order-17"))
 * console.log(request.headers["idempotency-key"]) // => "order-17"
 * ```
 *
 * Source: draft-ietf-httpapi-idempotency-key-header-07.
 *
 * @throws `InvalidIdempotencyKey` for a key with anything but printable ASCII, empty, or longer than 255 characters; for
 *   one that came from outside, see `IdempotencyKey.fromString`. `InvalidPolicy` for a bad option
 * @category requests
 */
export const keyed: {
  (options?: KeyOptions): (self: Request) => Request
  (key: string, options?: KeyOptions): (self: Request) => Request
  (self: Request, options?: KeyOptions): Request
  (self: Request, key: string, options?: KeyOptions): Request
} = /* @__PURE__ */ dual(isRequestFirst, (self: Request, ...given: Given): Request => {
  const { form, key } = keyOf(given)
  if (key === undefined) return marks.add(self, { generate: form })
  const value = keys.render(IdempotencyKey.make(key), form.style)
  const request = HttpClientRequest.setHeader(self, form.header, value)
  return form.header === keys.standardHeader ? request : marks.add(request, { keyHeader: form.header })
})

type Given = [options?: KeyOptions] | [key: string, options?: KeyOptions]

const keyOf = (given: Given): { readonly key: string | undefined; readonly form: keys.KeyForm } => {
  const [first] = given
  const isOptions = typeof first === "object" && first !== null
  // An order without a number must not become an order with another key each time.
  if (given.length > 0 && first === undefined) {
    throw new InvalidPolicy({ argument: "keyed.key", value: first, rule: "a key; keyed() and keyed(options) make one" })
  }
  const options = (isOptions ? first : given[1]) ?? {}
  const form = keys.form("keyed", validate.options("keyed", options, settings.keyKinds))
  return { key: isOptions ? undefined : first, form }
}

/**
 * Says that a second execution of a request changes nothing, although its method does not say so: a search by POST, an
 * update that sets and does not add. It is retried as a GET is.
 *
 * What is said stays with the request, whatever is set after it. It is written in a `reprise-retry` header, which a
 * client without retries sends. A gateway that copies its callers' headers lets them say it, and give a key.
 *
 * @category requests
 */
export const idempotent = (self: Request): Request => marks.add(self, { idempotent: true })

/**
 * Says that the body of a request, a stream or something raw, is the same each time it is read, as that of a file is.
 * Otherwise such a body is sent once: a stream of Effect can be run again, but what it reads may be gone.
 *
 * It is said of the body that the request has: set that first.
 *
 * ```ts
 * import { HttpRetry } from "@reprise/http"
 * import { Stream } from "effect"
 * import { HttpClientRequest } from "effect/http"
 *
 * const upload = HttpClientRequest.put("https://files.example/1").pipe(
 *   HttpClientRequest.bodyStream(Stream.fromIterable([new Uint8Array(3)])),
 *   HttpRetry.replayable
 * )
 * console.log(upload.body._tag) // => Stream
 * ```
 *
 * @category requests
 */
export const replayable: (self: Request) => Request = bodies.replayable

/**
 * Reads a body that is a stream before it is sent, so that it can be sent again; what is longer than so many bytes is
 * not kept whole, and is sent once. It is said of the body that the request has: set that first.
 *
 * It is read before the first attempt; a stream that takes longer than an attempt may, or than the deadline allows, is
 * sent once, from its beginning.
 *
 * - `bytes`: integer, at least 0
 *
 * @throws `InvalidPolicy` for another number
 * @category requests
 */
export const bufferUpTo: {
  (bytes: number): (self: Request) => Request
  (self: Request, bytes: number): Request
} = /* @__PURE__ */ dual(2, bodies.bufferUpTo)

// ---------------------------------------------------------------------------------------------------------------------
// Without Effect, and on the server
// ---------------------------------------------------------------------------------------------------------------------

export { type Fetch, fetch, type Options as FetchOptions, type Outgoing } from "./FetchRetry.ts"
export { incoming, type IncomingOptions, overloaded, type OverloadedOptions, respondable } from "./HttpServerRetry.ts"
