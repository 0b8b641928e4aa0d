/** Responses as they are recorded, and given again. */
import * as Effect from "effect/Effect"
import type * as Headers from "effect/http/Headers"
import * as HttpBody from "effect/http/HttpBody"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Sink from "effect/Sink"
import * as Stream from "effect/Stream"

type Response = HttpServerResponse.HttpServerResponse

/** The header that marks a response as recorded earlier, as Stripe names it. */
export const replayedHeader = "idempotent-replayed"

export interface Recorded {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** Not there where it was too large to keep. */
  readonly body?: Uint8Array
}

export const Recorded: Schema.Codec<Recorded, unknown> = Schema.toCodecJson(Schema.Struct({
  status: Schema.Int,
  headers: Schema.Record(Schema.String, Schema.String),
  body: Schema.optionalKey(Schema.Uint8Array)
}))

/** What describes the body, who may keep it, where the result is, and what a status must come with (RFC 9110). */
export const standardHeaders: ReadonlyArray<string> = [
  "allow",
  "cache-control",
  "content-disposition",
  "content-encoding",
  "content-language",
  "content-location",
  "content-range",
  "content-type",
  "etag",
  "expires",
  "last-modified",
  "link",
  "location",
  "vary",
  "www-authenticate"
]

/** One caller's alone, or of the connection, or made anew from the body. */
export const neverRecorded: RegExp =
  /^(?:set-cookie2?|connection|content-length|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade)$/

interface Read {
  readonly chunks: Array<Uint8Array>
  size: number
}

const picked = (headers: Headers.Headers, names: ReadonlyArray<string>): Record<string, string> => {
  const kept: Record<string, string> = {}
  for (const name of names) {
    const value = headers[name]
    if (value !== undefined) kept[name] = value
  }
  return kept
}

/**
 * The response as it will be sent, with a body that can be read. What a body of the platform's own is says it itself: its
 * type, its length, and all of a web response.
 */
export const plain = (response: Response): Response =>
  response.body._tag === "Raw" || response.body._tag === "FormData"
    ? HttpServerResponse.fromWeb(HttpServerResponse.toWeb(response))
    : response

/** What is recorded of a response, and the response, whose body may have been read for that. */
export interface Kept {
  readonly recorded: Recorded
  readonly response: Response
}

/** Reads the body of a plain response up to so many bytes. What is longer is passed on as it comes, and not recorded. */
export const keep = (
  response: Response,
  names: ReadonlyArray<string>,
  most: number
): Effect.Effect<Kept, unknown, Scope.Scope> => {
  const { body, headers, status } = response
  const head = { status, headers: picked(headers, names) }
  const whole = (bytes: Uint8Array, response: Response): Kept => ({
    recorded: bytes.length > most ? head : { ...head, body: bytes },
    response
  })
  if (body._tag === "Uint8Array") return Effect.succeed(whole(body.body, response))
  if (body._tag !== "Stream") return Effect.succeed(whole(new Uint8Array(), response))
  const sink = Sink.fold(
    (): Read => ({ chunks: [], size: 0 }),
    ({ size }) => size <= most,
    (read: Read, chunk: Uint8Array) =>
      Effect.sync(() => {
        read.chunks.push(chunk)
        read.size += chunk.length
        return read
      })
  )
  const type = headers["content-type"]
  return Effect.flatMap(Stream.peel(body.stream, sink), ([read, rest]) => {
    const kept = Stream.fromIterable(read.chunks)
    return read.size <= most
      ? Effect.map(
        Stream.mkUint8Array(kept),
        (bytes) => whole(bytes, HttpServerResponse.setBody(response, HttpBody.uint8Array(bytes, type)))
      )
      : Effect.succeed<Kept>({
        recorded: head,
        response: HttpServerResponse.setBody(
          response,
          HttpBody.stream(Stream.concat(kept, rest), type, body.contentLength)
        )
      })
  })
}

export const mark: (response: Response) => Response = HttpServerResponse.setHeader(replayedHeader, "true")

/** The recorded response; `undefined` where it could not be kept. */
export const replay = ({ body, headers, status }: Recorded): Response | undefined => {
  if (body === undefined) return undefined
  return mark(
    body.length === 0
      ? HttpServerResponse.empty({ status, headers })
      : HttpServerResponse.uint8Array(body, { status, headers, contentType: headers["content-type"] })
  )
}
