/** The request that a redirect leads to. */
import * as Headers from "effect/http/Headers"
import * as HttpBody from "effect/http/HttpBody"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import type * as HttpClientResponse from "effect/http/HttpClientResponse"
import * as Option from "effect/Option"
import * as UrlParams from "effect/http/UrlParams"
import * as redirects from "../semantics/redirect.ts"

type Request = HttpClientRequest.HttpClientRequest

/** Where a redirect leads. */
export interface Next {
  readonly request: Request
  /** The headers that do not go there. */
  readonly without: ReadonlyArray<string>
}

/**
 * The request that a response leads to; undefined where it leads nowhere, and a text that says why it is not followed.
 * `ours` are the headers that are for the first origin only, and `spent` is whether the body cannot be sent again.
 */
export const next = (
  request: Request,
  { headers: { location }, status }: HttpClientResponse.HttpClientResponse,
  ours: ReadonlyArray<string>,
  spent: boolean
): Next | string | undefined => {
  const from = () => Option.getOrUndefined(HttpClientRequest.toUrl(request))
  const way = redirects.wayOf({ status, location }, { method: request.method, from }, ours)
  if (way === undefined || typeof way === "string") return way
  const { asGet, to, without } = way
  if (spent && !asGet) return redirects.spentBody
  const bare = asGet
    ? HttpClientRequest.setBody(HttpClientRequest.setMethod(request, "GET"), HttpBody.empty)
    : request
  const headers = Headers.removeMany(bare.headers, without)
  const hash = to.hash === "" ? Option.none() : Option.some(to.hash.slice(1))
  to.hash = ""
  return {
    request: HttpClientRequest.makeWith(bare.method, to.href, UrlParams.empty, hash, headers, bare.body),
    without
  }
}
