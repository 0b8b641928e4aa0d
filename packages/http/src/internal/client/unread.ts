/** A response whose body has been looked at, and can still be read. */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { HttpClientError } from "effect/http/HttpClientError"
import * as HttpClientResponse from "effect/http/HttpClientResponse"
import * as Stream from "effect/Stream"
import { isJson, mostJsonBytes, parseJson } from "../semantics/content.ts"
import * as prefix from "./prefix.ts"

type Response = HttpClientResponse.HttpClientResponse

export interface Looked {
  /** To be used in place of the one that was looked at. */
  readonly response: Response
  /** The body as JSON, where it is that, and not too long. */
  readonly body: unknown
}

const forms = ["text", "json", "arrayBuffer", "formData", "urlParamsBody"] as const

/** The same response, whose body comes from here. */
const over = (response: Response, stream: Stream.Stream<Uint8Array, HttpClientError>): Response => {
  const { headers, request, status } = response
  // What reads a body in all its forms is there already: the response of the web.
  let web: Response | undefined
  const read = Effect.suspend(() =>
    web !== undefined ? Effect.succeed(web) : Effect.map(
      Stream.mkUint8Array(stream),
      (bytes) => web = HttpClientResponse.fromWeb(request, new globalThis.Response(bytes, { headers, status }))
    )
  )
  // It has all that the response has, and these in place of its own.
  return Object.create(response, {
    stream: { get: () => stream },
    ...Object.fromEntries(
      forms.map((form) => [form, {
        get: () => Effect.flatMap(read, (_): Effect.Effect<unknown, HttpClientError> => _[form])
      }])
    )
  }) as Response
}

/** Looks at the body of a response where it is JSON, and comes within `longest`. */
export const look = (response: Response, longest: Duration.Input): Effect.Effect<Looked> => {
  if (!isJson(response.headers["content-type"])) return Effect.succeed({ response, body: undefined })
  return Effect.map(prefix.read(response.stream, mostJsonBytes, longest), ({ bytes, rest }) => {
    const first = Stream.succeed(bytes)
    return {
      response: over(response, rest === undefined ? first : Stream.concat(first, rest)),
      body: rest === undefined ? parseJson(bytes) : undefined
    }
  })
}
