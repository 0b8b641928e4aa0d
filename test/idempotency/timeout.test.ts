// How long a question to a store may take, in virtual time: Redis, as it is where it does not answer.
import * as NodeCrypto from "@effect/platform-node/NodeCrypto"
import { describe, expect, it } from "@effect/vitest"
import { Idempotency, IdempotencyStore } from "@reprise/idempotency"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Redis from "effect/persistence/Redis"
import { TestClock } from "effect/testing"
import { order } from "./memory.ts"

type Send = Redis.Redis["Service"]["send"]

/** A store whose server answers the first question about each key as `send` says, and scripts at once. */
const layer = (send: Send) => {
  const redis = Layer.succeed(
    Redis.Redis,
    Redis.Redis.of({
      send,
      eval: () => () => Effect.succeed(1),
      subscribe: () => Effect.die("nobody asks"),
      reserve: Effect.die("nobody asks")
    })
  )
  const secret = Redacted.make("a secret of the tests' own")
  return IdempotencyStore.layerRedis({ secret, timeout: "5 seconds" }).pipe(
    Layer.provide(redis),
    Layer.provide(NodeCrypto.layerDigest)
  )
}

const call = (key: string) => Effect.exit(Idempotency.once({ ...order, key }, Effect.succeed(key)))
const start = (key: string) => Effect.forkChild(call(key), { startImmediately: true })

describe("a question that is not answered", () => {
  it.effect("ends after its own time, however many there are", () =>
    Effect.gen(function* () {
      const first = yield* start("first")
      yield* TestClock.adjust("2 seconds")
      const second = yield* start("second")
      const third = yield* start("third")
      yield* TestClock.adjust(2_999)
      expect(first.pollUnsafe()).toBeUndefined()
      yield* TestClock.adjust(1)
      expect(String(yield* Fiber.join(first))).toContain("StoreFailed")
      yield* TestClock.adjust(1_999)
      expect([second.pollUnsafe(), third.pollUnsafe()]).toEqual([undefined, undefined])
      yield* TestClock.adjust(1)
      expect(String(yield* Fiber.join(second))).toContain("StoreFailed")
      expect(String(yield* Fiber.join(third))).toContain("StoreFailed")
      // One that comes when nobody has waited for long has its time as well.
      yield* TestClock.adjust("1 minute")
      const fourth = yield* start("fourth")
      yield* TestClock.adjust(4_999)
      expect(fourth.pollUnsafe()).toBeUndefined()
      yield* TestClock.adjust(1)
      expect(String(yield* Fiber.join(fourth))).toContain("StoreFailed")
    }).pipe(Effect.provide(layer(() => Effect.never))))

  it.effect("ends although nothing can interrupt it", () =>
    Effect.gen(function* () {
      const first = yield* start("first")
      yield* TestClock.adjust("5 seconds")
      expect(String(yield* Fiber.join(first))).toContain("StoreFailed")
    }).pipe(Effect.provide(layer(() => Effect.uninterruptible(Effect.never)))))

  it.effect("says nothing of those that are answered in time, also at the last moment", () => {
    const send = (() => Effect.delay(Effect.succeed("OK"), 4_999)) as Send
    return Effect.gen(function* () {
      const first = yield* start("first")
      yield* TestClock.adjust("2 seconds")
      const second = yield* start("second")
      yield* TestClock.adjust("10 seconds")
      expect([yield* Fiber.join(first), yield* Fiber.join(second)]).toMatchObject([
        { _tag: "Success", value: "first" },
        { _tag: "Success", value: "second" }
      ])
    }).pipe(Effect.provide(layer(send)))
  })
})
