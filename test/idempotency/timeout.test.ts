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
const layer = (send: Send, options: IdempotencyStore.RedisOptions = { timeout: "5 seconds" }) => {
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
  return IdempotencyStore.layerRedis({ secret, ...options }).pipe(
    Layer.provide(redis),
    Layer.provide(NodeCrypto.layerDigest)
  )
}

const call = (key: string) => Effect.exit(Idempotency.once({ ...order, key }, Effect.succeed(key)))
// Of nobody that would wait for its end.
const start = (key: string) => Effect.forkDetach(call(key), { startImmediately: true })

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

  it.effect("is repeated while its error is a passing one, until its time is over, and then never again", () => {
    let asked = 0
    const refused = new Redis.RedisError({ cause: Object.assign(new Error("connect"), { code: "ECONNREFUSED" }) })
    const send = () => Effect.suspend(() => (asked++, Effect.fail(refused)))
    return Effect.gen(function* () {
      const first = yield* Effect.forkChild(
        Effect.flip(Idempotency.once({ ...order, key: "first" }, Effect.succeed("ran"))),
        { startImmediately: true }
      )
      yield* TestClock.adjust("4 seconds")
      expect(first.pollUnsafe()).toBeUndefined()
      yield* TestClock.adjust("1 second")
      // The store's own error: no wait that would be in vain.
      expect(yield* Fiber.join(first)).toMatchObject({ _tag: "StoreFailed", operation: "claim", cause: refused })
      const before = asked
      expect(before).toBeGreaterThan(40)
      yield* TestClock.adjust("1 minute")
      expect(asked).toBe(before)
    }).pipe(Effect.provide(layer(send)))
  })

  it.effect("is given up by its client too when its time is over, and not asked again", () => {
    let asked = 0
    let given = 0
    const send = () =>
      Effect.suspend(() => {
        asked++
        return Effect.onInterrupt(Effect.never, () => Effect.sync(() => void given++))
      })
    return Effect.gen(function* () {
      yield* start("first")
      yield* TestClock.adjust(4_999)
      expect([asked, given]).toEqual([1, 0])
      yield* TestClock.adjust(1)
      expect([asked, given]).toEqual([1, 1])
      yield* TestClock.adjust("1 minute")
      expect([asked, given]).toEqual([1, 1])
    }).pipe(Effect.provide(layer(send)))
  })

  it.effect("that fails only after its time was over is not asked again", () => {
    let asked = 0
    const reset = new Redis.RedisError({ cause: Object.assign(new Error("reset"), { code: "ECONNRESET" }) })
    const send = () =>
      Effect.suspend(() => {
        asked++
        return Effect.uninterruptible(Effect.delay(Effect.fail(reset), "7 seconds"))
      })
    return Effect.gen(function* () {
      const first = yield* start("first")
      yield* TestClock.adjust("1 minute")
      expect(String(yield* Fiber.join(first))).toContain("StoreFailed")
      expect(asked).toBe(1)
    }).pipe(Effect.provide(layer(send)))
  })

  it.effect("has 5 seconds where nothing else is said", () =>
    Effect.gen(function* () {
      const first = yield* start("first")
      yield* TestClock.adjust(4_999)
      expect(first.pollUnsafe()).toBeUndefined()
      yield* TestClock.adjust(1)
      expect(String(first.pollUnsafe())).toContain("StoreFailed")
    }).pipe(Effect.provide(layer(() => Effect.never, {}))))
})

it("the prefix of keys is a text of 1 to 200 characters", () => {
  for (const prefix of ["", "x".repeat(201)]) {
    expect(() => IdempotencyStore.layerRedis({ prefix })).toThrow("layerRedis.prefix must be a short text")
  }
  for (const prefix of ["x", "x".repeat(200)]) {
    expect(() => IdempotencyStore.layerRedis({ prefix })).not.toThrow()
  }
})
