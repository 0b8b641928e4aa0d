/**
 * Retries for Effect's `HttpClient`.
 */
import type * as Policy from "@reprise/core/Policy"
import * as Policies from "@reprise/core/Policy"
import * as IdempotencyKey from "@reprise/core/IdempotencyKey"
import type * as Retry from "@reprise/core/Retry"
import * as RetryBudget from "@reprise/core/RetryBudget"
import type * as RetryEvents from "@reprise/core/RetryEvents"
import type { RetryExhausted } from "@reprise/core/RetryExhausted"
import type * as Transience from "@reprise/core/Transience"
import type { TimeoutError } from "effect/Cause"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as bodies from "./internal/client/body.ts"
import * as keys from "./internal/client/key.ts"
import * as marks from "./internal/client/marks.ts"
import * as origins from "./internal/client/origins.ts"
import type { ResponseError } from "./internal/client/responseError.ts"
import * as runs from "./internal/client/run.ts"
import * as settings from "./internal/client/settings.ts"
import type * as RetryHint from "./RetryHint.ts"

export {
  /**
   * A failing response that was worth a retry: `lastError` of the exhaustion, and what policies and events see.
   */
  ResponseError
} from "./internal/client/responseError.ts"

export const standard: Policy.Policy<unknown, unknown, unknown> = /* @__PURE__ */ Policies.honoringRetryAfter(
  /* @__PURE__ */ Policies.within(Policies.standard, "30 seconds")
)

export interface KeyOptions {
  readonly header?: string | undefined
  readonly style?: "quoted" | "bare" | undefined
}

export interface Options {
  readonly name?: string | undefined
  readonly attemptTimeout?: Duration.Input | "none" | undefined
  readonly budget?: RetryBudget.RetryBudget | "none" | undefined
  readonly maxOrigins?: number | undefined
  readonly profile?: RetryHint.ProfileName | RetryHint.Profile | undefined
  readonly transience?: Transience.Classifier | undefined
  readonly headers?: boolean | undefined
  readonly responseHeaders?: ReadonlyArray<string> | undefined
  readonly excerptBytes?: number | undefined
  readonly redirects?: number | undefined
  readonly keyed?: boolean | KeyOptions | undefined
  readonly onRetry?: ((event: Retry.RetryEvent) => Effect.Effect<void>) | undefined
  readonly onEvent?: ((event: RetryEvents.RetryEvent) => Effect.Effect<void>) | undefined
}

export interface RequestOptions extends Omit<Options, "maxOrigins"> {
  readonly policy?: Policy.Policy | undefined
}

export type Errors<E> = E | RetryExhausted<ResponseError | TimeoutError | Exclude<E, RetryExhausted>>

const Current: Context.Reference<RequestOptions | undefined> = /* @__PURE__ */ Context.Reference(
  "@reprise/http/HttpRetry/RequestOptions",
  { defaultValue: (): RequestOptions | undefined => undefined }
)
