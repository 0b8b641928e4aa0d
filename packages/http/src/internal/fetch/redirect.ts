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
  /** Told before they are left behind. */
  readonly onDropped: () => void
  readonly body: Body
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

/** Where a response sends to; undefined where it sends nowhere. */
const locationOf = (response: Response, from: URL): URL | undefined => {
  const location = statuses.has(response.status) ? response.headers.get("location") : null
  if (location === null) return undefined
  if (!URL.canParse(location, from)) throw refused("Redirect to what is no URL")
  const to = new URL(location, from)
  if (!/^https?:$/.test(to.protocol)) throw refused(`Redirect to a URL of ${to.protocol}`)
  if (to.username !== "" || to.password !== "") throw refused("Redirect to a URL with credentials")
  if (to.hash === "") to.hash = from.hash
  return to
}

const next = (hop: Hop, status: number, from: URL, to: URL): Hop => {
  const { body, init, onDropped, own, rest } = hop
  const { method } = init
  const toGet = status === 303 ? method !== "GET" && method !== "HEAD" : status < 303 && method === "POST"
  const headers = new Headers(init.headers)
  if (toGet) without(headers, ofBody)
  if (!toGet && !body.replayable()) throw refused("Redirect of a body that can be read once")
  if (to.origin !== from.origin) {
    without(headers, [...ofOrigin, ...own])
    onDropped()
  }
  return {
    ...hop,
    input: to,
    url: to.href,
    init: { ...rest, method: toGet ? "GET" : method, headers, signal: init.signal },
    body: toGet ? none : body
  }
}

const marked = (response: Response): Response =>
  Object.defineProperty(response, "redirected", { value: true, configurable: true })

/**
 * Where redirects cannot be followed by hand, as in browsers, which do not show them: the request once more, without
 * the headers that must not go elsewhere.
 */
const blindly = (fetch: Fetch, { body, init, input, onDropped, own }: Hop): Promise<Response> => {
  if (!body.replayable()) throw refused("Redirect of a body that can be read once")
  const headers = new Headers(init.headers)
  without(headers, own)
  onDropped()
  return fetch(input, { ...init, ...body.take(), headers, redirect: "follow" })
}

/** Sends a request, and again to wherever it is redirected. */
export const follow = async (fetch: Fetch, first: Hop): Promise<Response> => {
  let hop = first
  for (let count = 0;; count++) {
    const response = await fetch(hop.input, { ...hop.init, ...hop.body.take(), redirect: "manual" })
    // A fetch that does not listen to the signal is asked nothing more.
    if (hop.init.signal.aborted) return response
    if (response.type === "opaqueredirect") return blindly(fetch, hop)
    const from = new URL(hop.url)
    const to = locationOf(response, from)
    if (to === undefined) return count === 0 ? response : marked(response)
    cancel(response)
    if (count === most) throw refused("More than 20 redirects")
    hop = next(hop, response.status, from, to)
  }
}
