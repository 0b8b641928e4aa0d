/** Which ends of a handler are an outcome, and the response that they are. */
import type * as Transience from "@reprise/core/Transience"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { causeResponse } from "effect/http/HttpServerError"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import * as Option from "effect/Option"
import { plain } from "./recorded.ts"

const firstError = 400
const firstServerError = 500

/** A response as a failure, in the form of the errors of clients, which classifiers know. */
export class Answered {
  readonly _tag: string
  readonly status: number
  readonly response: HttpServerResponse

  constructor(response: HttpServerResponse) {
    this._tag = `HTTP ${response.status}`
    this.status = response.status
    this.response = response
  }
}

/** Whether the same request would get this response again. */
const isFinal = (response: HttpServerResponse, { classify }: Transience.Classifier): boolean => {
  if (response.status < firstError) return true
  const { transience } = classify(new Answered(response))
  return transience === "terminal" || (transience === "unknown" && response.status < firstServerError)
}

/**
 * The response that is to be recorded, or `undefined`: the handler was interrupted, has failed with what is worth another
 * attempt or is recorded as the failure that it is, or in a way that has no response of its own.
 */
export const outcomeOf = (
  exit: Exit.Exit<HttpServerResponse, unknown>,
  transience: Transience.Classifier,
  isFailure: (error: unknown) => boolean
): Effect.Effect<HttpServerResponse | undefined> => {
  if (Exit.isSuccess(exit)) return Effect.succeed(isFinal(exit.value, transience) ? exit.value : undefined)
  const { cause } = exit
  if (cause.reasons.some(Cause.isInterruptReason)) return Effect.undefined
  const error = Option.getOrUndefined(Exit.findErrorOption(exit))
  if (error !== undefined && (transience.isTransient(error) || isFailure(error))) return Effect.undefined
  return Effect.map(causeResponse(cause), ([found]) => {
    const response = plain(found)
    return isFinal(response, transience) ? response : undefined
  })
}
