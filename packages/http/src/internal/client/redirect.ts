/** Where a redirect leads (RFC 9110, 15.4), and what does not go there (Fetch, "HTTP-redirect fetch"). */
import * as Headers from "effect/http/Headers"
import * as HttpBody from "effect/http/HttpBody"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import type * as HttpClientResponse from "effect/http/HttpClientResponse"
import * as Option from "effect/Option"
import * as UrlParams from "effect/http/UrlParams"

type Request = HttpClientRequest.HttpClientRequest

const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

const ofOrigin: ReadonlyArray<string> = ["authorization", "proxy-authorization", "cookie", "host"]

const ofBody: ReadonlyArray<string> = ["content-encoding", "content-language", "content-location"]

const becomesGet = (status: number, method: string): boolean =>
  ((status === 301 || status === 302) && method === "POST") || (status === 303 && method !== "GET" && method !== "HEAD")

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
  response: HttpClientResponse.HttpClientResponse,
  ours: ReadonlyArray<string>,
  spent: boolean
): Next | string | undefined => {
  const location = response.headers["location"]
  if (location === undefined || !redirects.has(response.status)) return undefined
  const from = Option.getOrUndefined(HttpClientRequest.toUrl(request))
  if (from === undefined || !URL.canParse(location, from)) return "redirect to what is no URL"
  const to = new URL(location, from)
  if (to.protocol !== "http:" && to.protocol !== "https:") return `redirect to a URL of ${to.protocol}`
  if (to.username !== "" || to.password !== "") return "redirect to a URL with credentials"
  const asGet = becomesGet(response.status, request.method)
  if (spent && !asGet) return "redirect of a body that can be read once"
  const bare = asGet
    ? HttpClientRequest.setBody(HttpClientRequest.setMethod(request, "GET"), HttpBody.empty)
    : request
  const without = [...(asGet ? ofBody : []), ...(to.origin === from.origin ? [] : [...ofOrigin, ...ours])]
  const headers = Headers.removeMany(bare.headers, without)
  const hash = to.hash === "" ? Option.none() : Option.some(to.hash.slice(1))
  to.hash = ""
  return {
    request: HttpClientRequest.makeWith(bare.method, to.href, UrlParams.empty, hash, headers, bare.body),
    without
  }
}
