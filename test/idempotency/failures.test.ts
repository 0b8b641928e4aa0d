// A store that fails, or loses its answers.
import { describe, expect, it } from "@effect/vitest"
import { Idempotency, IdempotencyError } from "@reprise/idempotency"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { TestClock } from "effect/testing"
import { counted, faulty, order } from "./memory.ts"

const { once } = Idempotency
const { StoreFailed } = IdempotencyError

const lease = { ...order, lease: "9 seconds" } as const

describe("a store that fails", () => {
  const gone = { operation: "claim", cause: Object.assign(new Error("refused"), { code: "ECONNREFUSED" }) } as const

  it.effect("before the operation: nothing runs", () =>
    Effect.gen(function* () {
      const { count, operation } = counted(() => Effect.succeed("ran"))
      expect(yield* Effect.flip(once(order, operation))).toMatchObject({ _tag: "StoreFailed", operation: "claim" })
      expect(count()).toBe(0)
    }).pipe(Effect.provide(faulty(() => ({ claim: () => Effect.fail(new StoreFailed(gone)) })))))

  it.effect("after it: the outcome is not recorded, and in doubt", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(once(order, Effect.succeed("ran")))
      expect(error).toMatchObject({ _tag: "InDoubt", reason: "NotRecorded", cause: { _tag: "StoreFailed" } })
    }).pipe(Effect.provide(faulty(() => ({ finish: () => Effect.fail(new StoreFailed(gone)) })))))

  it.effect("F23: a claim whose answer was lost is the caller's own, and no conflict", () =>
    Effect.gen(function* () {
      expect(yield* once(order, Effect.succeed("ran"))).toBe("ran")
    }).pipe(Effect.provide(faulty((store) => ({
      claim: (request) => Effect.andThen(store.claim(request), store.claim(request))
    })))))

  it.effect("F23: so is a record in doubt that was taken over, and it is still settled before anything runs", () =>
    Effect.gen(function* () {
      yield* Effect.exit(once(order, Effect.die("broken")))
      const { count, operation } = counted(() => Effect.succeed("again"))
      const reconcile = Effect.succeed(Idempotency.succeeded("charge 1"))
      expect(yield* once({ ...order, reconcile }, operation)).toBe("charge 1")
      expect(count()).toBe(0)
    }).pipe(Effect.provide(faulty((store) => ({
      retake: (request, fence) => Effect.andThen(store.retake(request, fence), store.retake(request, fence))
    })))))

  it.effect("F23: also where that is found when its lease has ended", () => {
    let asked = 0
    const store = faulty((store) => ({
      retake: (request, fence) =>
        asked++ > 0
          ? store.retake(request, fence)
          : Effect.andThen(store.retake(request, fence), Effect.delay(store.retake(request, fence), "10 seconds"))
    }))
    return Effect.gen(function* () {
      yield* Effect.exit(once(order, Effect.die("broken")))
      const { count, operation } = counted(() => Effect.succeed("again"))
      const reconcile = Effect.succeed(Idempotency.succeeded("charge 1"))
      const second = yield* Effect.forkChild(once({ ...lease, reconcile }, operation), { startImmediately: true })
      yield* TestClock.adjust("20 seconds")
      expect(yield* Fiber.join(second)).toBe("charge 1")
      expect(count()).toBe(0)
      expect(asked).toBe(2)
    }).pipe(Effect.provide(store))
  })

  it.effect("so is one that was found when its lease had ended: nothing has run under it", () =>
    Effect.gen(function* () {
      const first = yield* Effect.forkChild(once(lease, Effect.succeed("ran")), { startImmediately: true })
      yield* TestClock.adjust("10 seconds")
      expect(yield* Fiber.join(first)).toBe("ran")
    }).pipe(Effect.provide(faulty((store) => ({
      claim: (request) => Effect.andThen(store.claim(request), Effect.delay(store.claim(request), "10 seconds"))
    })))))
})
