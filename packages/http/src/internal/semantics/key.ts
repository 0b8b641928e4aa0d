/** An idempotency key as a header carries it (draft-ietf-httpapi-idempotency-key-header-07). */
import type { IdempotencyKey } from "@reprise/core/IdempotencyKey"
import { InvalidPolicy } from "@reprise/core/InvalidPolicy"
import type * as HttpClientRequest from "effect/http/HttpClientRequest"

export const standardHeader = "idempotency-key"

/** How an idempotency key is written, and where. */
export interface KeyForm {
  readonly header: string
  readonly style: "quoted" | "bare"
}

/** The value: an Item of Structured Fields that is a String (RFC 9651, 4.1.6), or the key as it is. */
export const render = (key: IdempotencyKey, style: KeyForm["style"]): string =>
  style === "bare" ? key : `"${key.replace(/["\\]/g, "\\$&")}"`

// An empty value, as of a variable that was not set, tells no two requests apart.
const isKey = (value: string | null | undefined): boolean =>
  value !== null && value !== undefined && !/^\s*(?:""\s*)?$/.test(value)

/** Whether one of these headers is a key, in the headers of fetch. */
export const hasKey = (headers: Headers, names: ReadonlyArray<string>): boolean =>
  names.some((name) => isKey(headers.get(name)))

/** Whether a request has one of these headers. */
export const hasOne = (
  { headers }: HttpClientRequest.HttpClientRequest,
  names: ReadonlyArray<string>
): boolean => names.some((name) => isKey(headers[name]))

// A key there would change what the request means, or be changed on its way.
const taken = new RegExp(
  "^(?:(?:accept|access-control|alt|content|if|proxy|sec|x-forwarded)(?:-.*)?|age|allow|authorization|cache-control|"
    + "connection|cookie2?|date|etag|expect|expires|forwarded|from|grpc-timeout|host|http2-settings|keep-alive|"
    + "last-modified|location|max-forwards|origin|pragma|prefer|priority|range|referer|reprise-retry|retry-after|"
    + "retry-attempt|server|set-cookie2?|te|traceparent|tracestate|trailer|transfer-encoding|upgrade|user-agent|vary|"
    + "via|warning|www-authenticate)$"
)

/** Whether a key may stand in a header of that name, which is in lower case. */
export const isName = (name: string): boolean => token.test(name) && !taken.test(name)

const token = /^[a-z0-9!#$%&'*+.^_`|~-]+$/

/** The form that was asked for, or an `InvalidPolicy`. */
export const form = (
  place: string,
  { header = standardHeader, style = "quoted" }: {
    readonly header?: string | undefined
    readonly style?: KeyForm["style"] | undefined
  }
): KeyForm => {
  const name = String(header).toLowerCase()
  // `=` and space are none of a name's characters, so marks can be read back.
  if (!isName(name)) {
    const rule = "the name of a header that has no meaning of its own"
    throw new InvalidPolicy({ argument: `${place}.header`, value: header, rule })
  }
  if (style === "quoted" || style === "bare") return { header: name, style }
  throw new InvalidPolicy({ argument: `${place}.style`, value: style, rule: `"quoted" or "bare"` })
}
