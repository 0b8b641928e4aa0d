/** A request whose body has been read, and can be read again. */
import * as ByteSize from "effect/ByteSize"
import * as Effect from "effect/Effect"
import * as HttpBody from "effect/http/HttpBody"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import { MaxBodySize } from "effect/http/HttpIncomingMessage"
import type { HttpServerError } from "effect/http/HttpServerError"
import * as HttpServerRequest from "effect/http/HttpServerRequest"

type Request = HttpServerRequest.HttpServerRequest

/** All requests without a body are alike: one whose body is gone must not be taken for one of them. */
const isGone = ({ headers }: Request, { length }: Uint8Array): boolean =>
  length === 0 && Number(headers["content-length"] ?? 0) > 0

/** The bytes of the body, unless there are more than so many, or than the program allows anyway. */
export const bytesOf = (request: Request, most: number): Effect.Effect<Uint8Array<ArrayBuffer>, HttpServerError> =>
  Effect.flatMap(MaxBodySize, (allowed) => {
    const limit = ByteSize.bytes(most)
    return Effect.flatMap(
      Effect.provideService(
        request.arrayBuffer,
        MaxBodySize,
        allowed !== undefined && allowed < limit ? allowed : limit
      ),
      (buffer) => {
        const bytes = new Uint8Array(buffer)
        return isGone(request, bytes)
          ? Effect.die(new Error("The body of the request was read as a stream before the middleware"))
          : Effect.succeed(bytes)
      }
    )
  })

export const isTooLarge = ({ reason }: HttpServerError): boolean =>
  reason._tag === "RequestParseError" && reason.reason === "BodyTooLarge"

const ofBody: ReadonlySet<PropertyKey> = new Set<keyof Request>([
  "arrayBuffer",
  "json",
  "multipart",
  "multipartStream",
  "stream",
  "text",
  "urlParamsBody"
])

/** The web request that a server for such requests was given, with these bytes as its body. */
const webRequest = ({ source }: Request, body: Uint8Array<ArrayBuffer>): object =>
  source instanceof globalThis.Request && source.body !== null ? new globalThis.Request(source, { body }) : source

/** The request with these bytes as its body, which in the original are gone by now. */
export const withBody = (request: Request, bytes: Uint8Array<ArrayBuffer>): Request => {
  const read = HttpServerRequest.fromClientRequest(
    HttpClientRequest.post("http://localhost/", {
      headers: request.headers,
      body: HttpBody.uint8Array(bytes, request.headers["content-type"])
    })
  )
  let source: object | undefined
  // All else is the platform's own: its addresses and connection.
  return new Proxy(request, {
    get: (target, property): unknown => {
      if (ofBody.has(property)) return Reflect.get(read, property, read)
      if (property === "source") return source ??= webRequest(target, bytes)
      if (property === "modify") {
        return (options: Parameters<Request["modify"]>[0]) => withBody(target.modify(options), bytes)
      }
      return Reflect.get(target, property, target)
    }
  })
}

/** Path and query as the client sent them, without what a mounted router cuts off and what a proxy may change. */
export const pathOf = ({ originalUrl }: Request): string => originalUrl.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, "")
