/** Whether a failure is that of the request that was sent, of which alone "it did nothing" can be said. */
import * as HttpClientError from "effect/http/HttpClientError"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as HttpClientResponse from "effect/http/HttpClientResponse"
import * as Option from "effect/Option"

type Request = HttpClientRequest.HttpClientRequest

const withoutHash = (url: URL): string => {
  url.hash = ""
  return url.href
}

const targetOf = (request: Request): string | undefined =>
  Option.getOrUndefined(Option.map(HttpClientRequest.toUrl(request), withoutHash))

// Not by identity: what sends a request adds headers to it.
const isSame = (sent: Request, other: Request): boolean =>
  sent === other || (sent.method === other.method && targetOf(sent) === targetOf(other))

/** A redirect that was followed beneath has led to another request, and perhaps only the transport knows of it. */
export const isAnswerTo = (sent: Request, response: HttpClientResponse.HttpClientResponse): boolean => {
  const { request, url } = response
  if (!isSame(sent, request)) return false
  if (Option.exists(HttpClientResponse.toWeb(response), ({ redirected }) => redirected)) return false
  const target = targetOf(sent)
  // Of a page's relative URL only the transport knows where it led.
  return target === undefined || !URL.canParse(url) || withoutHash(new URL(url)) === target
}

/** A client may make other requests on the way, and those may fail after the one that was sent has succeeded. */
export const isFailureOf = (sent: Request, error: unknown): boolean =>
  HttpClientError.isHttpClientError(error) && isSame(sent, error.reason.request)
