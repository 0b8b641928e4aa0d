// Callers that wait, and callers that leave, in virtual time.
import { describe, expect, it } from "@effect/vitest"
import { Idempotency, IdempotencyStore } from "@reprise/idempotency"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import { TestClock } from "effect/testing"
import { counted, faulty, layer, order, peek, type Store } from "./memory.ts"

const { once } = Idempotency

const lease = { ...order, lease: "9 seconds" } as const

describe("who waits", () => {
  it.effect("looks after 5 ms and then less and less often, and after 250 ms at most, at the upper half of each", () => {
    const at: Array<number> = []
    const store = faulty((store) => ({
      read: (id) =>
        Effect.flatMap(Effect.clockWith((clock) => clock.currentTimeMillis), (now) => {
          at.push(now)
          return store.read(id)
        })
    }))
    return Effect.gen(function* () {
      yield* Effect.forkChild(once({ ...lease, lease: "1 minute" }, Effect.never), { startImmediately: true })
      const waiting = yield* Effect.forkChild(Effect.flip(once({ ...order, wait: 5_000 }, Effect.succeed("other"))), {
        startImmediately: true
      })
      for (let i = 0; i < 5_000; i++) yield* TestClock.adjust(1)
      expect(yield* Fiber.join(waiting)).toMatchObject({ _tag: "InProgress" })
      const pauses = at.map((time, i) => time - (at[i - 1] ?? 0))
      pauses.forEach((pause, i) => {
        const longest = Math.min(250, 5 * 1.5 ** i)
        expect(pause).toBeGreaterThanOrEqual(longest / 2 - 1)
        expect(pause).toBeLessThanOrEqual(longest + 1)
      })
      expect(pauses.length).toBeGreaterThan(25)
    }).pipe(Effect.provide(store))
  })
})

describe("a caller that leaves", () => {
  const slow = (step: "claim" | "retake" | "finish", millis: number) =>
    faulty((store) => {
      const late = <A, E>(name: string, effect: Effect.Effect<A, E>) =>
        name === step ? Effect.uninterruptible(Effect.tap(effect, Effect.sleep(millis))) : effect
      return {
        claim: (request) => late("claim", store.claim(request)),
        retake: (request, fence) => late("retake", store.retake(request, fence)),
        finish: (held, ending) => late("finish", store.finish(held, ending))
      }
    })

  /** Starts a call, leaves it after so long, and waits until it is gone. */
  const leave = (call: Effect.Effect<unknown, unknown, Store>, millis: number) =>
    Effect.gen(function* () {
      const fiber = yield* Effect.forkChild(call, { startImmediately: true })
      yield* TestClock.adjust(millis)
      const leaving = yield* Effect.forkChild(Fiber.interrupt(fiber), { startImmediately: true })
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(leaving)
    })

  it.effect("before it has claimed anything leaves nothing", () =>
    Effect.gen(function* () {
      const { count, operation } = counted(() => Effect.succeed("ran"))
      yield* leave(once(order, operation), 1)
      expect(count()).toBe(0)
      expect(yield* Effect.flip(peek())).toBe("ran")
    }).pipe(Effect.provide(
      Layer.effect(
        IdempotencyStore.IdempotencyStore,
        Effect.map(IdempotencyStore.IdempotencyStore, (store) => {
          let asked = 0
          // Hashes that are made elsewhere take their time.
          const identify: Store["identify"] = (scope, key) =>
            Effect.delay(store.identify(scope, key), asked++ === 0 ? 100 : 0)
          return { ...store, identify }
        })
      ).pipe(Layer.provide(layer()))
    )))

  it.effect("while its outcome is recorded leaves it behind", () =>
    Effect.gen(function* () {
      const { count, operation } = counted(() => Effect.succeed("done"))
      yield* leave(once(order, operation), 1)
      expect(yield* peek()).toBe("done")
      expect(count()).toBe(1)
    }).pipe(Effect.provide(slow("finish", 100))))

  it.effect("while it takes over a doubt runs nothing, and leaves the doubt", () =>
    Effect.gen(function* () {
      yield* Effect.exit(once(order, Effect.die("broken")))
      const { count, operation } = counted(() => Effect.succeed("again"))
      yield* leave(once({ ...order, onAbandoned: "rerun" }, operation), 1)
      expect(count()).toBe(0)
      expect(yield* Effect.flip(peek())).toMatchObject({ _tag: "InDoubt" })
    }).pipe(Effect.provide(slow("retake", 100))))
})
