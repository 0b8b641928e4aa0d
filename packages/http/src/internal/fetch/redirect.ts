/** Following redirects by hand, so that what is for one server does not reach another (Fetch, "HTTP-redirect fetch"). */
import * as Transience from "@reprise/core/Transience"
import { type Body, none } from "./body.ts"
import { cancel } from "./responses.ts"

type Fetch = (input: RequestInfo | URL, init: RequestInit) => Promise<Response>

/** A request on its way. */
export interface Hop {
  /** As the caller gave it; what `init` says holds before it. */
  readonly input: RequestInfo | URL
  readonly url: string
  readonly init: RequestInit & { readonly method: string; readonly headers: Headers; readonly signal: AbortSignal }
  /** What of the call goes with another URL. */
  readonly rest: RequestInit
  /** The headers that are meant for the first server. */
  readonly own: ReadonlyArray<string>
  /** Those of them that are not sent to where a redirect may lead that is not shown. */
  readonly announcements: ReadonlyArray<string>
  /** Told before a redirect is followed: with what method, and whether the headers for the first server stay behind. */
  readonly onRedirect: (method: string, leaves: boolean) => void
  /** Told that redirects are not shown; whether the request may be sent again. */
  readonly onHidden: () => boolean
  readonly body: Body
  /** Whether a redirect has left the first origin. */
  readonly left: boolean
}

const most = 20
const statuses: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])
const ofBody = ["content-encoding", "content-language", "content-length", "content-location", "content-type"]
const ofOrigin = ["authorization", "proxy-authorization", "cookie", "host"]

/** What fetch calls a network error, of a kind that stays. */
const refused = (message: string): TypeError =>
  Transience.annotate(new TypeError("fetch failed", { cause: new Error(message) }), "terminal")

const without = (headers: Headers, names: ReadonlyArray<string>): void => {
  for (const name of names) headers.delete(name)
}

// Where a fetch of somebody else's takes relative URLs, and only it knows of what.
const unknown = "http://unknown.invalid"

/** Where a response came from. */
const baseOf = (response: Response, { url }: Hop): URL => {
  const known = [url, response.url].find((url) => URL.canParse(url))
  if (known !== undefined) return new URL(known)
  if (!URL.canParse(url, unknown)) throw refused("Redirect from what is no URL")
  return new URL(url, unknown)
}

/** Where a response sends to, and from where; undefined where it sends nowhere. */
const leading = (response: Response, hop: Hop): { readonly from: URL; readonly to: URL } | undefined => {
  const location = statuses.has(response.status) ? response.headers.get("location") : null
  if (location === null) return undefined
  const from = baseOf(response, hop)
  if (!URL.canParse(location, from)) throw refused("Redirect to what is no URL")
  const to = new URL(location, from)
  if (!/^https?:$/.test(to.protocol)) throw refused(`Redirect to a URL of ${to.protocol}`)
  if (to.username !== "" || to.password !== "") throw refused("Redirect to a URL with credentials")
  if (to.hash === "") to.hash = from.hash
  return { from, to }
}

const next = (hop: Hop, status: number, from: URL, to: URL): Hop => {
  const { body, init, onRedirect, own, rest } = hop
  const { method } = init
  const toGet = status === 303 ? method !== "GET" && method !== "HEAD" : status < 303 && method === "POST"
  const headers = new Headers(init.headers)
  if (toGet) without(headers, ofBody)
  const leaves = to.origin !== from.origin
  // Also before it is refused: the redirect has shown that somebody has seen the request.
  onRedirect(toGet ? "GET" : method, leaves)
  if (!toGet && !body.replayable()) throw refused("Redirect of a body that can be read once")
  if (leaves) without(headers, [...ofOrigin, ...own])
  const relative = to.origin === unknown
  return {
    ...hop,
    left: hop.left || leaves,
    input: relative ? to.href.slice(unknown.length) : to,
    url: relative ? to.href.slice(unknown.length) : to.href,
    init: { ...rest, method: toGet ? "GET" : method, headers, signal: init.signal },
    body: toGet ? none : body
  }
}

/** The response, as it would be if fetch had followed. */
const marked = (response: Response, left: boolean): Response => {
  // A copy is made of what the runtime knows, which is not all.
  const clone = response.clone.bind(response)
  return Object.defineProperties(response, {
    redirected: { value: true, configurable: true },
    ...(left ? { type: { value: "cors", configurable: true } } : {}),
    clone: { value: () => marked(clone(), left), configurable: true, writable: true }
  })
}

/**
 * Where redirects cannot be followed by hand, as in browsers, which do not show them: the request once more, without
 * the headers that must not go elsewhere.
 */
const blindly = (fetch: Fetch, hop: Hop): Promise<Response> => {
  const { announcements, body, init, input, onHidden, onRedirect } = hop
  if (!onHidden()) throw refused("Redirect that is not shown, of a request that may have taken effect")
  if (!body.replayable()) throw refused("Redirect of a body that can be read once")
  const headers = new Headers(init.headers)
  without(headers, announcements)
  onRedirect(init.method, false)
  return fetch(input, { ...init, ...body.take(), headers, redirect: "follow" })
}

const bare = (url: string): string => url.replace(/#.*$/s, "")

/** Whether a response comes from somewhere else than where it was asked for. */
export const moved = (response: Response, url: string): boolean =>
  response.redirected || (response.url !== "" && URL.canParse(url) && bare(response.url) !== bare(new URL(url).href))

/** Sends a request, and again to wherever it is redirected. */
export const follow = async (fetch: Fetch, first: Hop): Promise<Response> => {
  let hop = first
  for (let count = 0;; count++) {
    const response = await fetch(hop.input, { ...hop.init, ...hop.body.take(), redirect: "manual" })
    // A fetch that does not listen to the signal is asked nothing more.
    if (hop.init.signal.aborted) return response
    if (response.type === "opaqueredirect") return blindly(fetch, hop)
    // A fetch of somebody else's may follow whatever it is told.
    if (moved(response, hop.url)) hop.onRedirect(hop.init.method, false)
    const way = leading(response, hop)
    if (way === undefined) return count === 0 ? response : marked(response, hop.left)
    cancel(response)
    if (count === most) throw refused("More than 20 redirects")
    hop = next(hop, response.status, way.from, way.to)
  }
}
