/**
 * The key that makes a repeated request one operation.
 *
 * It is made once per logical operation and sent with every attempt, so that the receiver can tell a retry from a
 * second order. `Retry.runKeyed` makes one and hands it to every attempt.
 *
 * ```ts
 * import { IdempotencyKey } from "@reprise/core"
 *
 * console.log(IdempotencyKey.make("order-1017")) // => order-1017
 * console.log(IdempotencyKey.isIdempotencyKey("no\nline breaks")) // => false
 * ```
 */
import type * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import type { SelfDescription } from "./Transience.ts"

/**
 * A text that can travel in a header: 1 to 255 characters of printable ASCII, space to tilde, without a space at
 * either end (a header loses it).
 *
 * @category models
 */
export type IdempotencyKey = string & { readonly "~@reprise/core/IdempotencyKey": "IdempotencyKey" }

/**
 * The longest key, in bytes.
 *
 * @category models
 */
export const mostBytes = 255

const Base: new(fields: { readonly rule: string; readonly message: string }) =>
  & Cause.YieldableError
  & { readonly _tag: "InvalidIdempotencyKey"; readonly rule: string } = Data.TaggedError("InvalidIdempotencyKey")

/**
 * A text cannot be an idempotency key. It names the rule that is broken and the place, and never the text: keys are
 * secrets.
 *
 * @category errors
 */
export class InvalidIdempotencyKey extends Base {
  constructor(rule: string) {
    super({ rule, message: `An idempotency key must ${rule}` })
  }

  /** Another attempt with the same text would be refused as well, and nothing was done under it. */
  get "~@reprise/core/Transience"(): SelfDescription {
    return { transience: "terminal", applied: "no" }
  }
}

/** The rule that a value breaks, or `undefined`. */
const broken = (value: unknown): string | undefined => {
  if (typeof value !== "string") return `be a text, not ${value === null ? "null" : typeof value}`
  if (value.length === 0) return "not be empty"
  const wrong = /[^\x20-\x7e]/.exec(value)
  if (wrong !== null) return `be printable ASCII; the character at position ${wrong.index + 1} is not`
  if (value.length > mostBytes) return `be at most ${mostBytes} bytes long, not ${value.length}`
  return value.trim() === value ? undefined : "not begin or end with a space"
}

/**
 * Whether a value can be an idempotency key.
 *
 * @category guards
 */
export const isIdempotencyKey = (u: unknown): u is IdempotencyKey => broken(u) === undefined

/**
 * A key from a text that the program knows to be right, such as one derived from an order's id.
 *
 * @throws `InvalidIdempotencyKey`
 * @category constructors
 */
export const make = (text: string): IdempotencyKey => {
  const rule = broken(text)
  if (rule !== undefined) throw new InvalidIdempotencyKey(rule)
  // `broken` has just shown that it is one.
  return text as IdempotencyKey
}

/**
 * A key from a text that came from outside.
 *
 * @category constructors
 */
export const fromString = (text: string): Effect.Effect<IdempotencyKey, InvalidIdempotencyKey> =>
  Effect.try({
    try: () => make(text),
    catch: (error) =>
      Predicate.isTagged(error, "InvalidIdempotencyKey")
        ? error as InvalidIdempotencyKey
        : new InvalidIdempotencyKey(String(error))
  })

// Made at the first key, and one for the process, so that keys made in one millisecond still ascend.
let secureRandom: SecureRandom.SecureRandom["Service"] | undefined

/**
 * What makes new keys: a UUIDv7 (RFC 9562, section 5.7) from Effect's cryptographic randomness and clock. Provide
 * another effect to fix the keys in a test or to give them another form.
 *
 * @category references
 */
export const Generator: Context.Reference<Effect.Effect<IdempotencyKey>> = /* @__PURE__ */ Context.Reference(
  "@reprise/core/IdempotencyKey/Generator",
  {
    defaultValue: () =>
      Effect.suspend(() => {
        secureRandom ??= SecureRandom.make(SecureRandom.randomBytesUnsafe)
        return Effect.map(secureRandom.uuidV7(), make)
      })
  }
)

/**
 * A new key. Use it where the operation has no natural one.
 *
 * @category constructors
 */
export const generate: Effect.Effect<IdempotencyKey> = /* @__PURE__ */ Effect.flatMap(
  Generator,
  // Whatever generates it, it must be able to travel.
  (generator) => Effect.map(generator, make)
)

/**
 * The key of the operation being attempted: set by `Retry.runKeyed` and `Retry.make` for every attempt, and on the
 * receiving side by the middleware of `@reprise/idempotency` for the handler.
 *
 * @category references
 */
export const Current: Context.Reference<Option.Option<IdempotencyKey>> = /* @__PURE__ */ Context.Reference(
  "@reprise/core/IdempotencyKey/Current",
  { defaultValue: () => Option.none<IdempotencyKey>() }
)
