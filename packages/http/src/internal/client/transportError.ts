/** What a failure of the transport does not say by itself. */
import * as Transience from "@reprise/core/Transience"
import * as HttpClientError from "effect/http/HttpClientError"
import type * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as Result from "effect/Result"
import { bare } from "../semantics/judge.ts"

export const bodyNote = "its body is a stream that is read once: see HttpRetry.bufferUpTo and HttpRetry.replayable"

/** Whether fetch takes no such request, whatever the network does. */
const isRefused = ({ body, headers, method }: HttpClientRequest.HttpClientRequest): boolean => {
  // Any body will do, and the one that there is may be gone. The URL was right, or it would not have come to fetch.
  const init = { method, headers, ...(body._tag === "Empty" ? {} : { body: "x" }) }
  return Result.isFailure(Result.try(() => new Request("https://example.com/", init)))
}

/** All that fetch says of arguments that it does not take, and browsers of a network that failed. */
const isBareTypeError = (error: unknown): boolean =>
  error instanceof TypeError && error.cause === undefined && !("code" in error)

/** What the error says of the request, without the query: it may hold a secret, and the message goes into logs. */
const quiet = ({ reason }: HttpClientError.HttpClientError): void => {
  const { method, url } = reason.request
  Reflect.defineProperty(reason, "methodAndUrl", { value: `${method} ${bare(url)}`, configurable: true })
}

/** The failure, and whose fault it is: `broken` is whether the body failed, `spent` whether it is gone. */
export const explained = <E>(error: E, broken: boolean, spent: boolean): E => {
  if (!HttpClientError.isHttpClientError(error)) return error
  quiet(error)
  if (error.reason._tag !== "TransportError") return error
  const { cause, description, request } = error.reason
  // The caller's own: every attempt would end like this.
  if (broken || (isBareTypeError(cause) && isRefused(request))) {
    return Transience.annotate(error, { transience: "terminal", applied: broken ? "maybe" : "no" })
  }
  if (!spent) return error
  const said = description === undefined ? bodyNote : `${description}; ${bodyNote}`
  const reason = new HttpClientError.TransportError({ request, cause, description: said })
  const noted = new HttpClientError.HttpClientError({ reason })
  quiet(noted)
  return noted as E & HttpClientError.HttpClientError // As it came.
}
