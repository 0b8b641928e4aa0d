import { describe, expect, it } from "@effect/vitest"
import { Idempotency, IdempotencyError, IdempotencyStore } from "@reprise/idempotency"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Redacted from "effect/Redacted"
import { TestClock } from "effect/testing"
import { faulty, layer, order } from "./memory.ts"

const { once, sweep } = Idempotency

const keep = (key: string) => once({ ...order, key, retention: "1 hour" }, Effect.succeed(key))

describe("sweep", () => {
  it.effect("removes what is past its retention, in batches, and nothing else", () =>
    Effect.gen(function* () {
      for (let i = 0; i < 7; i++) yield* keep(`old-${i}`)
      yield* Effect.forkChild(once({ ...order, key: "held" }, Effect.never), { startImmediately: true })
      yield* TestClock.adjust("30 minutes")
      yield* keep("new")
      yield* TestClock.adjust("30 minutes")
      expect(yield* sweep({ batch: 3 })).toBe(7)
      expect(yield* sweep()).toBe(0)
      expect(yield* once({ ...order, key: "new" }, Effect.succeed("again"))).toBe("new")
      expect(yield* Effect.flip(once({ ...order, key: "held" }, Effect.succeed("again"))))
        .toMatchObject({ _tag: "InProgress" })
    }).pipe(Effect.provide(layer())))

  it.effect("in the background, and goes on where the store fails", () => {
    let sweeps = 0
    const lines: Array<string> = []
    const store = faulty(() => ({
      sweep: () => {
        sweeps++
        return sweeps === 2
          ? Effect.fail(new IdempotencyError.StoreFailed({ operation: "sweep", cause: "gone" }))
          : Effect.succeed(0)
      }
    }))
    const logger = Logger.layer([Logger.make(({ message }) => void lines.push(String(message)))])
    return Effect.gen(function* () {
      yield* TestClock.adjust("25 minutes")
      expect(sweeps).toBe(3)
      expect(lines).toEqual(["Idempotency records were not swept: The idempotency store failed (sweep)"])
    }).pipe(Effect.provide(Layer.provideMerge(Idempotency.layerSweeper(), Layer.merge(store, logger))))
  })
})

describe("a store in memory", () => {
  it.effect("refuses new keys where all records are in use, and keeps the old ones", () =>
    Effect.gen(function* () {
      yield* keep("a")
      yield* keep("b")
      expect(yield* Effect.flip(keep("c"))).toMatchObject({ _tag: "StoreFailed", operation: "claim" })
      expect(yield* once({ ...order, key: "a" }, Effect.succeed("again"))).toBe("a")
      yield* TestClock.adjust("1 hour")
      expect(yield* keep("c")).toBe("c")
    }).pipe(Effect.provide(layer({ capacity: 2 }))))

  it.effect("has 10,000 records where nothing else is said", () =>
    Effect.gen(function* () {
      const { claim } = yield* IdempotencyStore.IdempotencyStore
      const keep = (n: number) => claim({ id: `${n}`, holder: "h", fingerprint: "f", lease: 1_000, retention: 1_000 })
      for (let i = 1; i <= 10_000; i++) expect(yield* keep(i)).toBe(1)
      expect(yield* Effect.flip(keep(10_001))).toMatchObject({ _tag: "StoreFailed", operation: "claim" })
    }).pipe(Effect.provide(layer())))

  it.effect("finds records whose fingerprints were made with an older secret", () =>
    Effect.gen(function* () {
      const backing = Context.get(yield* Layer.build(layer()), IdempotencyStore.IdempotencyStore)
      const [older, newer] = [Redacted.make("an older secret, long ago"), Redacted.make("the newer secret of today")]
      const at = (secret: IdempotencyStore.Secrets, payload: unknown) =>
        Effect.provideServiceEffect(
          once({ ...order, payload }, Effect.succeed("ran")),
          IdempotencyStore.IdempotencyStore,
          IdempotencyStore.make(backing, secret)
        )
      yield* at(older, 1)
      expect(yield* at([newer, older], 1)).toBe("ran")
      expect(yield* Effect.flip(at([newer, older], 2))).toMatchObject({ _tag: "KeyReused" })
      expect(yield* Effect.flip(at(newer, 1))).toMatchObject({ _tag: "KeyReused" })
      // A process that does not make fingerprints with it yet, and knows it.
      yield* Effect.provideServiceEffect(
        once({ ...order, key: "second" }, Effect.succeed("ran")),
        IdempotencyStore.IdempotencyStore,
        IdempotencyStore.make(backing, [newer, older])
      )
      const again = yield* Effect.provideServiceEffect(
        once({ ...order, key: "second" }, Effect.succeed("again")),
        IdempotencyStore.IdempotencyStore,
        IdempotencyStore.make(backing, [older, newer])
      )
      expect(again).toBe("ran")
      expect(() => IdempotencyStore.make(backing, Redacted.make("short"))).toThrow("at least 16 bytes")
      // As plain JavaScript would call it.
      const none = [] as unknown as IdempotencyStore.Secrets
      expect(() => IdempotencyStore.make(backing, none)).toThrow("secret must be one Redacted text, or a list of them")
      // What the types do not allow.
      expect(() => IdempotencyStore.layerSql({ secret: "a text that is no secret any more" as never })).toThrow(
        "secret must be one Redacted text, or a list of them, got \"string\""
      )
    }))
})
