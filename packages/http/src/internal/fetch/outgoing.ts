/** The arguments of `fetch`, read once, when the call is made. */
import { baseUrl } from "../semantics/page.ts"
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

const resolved = (input: string | URL): URL | undefined => {
  const base = baseUrl()
  return URL.canParse(input, base) ? new URL(input, base) : undefined
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
  if (init.body !== undefined && init.body !== null) {
    // Fetch refuses a stream without it, so that nobody counts on reading the answer meanwhile.
    const unsaid = init.body instanceof ReadableStream && !("duplex" in init)
    return unsaid ? body.taken({ body: init.body }) : body.fromInit(init.body, limit)
  }
  if (request === undefined) return body.none
  if (request.bodyUsed) return body.taken({})
  const stream: ReadableStream<Uint8Array<ArrayBuffer>> | null | undefined = request.body
  if (stream === null) return body.none
  // Not every browser shows it.
  return stream === undefined ? body.ofHidden(request) : body.ofRequest(stream, limit)
}

const isSignal = (value: object): boolean => "aborted" in value && "throwIfAborted" in value

const signalOf = (request: Request | undefined, { signal }: RequestInit): AbortSignal | undefined => {
  // An explicit null takes the request's own signal away.
  const own = (signal === undefined ? request?.signal : signal) ?? undefined
  if (own === undefined || (typeof own === "object" && isSignal(own))) return own
  throw new TypeError(`signal must be an AbortSignal, got ${typeof own}`)
}

export const read = (input: RequestInfo | URL, init: RequestInit, limit: number): Outgoing => {
  const request = input instanceof Request ? input : undefined
  const asked = request?.url ?? (input as string | URL)
  const url = resolved(asked)
  const { body: _, headers, method, redirect, signal: __, ...rest } = init
  // A Request in the place of the second argument has nothing that can be spread.
  const more = init instanceof Request ? restOf(init) : rest
  return {
    input,
    url: request?.url ?? url?.href ?? String(asked),
    origin: url?.origin ?? "null",
    method: methodOf(method ?? request?.method ?? "GET"),
    headers: new Headers(headers ?? request?.headers),
    rest: more,
    redirect: redirect ?? request?.redirect ?? "follow",
    body: bodyOf(request, init, limit),
    signal: signalOf(request, init)
  }
}

/** What goes with another URL than the one that the caller gave. */
export const elsewhere = ({ input, rest }: Outgoing): RequestInit =>
  input instanceof Request ? { ...restOf(input), ...rest } : rest
