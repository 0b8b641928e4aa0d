/** What all stores have in common: hashes, and tokens. */
import * as Arr from "effect/Array"
import * as Digest from "effect/crypto/Digest"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import * as Hex from "effect/encoding/Hex"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type { Backing, IdempotencyStore, Secrets } from "../../IdempotencyStore.ts"
import * as canonical from "../canonical.ts"
import * as check from "../check.ts"
import * as hmac from "../hmac.ts"

const encoder = new TextEncoder()
const leastSecret = 16

export type Keys = Arr.NonEmptyReadonlyArray<Uint8Array>

/** A secret that nobody knows. */
export const newSecret = (): Uint8Array => SecureRandom.randomBytesUnsafe(32)

/** The bytes of secrets; checked. */
export const secretsOf = (secrets: Secrets): Keys => {
  const all = Redacted.isRedacted(secrets) ? Arr.of(secrets) : secrets
  const isGiven = Array.isArray(all) && all.length > 0 && all.every(Redacted.isRedacted)
  // What it is instead may be a secret all the same.
  check.holds("secret", typeof all, isGiven, "one Redacted text, or a list of them")
  return Arr.map(all, (secret): Uint8Array => {
    const bytes = encoder.encode(Redacted.value(secret))
    check.holds("secret", secret, bytes.length >= leastSecret, `at least ${leastSecret} bytes long`)
    return bytes
  })
}

/** The program's own, or that of WebCrypto. */
const digestOf: Effect.Effect<Digest.Digest["Service"]> = Effect.flatMap(
  Effect.serviceOption(Digest.Digest),
  Option.match({ onSome: Effect.succeed, onNone: () => Effect.provide(Digest.Digest, Digest.layerWebCrypto) })
)

export const make = (backing: Backing, secrets: Keys): Effect.Effect<IdempotencyStore> =>
  Effect.gen(function* () {
    const digest = yield* digestOf
    const signs = yield* Effect.forEach(secrets, (secret) => hmac.make(digest, secret))
    const [sign] = signs
    const prefix = Hex.encode(SecureRandom.randomBytesUnsafe(16))
    let claims = 0
    const store: IdempotencyStore = {
      ...backing,
      // No secret: a record must be found after it was changed.
      identify: (scope, key) => digest.digestHex(Digest.sha256, encoder.encode(canonical.textOf(scope) + key)),
      fingerprints: (payload) =>
        signs.length === 1
          ? Effect.map(sign(payload), Arr.of)
          : Effect.forEach(signs, (sign) => sign(payload)),
      holder: () => `${prefix}.${(claims++).toString(36)}`
    }
    return store
  })
