/** An idempotency key as a header carries it (draft-ietf-httpapi-idempotency-key-header-07). */
import type { IdempotencyKey } from "@reprise/core/IdempotencyKey"
import { InvalidPolicy } from "@reprise/core/InvalidPolicy"
import type { KeyForm } from "./marks.ts"

export const standardHeader = "idempotency-key"

/** The value: an Item of Structured Fields that is a String (RFC 9651, 4.1.6), or the key as it is. */
export const render = (key: IdempotencyKey, style: KeyForm["style"]): string =>
  style === "bare" ? key : `"${key.replace(/["\\]/g, "\\$&")}"`

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
  if (!token.test(name)) {
    throw new InvalidPolicy({ argument: `${place}.header`, value: header, rule: "a header's name" })
  }
  if (style === "quoted" || style === "bare") return { header: name, style }
  throw new InvalidPolicy({ argument: `${place}.style`, value: style, rule: `"quoted" or "bare"` })
}
