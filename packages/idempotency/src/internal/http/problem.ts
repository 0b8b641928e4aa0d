/** What a client is told that gets no outcome: problem details (RFC 9457). */
import type * as Duration from "effect/Duration"
import * as Headers from "effect/http/Headers"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as ProblemDetails from "effect/http/ProblemDetails"

/** What programs tell problems apart by. */
type Code =
  | "idempotency_key_missing"
  | "idempotency_key_malformed"
  | "idempotency_key_reused"
  | "idempotency_in_progress"
  | "idempotency_in_doubt"
  | "idempotency_unreplayable"
  | "idempotency_unavailable"
  | "idempotency_payload_too_large"
  | "idempotency_payload_malformed"

export interface Problem {
  readonly code: Code
  readonly status: number
  readonly title: string
  readonly detail: string
  /** How errors and logs name the record. */
  readonly record?: string | undefined
  /** When to come back; `"never"` tells clients that know `x-should-retry` not to. */
  readonly retryAfter?: Duration.Duration | "never" | undefined
}

const hintOf = (retryAfter: Problem["retryAfter"]): Readonly<Record<string, string>> => {
  if (retryAfter === undefined) return {}
  if (retryAfter === "never") return { "x-should-retry": "false" }
  return { "retry-after": Headers.formatRetryAfter({ _tag: "Duration", duration: retryAfter }) }
}

export const response = (
  { code, detail, record, retryAfter, status, title }: Problem,
  documentation: string | undefined
): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.setHeaders(
    ProblemDetails.toResponse({
      type: documentation ?? ProblemDetails.blankType,
      status,
      title,
      detail,
      code,
      ...(record !== undefined && { record })
    }),
    hintOf(retryAfter)
  )
