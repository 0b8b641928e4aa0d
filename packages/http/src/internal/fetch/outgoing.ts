/** The arguments of `fetch`, read once, when the call is made. */
import * as body from "./body.ts"

/** A call of `fetch`, without what differs from attempt to attempt. */
export interface Outgoing {
  readonly input: RequestInfo | URL
  /** Absolute, where it can be read. */
  readonly url: string
  readonly origin: string
  readonly method: string
  readonly headers: Headers
  /** Everything else of the arguments. */
  readonly rest: RequestInit
  readonly redirect: RequestRedirect
  readonly body: body.Body
  /** The caller's own. */
  readonly signal: AbortSignal | undefined
}

interface Page {
  readonly location?: { readonly href: string; readonly origin: string } | undefined
}

// Not there in Node.js, whatever the types of browsers say.
const page: Page = globalThis

/** Whether a page of another origin sends it, which the receiver must allow header by header. */
export const isCrossOrigin = ({ origin }: Outgoing): boolean => {
  const own = page.location?.origin
  return own !== undefined && own !== origin
}

const resolved = (input: string | URL): string => {
  const base = page.location?.href
  return URL.canParse(input, base) ? new URL(input, base).href : String(input)
}

/** What a `Request` says beside method, headers, body and signal; a fetch of another URL would lose it. */
const restOf = (request: Request): RequestInit => ({
  cache: request.cache,
  credentials: request.credentials,
  integrity: request.integrity,
  keepalive: request.keepalive,
  mode: request.mode,
  referrer: request.referrer,
  referrerPolicy: request.referrerPolicy
})

// Written in small letters in a `RequestInit`, these are the same methods (Fetch, "normalize").
const normalized: ReadonlySet<string> = new Set(["DELETE", "GET", "HEAD", "OPTIONS", "POST", "PUT"])

const methodOf = (method: string): string => {
  const upper = method.toUpperCase()
  return normalized.has(upper) ? upper : method
}

const bodyOf = (request: Request | undefined, init: RequestInit, limit: number): body.Body => {
  // As fetch: a body of the second argument stands for the request's.
  if (init.body !== undefined && init.body !== null) return body.fromInit(init.body, limit)
  if (request === undefined) return body.none
  if (request.bodyUsed) return body.taken({})
  const stream: ReadableStream<Uint8Array<ArrayBuffer>> | null | undefined = request.body
  if (stream === null) return body.none
  // Not every browser shows it: then the request itself brings it, once.
  return stream === undefined ? body.once({}) : body.streamed(stream, limit)
}

export const read = (input: RequestInfo | URL, init: RequestInit, limit: number): Outgoing => {
  const request = input instanceof Request ? input : undefined
  const url = request === undefined ? resolved(input as string | URL) : request.url
  const { body: _, headers, method, redirect, signal, ...rest } = init
  // A Request in the place of the second argument has nothing that can be spread.
  const more = init instanceof Request ? restOf(init) : rest
  return {
    input,
    url,
    origin: URL.canParse(url) ? new URL(url).origin : "null",
    method: methodOf(method ?? request?.method ?? "GET"),
    headers: new Headers(headers ?? request?.headers),
    rest: more,
    redirect: redirect ?? request?.redirect ?? "follow",
    body: bodyOf(request, init, limit),
    // An explicit null takes the request's own signal away.
    signal: (signal === undefined ? request?.signal : signal) ?? undefined
  }
}

/** What goes with another URL than the one that the caller gave. */
export const elsewhere = ({ input, rest }: Outgoing): RequestInit =>
  input instanceof Request ? { ...restOf(input), ...rest } : rest
