/** Answers that tell a client whether to come back. */
import * as RetryExhausted from "@reprise/core/RetryExhausted"
import type * as Cause from "effect/Cause"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Headers from "effect/http/Headers"
import * as Respondable from "effect/http/HttpServerRespondable"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import { verdictHeader } from "../semantics/headers.ts"

/** Whole seconds, rounded up: a client that comes too early has come in vain. */
export const unavailable = (retryAfter: Duration.Duration | undefined): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.empty({
    status: 503,
    headers: retryAfter === undefined
      ? { [verdictHeader]: "false" }
      : { "retry-after": Headers.formatRetryAfter({ _tag: "Duration", duration: retryAfter }) }
  })

const respond = (): Effect.Effect<HttpServerResponse.HttpServerResponse> => Effect.succeed(unavailable(undefined))

/** Lets an exhaustion answer for itself. It stays the error that it is, for whoever logs it. */
const mark = (error: unknown): void => {
  if (!RetryExhausted.is(error) || Respondable.isRespondable(error)) return
  // A frozen one stays as it is, and is answered with 500.
  Reflect.defineProperty(error, Respondable.symbol, { value: respond, configurable: true, enumerable: false })
}

const markAll = ({ reasons }: Cause.Cause<unknown>): void => {
  for (const reason of reasons) {
    if (reason._tag === "Fail") mark(reason.error)
    else if (reason._tag === "Die") mark(reason.defect)
  }
}

export const respondable = <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.tapCause(self, (cause) => Effect.sync(() => markAll(cause)))
