// idempot-dev/idempot-js#185, aws-powertools/powertools-lambda-python#4759: a retried write saw its own conflict, and a
// record stayed in progress for ever.
// Who comes with the same key and payload gets the outcome, and the claim of a holder that crashed ends by itself.
import { describe, expect, it } from "@effect/vitest"
import { Idempotency } from "@reprise/idempotency"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import { counted, faulty, layer, order } from "../idempotency/memory.ts"

const { once } = Idempotency

describe("F23: nobody meets a conflict of his own, and nothing stays in progress", () => {
  it.effect("a write whose answer was lost on its way is repeated, and gets the outcome", () =>
    Effect.gen(function* () {
      const { count, operation } = counted(() => Effect.succeed("charge 1"))
      expect(yield* once(order, operation)).toBe("charge 1")
      expect(yield* once(order, operation)).toBe("charge 1")
      expect(count()).toBe(1)
    }).pipe(Effect.provide(layer())))

  it.effect("a claim whose answer was lost on its way is repeated, and is the caller's own", () =>
    Effect.gen(function* () {
      const { count, operation } = counted(() => Effect.succeed("charge 1"))
      expect(yield* once(order, operation)).toBe("charge 1")
      expect(count()).toBe(1)
    }).pipe(Effect.provide(faulty((store) => ({
      claim: (request) => Effect.andThen(store.claim(request), store.claim(request))
    })))))

  it.effect("the claim of a holder that crashed ends with its lease: then it is in doubt, and can be settled", () =>
    Effect.gen(function* () {
      const options = { ...order, lease: "10 seconds" } as const
      yield* Effect.forkChild(once(options, Effect.never), { startImmediately: true })
      expect(yield* Effect.flip(once(options, Effect.never))).toMatchObject({ _tag: "InProgress" })
      yield* TestClock.adjust("10 seconds")
      expect(yield* Effect.flip(once(options, Effect.never))).toMatchObject({ _tag: "InDoubt", reason: "Abandoned" })
      const settled = yield* Effect.forkChild(
        once({ ...options, reconcile: Effect.succeed(Idempotency.notApplied) }, Effect.succeed("charge 1")),
        { startImmediately: true }
      )
      expect(yield* Fiber.join(settled)).toBe("charge 1")
      // Within one process, a crash is a claim that nobody renews.
    }).pipe(Effect.provide(faulty(() => ({ renew: () => Effect.never })))))
})
