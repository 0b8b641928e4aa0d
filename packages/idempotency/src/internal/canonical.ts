/**
 * A text for each value, the same for values that mean the same, and another for all others: what fingerprints are made
 * of. Every part says what it is and how long it is, so that no two values have one text.
 */
import * as Effect from "effect/Effect"
import * as Base64 from "effect/encoding/Base64"
import * as Predicate from "effect/Predicate"
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
const textOf = (text: string): string =>
  text.isWellFormed() ? `s${text.length}:${text}` : `w${text.length}:${JSON.stringify(text)}`

/**
 * The text of a value.
 *
 * Object keys are sorted; a property that is `undefined` is as one that is not there, and `-0` is `0`, as in JSON. What
 * has a `toJSON` is what that gives.
 *
 * @throws `PayloadRefused`; before it has read more than `limit` characters of texts, bytes of binary data and elements
 */
const encode = (value: unknown, limit: number): string => {
  let left = limit
  const spend = (bytes: number): void => {
    left -= bytes
    if (left < 0) throw new PayloadRefused({ reason: "TooLarge", rule: `be at most ${limit} bytes long` })
  }
  const within = new Set<object>()

  const text = (value: string): string => {
    spend(value.length)
    return textOf(value)
  }
  const list = (values: ReadonlyArray<unknown>, depth: number): string => {
    spend(values.length)
    let parts = `a${values.length}:`
    for (let i = 0; i < values.length; i++) parts += any(values[i], depth)
    return parts
  }
  const record = (value: Readonly<Record<string, unknown>>, depth: number): string => {
    const all = Object.keys(value)
    spend(all.length)
    const keys = all.filter((key) => value[key] !== undefined).toSorted()
    let parts = `o${keys.length}:`
    for (const key of keys) parts += text(key) + any(value[key], depth)
    return parts
  }
  const object = (value: object, depth: number): string => {
    const bytes = bytesOf(value)
    if (bytes !== undefined) {
      spend(bytes.byteLength)
      return `b${bytes.byteLength}:${Base64.encode(bytes)}`
    }
    if (depth > deepest) throw unencodable(`be at most ${deepest} levels deep`)
    if (within.has(value)) throw unencodable("not contain itself")
    within.add(value)
    const parts = Array.isArray(value)
      ? list(value, depth + 1)
      : Predicate.hasProperty(value, "toJSON") && typeof value.toJSON === "function"
      ? `j${any(value.toJSON(), depth + 1)}`
      : isPlain(value)
      // A plain object is read by its own keys.
      ? record(value as Readonly<Record<string, unknown>>, depth + 1)
      : undefined
    if (parts === undefined) throw unencodable("be plain data: encode an instance of a class with its schema")
    within.delete(value)
    return parts
  }
  const any = (value: unknown, depth: number): string => {
    switch (typeof value) {
      case "string":
        return text(value)
      case "number":
        return `d${value === 0 ? 0 : value};`
      case "boolean":
        return value ? "t" : "f"
      case "undefined":
        return "u"
      case "bigint":
        return `i${value};`
      case "object":
        return value === null ? "n" : object(value, depth)
      default:
        throw unencodable(`not contain a ${typeof value}`)
    }
  }

  return any(value, 0)
}

const encoder = new TextEncoder()

export interface Request {
  readonly method: string | undefined
  readonly path: string | undefined
  readonly payload: unknown
}

/** What is hashed for a request; see {@link encode}. What a getter or a `toJSON` throws is a defect. */
export const read = (
  { method, path, payload }: Request,
  limit: number
): Effect.Effect<Uint8Array, PayloadRefused> =>
  Effect.suspend(() => {
    try {
      const head = encode([method, path], Number.POSITIVE_INFINITY)
      return Effect.succeed(encoder.encode(head + encode(payload, limit)))
    } catch (thrown) {
      return thrown instanceof PayloadRefused ? Effect.fail(thrown) : Effect.die(thrown)
    }
  })
