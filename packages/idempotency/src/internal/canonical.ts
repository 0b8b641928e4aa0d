/**
 * A text for each value, the same for values that mean the same, and another for all others: what fingerprints are made
 * of. Every part says what it is and how long it is, so that no two values have one text.
 */
import * as Base64 from "effect/encoding/Base64"
import * as Exit from "effect/Exit"
import * as Predicate from "effect/Predicate"
import * as Redacted from "effect/Redacted"
import { PayloadRefused } from "../IdempotencyError.ts"

const deepest = 100

const unencodable = (rule: string): PayloadRefused => new PayloadRefused({ reason: "Unencodable", rule })

const isView = (value: object): value is ArrayBufferView => ArrayBuffer.isView(value)

const bytesOf = (value: object): Uint8Array | undefined => {
  if (value instanceof Uint8Array) return value
  if (isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
  return value instanceof ArrayBuffer ? new Uint8Array(value) : undefined
}

const isPlain = (value: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(value)
  // An object of another realm has another `Object.prototype`, which has no prototype either.
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

/** A lone surrogate is no character of UTF-8: written as it is, it would be the same as any other. */
export const textOf = (text: string): string =>
  text.isWellFormed() ? `s${text.length}:${text}` : `w${text.length}:${JSON.stringify(text)}`

/** What is left of the limit, and what the value being written is within. */
interface Writing {
  readonly limit: number
  left: number
  readonly within: Set<object>
}

const tooLarge = ({ limit }: Writing): PayloadRefused =>
  new PayloadRefused({ reason: "TooLarge", rule: `be at most ${limit} bytes long` })

const spend = (writing: Writing, bytes: number): void => {
  writing.left -= bytes
  if (writing.left < 0) throw tooLarge(writing)
}

const text = (writing: Writing, value: string): string => {
  spend(writing, value.length)
  return textOf(value)
}

/** In base 16, as the time that takes grows no faster than the digits do. */
const integer = (writing: Writing, value: bigint): string => {
  // Digits have four bits, and one is for the sign.
  const bits = Math.min(4 * writing.left + 1, Number.MAX_SAFE_INTEGER)
  if (BigInt.asIntN(bits, value) !== value) throw tooLarge(writing)
  const digits = value.toString(16)
  spend(writing, digits.length)
  return `i${digits};`
}

const list = (writing: Writing, values: ReadonlyArray<unknown>, depth: number): string => {
  spend(writing, values.length)
  let parts = `a${values.length}:`
  for (let i = 0; i < values.length; i++) parts += any(writing, values[i], depth)
  return parts
}

const record = (writing: Writing, value: Readonly<Record<string, unknown>>, depth: number): string => {
  const keys = Object.keys(value)
  spend(writing, keys.length)
  keys.sort()
  let parts = ""
  let count = 0
  for (const key of keys) {
    // A getter may give another value each time.
    const inner = value[key]
    if (inner === undefined) continue
    parts += text(writing, key) + any(writing, inner, depth)
    count++
  }
  return `o${count}:${parts}`
}

const object = (writing: Writing, value: object, depth: number): string => {
  const bytes = bytesOf(value)
  if (bytes !== undefined) {
    spend(writing, bytes.byteLength)
    return `b${bytes.byteLength}:${Base64.encode(bytes)}`
  }
  if (depth > deepest) throw unencodable(`be at most ${deepest} levels deep`)
  if (writing.within.has(value)) throw unencodable("not contain itself")
  if (Redacted.isRedacted(value)) throw unencodable("not contain a Redacted, which hides what would be compared")
  writing.within.add(value)
  const parts = Array.isArray(value)
    ? list(writing, value, depth + 1)
    : Predicate.hasProperty(value, "toJSON") && typeof value.toJSON === "function"
    ? `j${any(writing, value.toJSON(), depth + 1)}`
    : isPlain(value)
    // A plain object is read by its own keys.
    ? record(writing, value as Readonly<Record<string, unknown>>, depth + 1)
    : undefined
  if (parts === undefined) throw unencodable("be plain data: encode an instance of a class with its schema")
  writing.within.delete(value)
  return parts
}

const any = (writing: Writing, value: unknown, depth: number): string => {
  switch (typeof value) {
    case "string":
      return text(writing, value)
    case "number":
      return `d${value === 0 ? 0 : value};`
    case "boolean":
      return value ? "t" : "f"
    case "undefined":
      return "u"
    case "bigint":
      return integer(writing, value)
    case "object":
      return value === null ? "n" : object(writing, value, depth)
    default:
      throw unencodable(`not contain a ${typeof value}`)
  }
}

/**
 * The text of a value.
 *
 * Object keys are sorted; a property that is `undefined` is as one that is not there, and `-0` is `0`, as in JSON. What
 * has a `toJSON` is what that gives.
 *
 * @throws `PayloadRefused`; before it has read more than `limit` characters of texts, bytes of binary data and elements
 */
const encode = (value: unknown, limit: number): string => any({ limit, left: limit, within: new Set() }, value, 0)

const encoder = new TextEncoder()

export interface Request {
  readonly method?: string | undefined
  readonly path?: string | undefined
  readonly payload: unknown
}

/** What is hashed for a request; see {@link encode}. What a getter or a `toJSON` throws is a defect. */
export const read = (
  { method, path, payload }: Request,
  limit: number
): Exit.Exit<Uint8Array, PayloadRefused> => {
  try {
    const head = encode(method, Number.POSITIVE_INFINITY) + encode(path, Number.POSITIVE_INFINITY)
    return Exit.succeed(encoder.encode(head + encode(payload, limit)))
  } catch (thrown) {
    return thrown instanceof PayloadRefused ? Exit.fail(thrown) : Exit.die(thrown)
  }
}
