/** Keys as a header carries them (draft-ietf-httpapi-idempotency-key-header-07). */

// A String of Structured Fields, with parameters, which say nothing here (RFC 9651, sections 3.3.3 and 3.1.2).
const quoted =
  /^ *"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"(?:; *[a-z*][a-z0-9_.*-]*(?:=(?:%?"(?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*"|[^\s",;]+))?)* *$/

// A comma may be where a proxy has joined two headers, and a quotation mark the half of a pair.
const bare = /^[\x21\x23-\x2b\x2d-\x7e]+$/

/** The key that the value of a header holds, or `undefined`. Its length is looked at where keys are. */
export const parse = (value: string, unquoted: boolean): string | undefined => {
  const text = quoted.exec(value)?.[1]
  if (text !== undefined) return text.replace(/\\(.)/g, "$1")
  return unquoted && bare.test(value) ? value : undefined
}
