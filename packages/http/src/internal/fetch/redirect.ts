/** Following redirects by hand, so that what is for one server does not reach another. */
import * as Transience from "@reprise/core/Transience"
import * as redirects from "../semantics/redirect.ts"
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

/** What fetch calls a network error, of a kind that stays. */
const refused = (message: string): TypeError =>
  Transience.annotate(new TypeError("fetch failed", { cause: new Error(message) }), "terminal")

const removed = (given: Headers, names: ReadonlyArray<string>): Headers => {
  const headers = new Headers(given)
  for (const name of names) headers.delete(name)
  return headers
}

// Where a fetch of somebody else's takes relative URLs, and only it knows of what.
const unknown = "http://unknown.invalid"

/** Where a response came from. */
const baseOf = (response: Response, { url }: Hop): URL | undefined => {
  const known = [url, response.url].find((url) => URL.canParse(url))
  if (known !== undefined) return new URL(known)
  return URL.canParse(url, unknown) ? new URL(url, unknown) : undefined
}

const next = (hop: Hop, { asGet, leaves, to, without }: redirects.Way): Hop => {
  const { body, init, onRedirect, rest } = hop
  const method = asGet ? "GET" : init.method
  // Also before it is refused: the redirect has shown that somebody has seen the request.
  onRedirect(method, leaves)
  if (!asGet && !body.replayable()) throw refused(redirects.spentBody)
  const relative = to.origin === unknown
  return {
    ...hop,
    left: hop.left || leaves,
    input: relative ? to.href.slice(unknown.length) : to,
    url: relative ? to.href.slice(unknown.length) : to.href,
    init: { ...rest, method, headers: removed(init.headers, without), signal: init.signal },
    body: asGet ? none : body
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
 * attempt and deadline. Its key goes along, as with `fetch`.
 */
const blindly = (fetch: Fetch, hop: Hop): Promise<Response> => {
  const { announcements, body, init, input, onHidden, onRedirect } = hop
  if (!onHidden()) throw refused("redirect that is not shown, of a request that may have taken effect")
  if (!body.replayable()) throw refused(redirects.spentBody)
  onRedirect(init.method, false)
  return fetch(input, { ...init, ...body.take(), headers: removed(init.headers, announcements), redirect: "follow" })
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
    const { init: { method }, own } = hop
    const said = { status: response.status, location: response.headers.get("location") }
    const asked: Hop = hop
    const way = redirects.wayOf(said, { method, from: () => baseOf(response, asked) }, own)
    if (way === undefined) return count === 0 ? response : marked(response, hop.left)
    cancel(response)
    if (typeof way === "string") throw refused(way)
    if (count === redirects.most) throw refused(redirects.tooMany(count))
    hop = next(hop, way)
  }
}
