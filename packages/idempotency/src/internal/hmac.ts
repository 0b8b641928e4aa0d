/** HMAC-SHA-256 (RFC 2104) out of the digests that the program has: those of Node.js are there at once. */
import * as Digest from "effect/crypto/Digest"
import * as Effect from "effect/Effect"

const blockSize = 64

export type Sign = (message: Uint8Array) => Effect.Effect<string>

const joined = (one: Uint8Array, other: Uint8Array): Uint8Array => {
  const bytes = new Uint8Array(one.length + other.length)
  bytes.set(one)
  bytes.set(other, one.length)
  return bytes
}

/** What signs under a key; the tag is in hexadecimal. */
export const make = (digest: Digest.Digest["Service"], secret: Uint8Array): Effect.Effect<Sign> => {
  const short = secret.length > blockSize ? digest.digest(Digest.sha256, secret) : Effect.succeed(secret)
  return Effect.map(short, (key) => {
    const pad = (byte: number) => Uint8Array.from({ length: blockSize }, (_, i) => (key[i] ?? 0) ^ byte)
    const inner = pad(0x36)
    const outer = pad(0x5c)
    return (message) =>
      Effect.flatMap(
        digest.digest(Digest.sha256, joined(inner, message)),
        (hash) => digest.digestHex(Digest.sha256, joined(outer, hash))
      )
  })
}
