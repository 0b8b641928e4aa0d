/** What all stores have in common: hashes, and tokens. */
import { InvalidPolicy } from "@reprise/core/InvalidPolicy"
import * as Arr from "effect/Array"
import * as Mac from "effect/crypto/Mac"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import * as Hex from "effect/encoding/Hex"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type { Backing, IdempotencyStore, Secrets } from "../../IdempotencyStore.ts"

const encoder = new TextEncoder()
const leastSecret = 16

export type Keys = Arr.NonEmptyReadonlyArray<Uint8Array>

/** A secret that nobody knows. */
export const newSecret = (): Uint8Array => SecureRandom.randomBytesUnsafe(32)

/** The bytes of secrets; checked. */
export const secretsOf = (secrets: Secrets): Keys =>
  Arr.map(Redacted.isRedacted(secrets) ? Arr.of(secrets) : secrets, (secret): Uint8Array => {
    const bytes = encoder.encode(Redacted.value(secret))
    if (bytes.length >= leastSecret) return bytes
    throw new InvalidPolicy({ argument: "secret", value: secret, rule: `at least ${leastSecret} bytes long` })
  })

// No secret: a record must be found after the secret was changed. It keeps the hashes apart from others of the same text.
const identities = encoder.encode("@reprise/idempotency/identity/1")

/** The program's own (that of Node.js answers at once), or that of WebCrypto. */
const macOf: Effect.Effect<Mac.Mac["Service"]> = Effect.flatMap(
  Effect.serviceOption(Mac.Mac),
  Option.match({
    onSome: Effect.succeed,
    onNone: () => Effect.provide(Mac.Mac, Layer.provide(Mac.layerWebCrypto, SecureRandom.layerWebCrypto))
  })
)

export const make = (backing: Backing, secrets: Keys): Effect.Effect<IdempotencyStore> =>
  Effect.gen(function* () {
    const mac = yield* macOf
    const keyOf = (bytes: Uint8Array) => Mac.key(Mac.hmacSha256, bytes)
    const identity = yield* keyOf(identities)
    const keys = yield* Effect.forEach(secrets, keyOf)
    const sign = (key: Mac.Key, bytes: Uint8Array): Effect.Effect<string> =>
      Effect.map(Effect.orDie(mac.sign(key, bytes)), Hex.encode)
    const prefix = Hex.encode(SecureRandom.randomBytesUnsafe(16))
    let claims = 0
    const store: IdempotencyStore = {
      ...backing,
      // The length keeps ("a", "b:c") and ("a:b", "c") apart.
      identify: (scope, key) => sign(identity, encoder.encode(`${scope.length}:${scope}${key}`)),
      fingerprints: (payload) => Effect.forEach(keys, (key) => sign(key, payload)),
      holder: () => `${prefix}.${(claims++).toString(36)}`
    }
    return store
  }).pipe(Effect.orDie)
