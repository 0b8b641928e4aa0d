/**
 * A `fetch` that tries again, for code that is not on Effect.
 *
 * It is called as `fetch` is and resolves to the same `Response`. What differs is what happens to failures that pass.
 *
 * ```ts
 * import { HttpRetry } from "@reprise/http"
 *
 * const answers = [503, 200]
 * const flaky = async () => new Response("ok", { status: answers.shift()! })
 *
 * const fetch = HttpRetry.fetch(undefined, { fetch: flaky })
 * const response = await fetch("https://api.example.com/orders")
 * console.log(response.status, await response.text()) // => 200 ok
 * ```
 */
import type * as Policy from "@reprise/core/Policy"
import * as Presets from "@reprise/core/Presets"
import type * as Retry from "@reprise/core/Retry"
import type * as RetryBudget from "@reprise/core/RetryBudget"
import type * as Transience from "@reprise/core/Transience"
import type * as Duration from "effect/Duration"
import { run } from "./internal/fetch/run.ts"
import * as settings from "./internal/fetch/settings.ts"
import type * as RetryHint from "./RetryHint.ts"

export {
  /**
   * An answer that is worth another attempt: `lastError` of the exhaustion, and what policies, `when` and `onRetry` see.
   * Its `excerpt`, up to 1,024 bytes of a body that is a text, is there from `onRetry` on, as far as it comes within
   * 50 ms; there is none where `exhausted` is `"response"`, as the body is for the caller.
   */
  ResponseError
} from "./internal/semantics/responseError.ts"

/**
 * What can be called as `fetch` is.
 *
 * @category models
 */
export type Fetch = (
  ...args: Parameters<typeof globalThis.fetch>
) => ReturnType<typeof globalThis.fetch>

/**
 * A request, as far as the functions of {@link Options} may look at it.
 *
 * @category models
 */
export interface Outgoing {
  readonly method: string
  readonly url: string
  readonly headers: Headers
}

/**
 * How calls are retried; each has a default.
 *
 * @category models
 */
export interface Options {
  /** Name of the calls in errors and events. Default: `HTTP` and the method. */
  readonly name?: string | undefined
  /**
   * The longest time until the headers of a response are there, redirects included; then the attempt is aborted, and
   * tried again. It does not bound the body, which is the caller's to read. Finite, at least 1 ms. Default: 10 seconds.
   */
  readonly attemptTimeout?: Duration.Input | "none" | undefined
  /**
   * When the caller wants an answer, from the call on: no retry starts later, and an attempt ends with it, also where
   * `attemptTimeout` is `"none"`. Like that it ends with the headers of the response, and does not bound the body. It is
   * sent along as `grpc-timeout`. Finite, at least 1 ms. Default: none.
   */
  readonly deadline?: Duration.Input | undefined
  /**
   * Who pays for retries. Default: a budget for each origin (`RetryBudget.make`), which the calls of one function share;
   * so make it once, not for each call. It begins with one retry: where little is sent, a call that fails makes two
   * attempts rather than three.
   */
  readonly budget?: RetryBudget.RetryBudget | "none" | undefined
  /**
   * For how many origins there is a budget, and the hint in force; beyond it an origin that was not used for a minute
   * makes room, and where there is none new origins share one. From 1 to 1,000,000. Default: 1000.
   */
  readonly maxOrigins?: number | undefined
  /** How what a server says of the wait is read. Default: `"standard"`. */
  readonly profile?: RetryHint.ProfileName | RetryHint.Profile | undefined
  /** Which responses and errors are worth a retry, and which have done nothing. Default: `Transience.standard`. */
  readonly transience?: Transience.Classifier | undefined
  /** Whether `retry-attempt` and the deadline are sent. Default: true; never from a page to another origin. */
  readonly headers?: boolean | undefined
  /** Headers of responses that errors show, besides those that are nobody's secret. Default: none. */
  readonly responseHeaders?: ReadonlyArray<string> | undefined
  /**
   * Whether a second execution changes nothing although the method does not say so, as of a search by POST. Default:
   * the method says it.
   */
  readonly idempotent?: boolean | ((request: Outgoing) => boolean) | undefined
  /**
   * A key that every attempt of a call carries, so that the server knows a repetition; with it, methods that are not
   * idempotent are retried too, as long as the server heeds it. `true` makes a new one for each call. A text is for a
   * function that sends one request; a function derives it from the request, and none is sent where it gives
   * `undefined`. A key that the request has already, there or in `idempotency-key`, is left alone; an empty one is none.
   */
  readonly idempotencyKey?: boolean | string | ((request: Outgoing) => string | undefined) | undefined
  /** The header and the form of the key. Default: `idempotency-key`, in quotes as its draft wants it. */
  readonly idempotencyKeyForm?: {
    readonly header?: string | undefined
    readonly style?: "quoted" | "bare" | undefined
  } | undefined
  /**
   * What a call comes to when its last answer was worth another attempt that there will not be: `"error"` rejects with
   * `RetryExhausted`, whose `lastError` is a `ResponseError` with the status; `"response"` resolves to the answer, as
   * `fetch` would. Where the network failed it rejects in both cases. Default: `"error"`.
   */
  readonly exhausted?: "error" | "response" | undefined
  /**
   * How many bytes of a stream are kept as they are sent, for another attempt. A longer one is not sent again. It is
   * not needed for a `Request` with a text, a form or bytes of up to a megabyte. An integer of at least 0. Default: 0.
   */
  readonly bufferBody?: number | undefined
  /** What sends the requests. It heeds `redirect`, and may take relative URLs. Default: the global `fetch`. */
  readonly fetch?: Fetch | undefined
  /** Asked about failures that would be retried: false lets the response or the error leave as it is. */
  readonly when?: ((error: unknown) => boolean | PromiseLike<boolean>) | undefined
  /** Told of each retry before its wait. */
  readonly onRetry?: ((event: Retry.RetryEvent) => unknown) | undefined
}

