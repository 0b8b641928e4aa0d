/** Which request bodies can be sent again, and how one that cannot becomes one that can. */
import { InvalidPolicy } from "@reprise/core/InvalidPolicy"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as HttpBody from "effect/http/HttpBody"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as Stream from "effect/Stream"
import * as forms from "../semantics/form.ts"
import { beforeDeadline } from "../semantics/time.ts"
import * as prefix from "./prefix.ts"

type Request = HttpClientRequest.HttpClientRequest

type Said = { readonly replayable: true } | { readonly replayable: false; readonly bytes: number }

/** What is said of a body stays with that body, and no other. */
const said = /* @__PURE__ */ new WeakMap<HttpBody.HttpBody, Said>()

/** As `setBody`, but the headers stay as the caller has set them. */
const withBody = ({ hash, headers, method, url, urlParams }: Request, body: HttpBody.HttpBody): Request =>
  HttpClientRequest.makeWith(method, url, urlParams, hash, headers, body)

// A body of its own, as others may have the one that is given.
const copy = (body: HttpBody.HttpBody): HttpBody.HttpBody => {
  if (body._tag === "Stream") return HttpBody.stream(body.stream, body.contentType, body.contentLength)
  return body._tag === "Raw" ? new HttpBody.Raw(body.body, body.contentType, body.contentLength) : body
}

const say = (request: Request, what: Said): Request => {
  const body = copy(request.body)
  if (body === request.body) return request
  said.set(body, what)
  return withBody(request, body)
}

/** See `HttpRetry.replayable`. */
export const replayable = (request: Request): Request => say(request, { replayable: true })

/** See `HttpRetry.bufferUpTo`. */
export const bufferUpTo = (request: Request, bytes: number): Request => {
  if (Number.isSafeInteger(bytes) && bytes >= 0) return say(request, { replayable: false, bytes })
  throw new InvalidPolicy({ argument: "bufferUpTo.bytes", value: bytes, rule: "an integer of at least 0" })
}

/** A request of which it is known whether it can be sent again. */
export interface Prepared {
  readonly request: Request
  /** Whether the body has been read, and cannot be read again. */
  readonly spent: () => boolean
  /** Whether the body failed by itself, which no other attempt would change. */
  readonly broken: () => boolean
  readonly close: Effect.Effect<void>
}

const no = (): boolean => false

const lasting = (request: Request): Prepared => ({ request, spent: no, broken: no, close: Effect.void })

/** A stream of which it is noticed that somebody begins to read it, and that it fails. */
const watched = (
  request: Request,
  { contentLength, contentType, stream }: HttpBody.Stream,
  replayable: boolean,
  close: Effect.Effect<void>
): Prepared => {
  let begun = false
  let failed = false
  const noticed = Stream.suspend(() => {
    begun = true
    return Stream.tapCause(stream, (cause) =>
      Effect.sync(() => {
        // An attempt that was given up interrupts it.
        if (!Cause.hasInterruptsOnly(cause)) failed = true
      }))
  })
  const body = HttpBody.stream(noticed, contentType, contentLength)
  return { request: withBody(request, body), spent: () => begun && !replayable, broken: () => failed, close }
}

/** A stream that is kept, unless it is too long or slow: then it is sent once, from the beginning all the same. */
const buffered = (
  request: Request,
  body: HttpBody.Stream,
  most: number,
  attempt: number
): Effect.Effect<Prepared> => {
  const read = Effect.flatMap(
    beforeDeadline(attempt),
    (millis) => prefix.read(body.stream, most, Number.isFinite(millis) ? millis : undefined)
  )
  return Effect.map(read, ({ bytes, close, rest }) => {
    if (rest === undefined) {
      return lasting(HttpClientRequest.setBody(request, HttpBody.uint8Array(bytes, body.contentType)))
    }
    const whole = Stream.concat(Stream.succeed(bytes), rest)
    return watched(request, HttpBody.stream(whole, body.contentType, body.contentLength), false, close)
  })
}

/** A form that is written once, or goes as it is. */
const formed = (request: Request, given: FormData, attempt: number): Effect.Effect<Prepared> =>
  Effect.suspend(() => {
    const form = forms.copy(given)
    return Effect.map(forms.written(form, attempt), (written) =>
      lasting(
        written === undefined
          ? withBody(request, HttpBody.formData(form))
          : HttpClientRequest.setBody(request, HttpBody.uint8Array(written.bytes, written.type))
      ))
  })

/** As fetch takes it when it is called: the caller may go on to write into it. */
const snapshot = (body: unknown): unknown => {
  if (body instanceof ArrayBuffer) return body.slice(0)
  if (ArrayBuffer.isView(body)) return new Uint8Array(body.buffer, body.byteOffset, body.byteLength).slice()
  if (body instanceof FormData) return forms.copy(body)
  return body instanceof URLSearchParams ? new URLSearchParams(body) : body
}

const isLasting = (body: unknown): boolean =>
  body === undefined || body === null || typeof body === "string" || body instanceof ArrayBuffer ||
  ArrayBuffer.isView(body) || body instanceof Blob || body instanceof URLSearchParams || body instanceof FormData

/**
 * The request as it is to be sent, and sent again. Only what must be read first takes time: no more than an attempt may,
 * `attempt` milliseconds, nor than is left until the deadline.
 */
export const prepare = (request: Request, attempt: number): Prepared | Effect.Effect<Prepared> => {
  const { body } = request
  switch (body._tag) {
    case "Empty":
      return lasting(request)
    case "Uint8Array":
      return lasting(withBody(request, HttpBody.uint8Array(body.body.slice(), body.contentType)))
    case "FormData":
      return formed(request, body.formData, attempt)
    case "Raw":
      // Whoever reads it is not noticed, so it counts as read as soon as it is sent.
      return isLasting(body.body) || said.get(body)?.replayable === true
        ? lasting(withBody(request, new HttpBody.Raw(snapshot(body.body), body.contentType, body.contentLength)))
        : { ...lasting(request), spent: () => true }
    case "Stream": {
      const what = said.get(body)
      return what === undefined || what.replayable
        ? watched(request, body, what !== undefined, Effect.void)
        : buffered(request, body, what.bytes, attempt)
    }
  }
}
