// Fingerprints are HMAC-SHA-256: the published vectors of RFC 4231, with secrets that a store is made to keep.
import { expect, it } from "@effect/vitest"
import { IdempotencyStore } from "@reprise/idempotency"
import { SqliteClient } from "@reprise/sqlite"
import * as NodeCrypto from "@effect/platform-node/NodeCrypto"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"

const ascii = (text: string): string => Buffer.from(text, "latin1").toString("hex")
const counting = Array.from({ length: 25 }, (_, i) => (i + 1).toString(16).padStart(2, "0")).join("")

/** Section of the RFC, key, data, tag (of 4.6 the first 128 bits). */
const vectors: ReadonlyArray<readonly [section: string, key: string, data: string, tag: string]> = [
  [
    "4.2",
    "0b".repeat(20),
    ascii("Hi There"),
    "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
  ],
  [
    "4.3: a key shorter than the hash",
    ascii("Jefe"),
    ascii("what do ya want for nothing?"),
    "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
  ],
  ["4.4", "aa".repeat(20), "dd".repeat(50), "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"],
  ["4.5", counting, "cd".repeat(50), "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"],
  ["4.6: truncated", "0c".repeat(20), ascii("Test With Truncation"), "a3b6167473100ee06e0c796c2955552b"],
  [
    "4.7: a key longer than a block",
    "aa".repeat(131),
    ascii("Test Using Larger Than Block-Size Key - Hash Key First"),
    "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
  ],
  [
    "4.8: key and data longer than a block",
    "aa".repeat(131),
    ascii(
      "This is a test using a larger than block-size key and a larger than block-size data. " +
        "The key needs to be hashed before being used by the HMAC algorithm."
    ),
    "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"
  ]
]

const program = (key: string, data: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const store = () => Effect.provide(IdempotencyStore.IdempotencyStore, Layer.fresh(IdempotencyStore.layerSql()))
    yield* store()
    yield* sql`UPDATE reprise_idempotency_secret SET secret = ${key}`
    const [tag] = yield* (yield* store()).fingerprints(Buffer.from(data, "hex"))
    return tag
  }).pipe(Effect.provide(SqliteClient.layer({ filename: ":memory:" })))

it.effect.each(vectors)("RFC 4231, %s", ([, key, data, tag]) =>
  Effect.gen(function* () {
    for (const crypto of [NodeCrypto.layerDigest, Layer.empty]) {
      const found = yield* Effect.provide(program(key, data), crypto)
      expect(found.slice(0, tag.length)).toBe(tag)
    }
  }))