/**
 * Makes a `fetch` that tries again.
 *
 * Without a policy it is `Presets.http`: up to 3 attempts, with waits from 200 ms, doubling, at most 5 s, each drawn
 * from zero, none later than 30 s; what a server asks for (`Retry-After` and its like) is waited for up to 60 s.
 *
 * - **Retried** are answers such as 429 and 503 and failures of the network, by `Transience`. Any other answer resolves
 *   as it is, 404 included
 * - **POST and PATCH** are retried where the failed attempt certainly did nothing (a refused connection, a 429), or with
 *   an `idempotencyKey`
 * - **An abort** of the signal that was given ends an attempt, a wait or the reading of the body at once, with the
 *   signal's own reason. It is never retried; an attempt's own timeout is
 * - **A body** that is a text, a form, a `Blob` or bytes is sent again, and so is that of a `Request`, up to a megabyte.
 *   A form of up to a megabyte that can be read within a second is the same byte for byte. A stream is not sent again,
 *   once it is read; see `bufferBody`
 * - **Redirects** are followed as `redirect` says, by the rules of the Fetch standard. The key, `retry-attempt` and the
 *   deadline do not go to another origin. Once a POST was redirected, a 429 says nothing of the servers before, which
 *   may have done what was asked: it is not sent again, unless those had its key
 * - **In browsers**, which do not show redirects, a POST is sent without attempt and deadline, and its key goes where it
 *   is redirected to, as with `fetch`. A request that may be repeated is sent once more when it is redirected, without
 *   attempt and deadline, and with its key
 *
 * ```ts
 * import { HttpRetry } from "@reprise/http"
 * import { Policy, RetryExhausted } from "@reprise/core"
 *
 * const overloaded = async () => new Response(null, { status: 503 })
 * const fetch = HttpRetry.fetch(Policy.delays(["1 millis"]), { fetch: overloaded })
 *
 * try {
 *   await fetch("https://api.example.com/orders")
 * } catch (error) {
 *   const last = RetryExhausted.is(error) ? error.lastError : undefined
 *   console.log(last instanceof HttpRetry.ResponseError && last.status) // => 503
 * }
 * ```
 *
 * @throws `InvalidPolicy` for a policy without an end that does not say `unlimited`, and for a bad option
 * @category constructors
 */
export const fetch = (
  policy: Policy.Policy<unknown, unknown, never> | undefined = Presets.http,
  options: Options = {}
): Fetch => {
  const made = settings.make(policy, options)
  return (input, init = {}) => run(made, input, init)
}
