/** What a request is answered that gets no outcome of the handler. */
import * as Duration from "effect/Duration"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import type * as IdempotencyError from "../../IdempotencyError.ts"
import type { Failure } from "../../Idempotency.ts"
import * as problem from "./problem.ts"
import type { Settings } from "./settings.ts"

const isTransient = (error: IdempotencyError.StoreFailed): boolean =>
  error["~@reprise/core/Transience"].transience === "transient"

export const missing = ({ documentation, header }: Settings): HttpServerResponse =>
  problem.response({
    code: "idempotency_key_missing",
    status: 400,
    title: "A key is missing",
    detail: `This operation wants the header ${header}, with the same value at each attempt.`
  }, documentation)

export const malformed = ({ documentation, header }: Settings, rule: string): HttpServerResponse =>
  problem.response({
    code: "idempotency_key_malformed",
    status: 400,
    title: "The key is malformed",
    detail: `The value of ${header} must ${rule}.`
  }, documentation)

export const tooLarge = ({ documentation, maxBodyBytes }: Settings): HttpServerResponse =>
  problem.response({
    code: "idempotency_payload_too_large",
    status: 413,
    title: "The request is too large",
    detail: `The body of this operation must be at most ${maxBodyBytes} bytes long.`
  }, documentation)

export const unreplayable = ({ documentation }: Settings, record: string): HttpServerResponse =>
  problem.response({
    code: "idempotency_unreplayable",
    status: 500,
    title: "The response was not kept",
    detail: "The operation has run, once. Its response was too large to be kept.",
    record,
    retryAfter: "never"
  }, documentation)

export const later = ({ documentation, retryAfter }: Settings): HttpServerResponse =>
  problem.response({
    code: "idempotency_unavailable",
    status: 503,
    title: "The request could not be completed now",
    detail: "Send it again with the same key.",
    retryAfter
  }, documentation)

/** Later is not before the present holder may have gone, nor in vain where the operation is a short one. */
const comesBack = ({ retryAfter }: Settings, left: Duration.Duration): Duration.Duration =>
  Duration.min(retryAfter, left)

/** Of an error of this package's. */
export const of = (settings: Settings, error: Failure): HttpServerResponse => {
  const { documentation, retryAfter, settles } = settings
  switch (error._tag) {
    case "InvalidIdempotencyKey":
      return malformed(settings, error.rule)
    case "PayloadRefused":
      if (error.reason === "TooLarge") return tooLarge(settings)
      return problem.response({
        code: "idempotency_payload_malformed",
        status: 400,
        title: "The request cannot be told from others",
        detail: `What this operation is asked for must ${error.rule}.`
      }, documentation)
    case "KeyReused":
      return problem.response({
        code: "idempotency_key_reused",
        status: 422,
        title: "The key was used before",
        detail: "The key belongs to another request. A new operation needs a new key.",
        record: error.record
      }, documentation)
    case "InProgress":
      return problem.response({
        code: "idempotency_in_progress",
        status: 409,
        title: "A request with this key is in progress",
        detail: "The first request has no outcome yet.",
        record: error.record,
        retryAfter: comesBack(settings, error.left)
      }, documentation)
    case "InDoubt":
      return problem.response({
        code: "idempotency_in_doubt",
        status: 500,
        title: "The outcome is not known",
        detail: "The operation may have run, or not. It is not run again.",
        record: error.record,
        retryAfter: settles ? undefined : "never"
      }, documentation)
    case "StoreFailed":
      return isTransient(error)
        ? problem.response({
          code: "idempotency_unavailable",
          status: 503,
          title: "Requests with a key cannot be served now",
          detail: "Nothing was run for this request.",
          retryAfter
        }, documentation)
        : problem.response({
          code: "idempotency_unavailable",
          status: 500,
          title: "Requests with this key cannot be served",
          detail: "Nothing was run for this request.",
          retryAfter: "never"
        }, documentation)
  }
}
