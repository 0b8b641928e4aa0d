import { describe, expect, it } from "@effect/vitest"
import { Transience } from "@reprise/core"
import { Idempotency } from "@reprise/idempotency"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { TestClock } from "effect/testing"
import { counted, Declined, layer, order } from "./memory.ts"

const { once } = Idempotency

const busy = Transience.annotate(new Error("busy"), { transience: "transient", applied: "no" })

describe("a record in doubt", () => {
  const doubted = Effect.exit(once(order, Effect.die("broken")))
  const { failed, notApplied, succeeded, unknown } = Idempotency

  it.effect("is InDoubt: terminal, and maybe applied", () =>
    Effect.gen(function* () {
      yield* doubted
      const error = yield* Effect.flip(once(order, Effect.succeed("again")))
      expect(error).toMatchObject({ _tag: "InDoubt", reason: "Abandoned" })
      expect(Transience.classify(error)).toMatchObject({ transience: "terminal", applied: "maybe" })
    }).pipe(Effect.provide(layer())))

  it.effect("runs again for who says that this is harmless", () =>
    Effect.gen(function* () {
      yield* doubted
      expect(yield* once({ ...order, onAbandoned: "rerun" }, Effect.succeed("again"))).toBe("again")
      expect(yield* once(order, Effect.succeed("third"))).toBe("again")
    }).pipe(Effect.provide(layer())))

  it.effect("stays in doubt where that run applied nothing: the first may have", () =>
    Effect.gen(function* () {
      yield* doubted
      yield* Effect.flip(once({ ...order, onAbandoned: "rerun" }, Effect.fail(busy)))
      expect(yield* Effect.flip(once(order, Effect.succeed("again")))).toMatchObject({ _tag: "InDoubt" })
    }).pipe(Effect.provide(layer())))

  it.effect("is settled by what the outside world says, without another run", () =>
    Effect.gen(function* () {
      yield* doubted
      const { count, operation } = counted(() => Effect.succeed("again"))
      const reconcile = Effect.succeed(succeeded("charge 1"))
      expect(yield* once({ ...order, reconcile }, operation)).toBe("charge 1")
      expect(yield* once(order, operation)).toBe("charge 1")
      expect(count()).toBe(0)
    }).pipe(Effect.provide(layer())))

  it.effect("also by a failure", () =>
    Effect.gen(function* () {
      yield* doubted
      const reconcile = Effect.succeed(failed(new Declined({ code: 5 })))
      expect(yield* Effect.flip(once({ ...order, reconcile }, Effect.succeed("again")))).toMatchObject({ code: 5 })
      expect(yield* Effect.flip(once(order, Effect.succeed("again")))).toMatchObject({ code: 5 })
    }).pipe(Effect.provide(layer())))

  it.effect("is run where it says that nothing was applied", () =>
    Effect.gen(function* () {
      yield* doubted
      const reconcile = Effect.succeed(notApplied)
      expect(yield* once({ ...order, reconcile }, Effect.succeed("again"))).toBe("again")
      expect(yield* once(order, Effect.succeed("third"))).toBe("again")
    }).pipe(Effect.provide(layer())))

  it.effect("is free after a run that then applied nothing either", () =>
    Effect.gen(function* () {
      yield* doubted
      yield* Effect.flip(once({ ...order, reconcile: Effect.succeed(notApplied) }, Effect.fail(busy)))
      expect(yield* once(order, Effect.succeed("third"))).toBe("third")
    }).pipe(Effect.provide(layer())))

  type Answer = Effect.Effect<Idempotency.Reconciled<string, Declined>, { readonly _tag: "Unreachable" }>
  const useless: ReadonlyArray<readonly [name: string, reconcile: Answer, tag: string]> = [
    ["cannot tell", Effect.succeed(unknown), "InDoubt"],
    ["fails", Effect.fail({ _tag: "Unreachable" }), "Unreachable"]
  ]
  const ends: ReadonlyArray<readonly [name: string, reconcile: Effect.Effect<never>]> = [
    ["dies", Effect.die("broken")],
    ["is interrupted", Effect.interrupt],
    ["throws", Effect.suspend(() => JSON.parse("{"))]
  ]
  it.effect.each(ends)(
    "stays in doubt where reconciling %s, and its caller gets that",
    ([, reconcile]) =>
      Effect.gen(function* () {
        yield* doubted
        const { count, operation } = counted(() => Effect.succeed("again"))
        const exit = yield* Effect.exit(once({ ...order, reconcile }, operation))
        expect(Exit.hasDies(exit) || Exit.hasInterrupts(exit)).toBe(true)
        expect(count()).toBe(0)
        expect(yield* Effect.flip(once(order, operation))).toMatchObject({ _tag: "InDoubt", reason: "Abandoned" })
      }).pipe(Effect.provide(layer()))
  )

  it.effect("is in progress while reconciling hangs, for as long as its caller stays, and in doubt after it", () =>
    Effect.gen(function* () {
      yield* doubted
      const asking = yield* Effect.forkChild(once({ ...order, reconcile: Effect.never }, Effect.succeed("again")), {
        startImmediately: true
      })
      yield* TestClock.adjust("2 minutes")
      expect(yield* Effect.flip(once(order, Effect.succeed("again")))).toMatchObject({ _tag: "InProgress" })
      yield* Fiber.interrupt(asking)
      expect(yield* Effect.flip(once(order, Effect.succeed("again")))).toMatchObject({ _tag: "InDoubt" })
    }).pipe(Effect.provide(layer())))

  it.effect("dies of what reconciling found where that does not fit its schema, and stays in doubt", () =>
    Effect.gen(function* () {
      yield* doubted
      for (const found of [succeeded(4111), failed("4111")]) {
        // As plain JavaScript would answer.
        const reconcile = Effect.succeed(found as Idempotency.Reconciled<never>)
        const exit = yield* Effect.exit(once({ ...order, reconcile }, Effect.succeed("again")))
        expect(String(exit)).toContain("does not fit its schema")
        expect(String(exit)).not.toContain("4111")
        expect(yield* Effect.flip(once(order, Effect.succeed("again")))).toMatchObject({ _tag: "InDoubt" })
      }
    }).pipe(Effect.provide(layer())))
  it.effect.each(useless)("stays in doubt where reconciling %s", ([, reconcile, tag]) =>
    Effect.gen(function* () {
      yield* doubted
      const error = yield* Effect.flip(once({ ...order, reconcile }, Effect.succeed("again")))
      expect(error._tag).toBe(tag)
      expect(yield* Effect.flip(once(order, Effect.succeed("again")))).toMatchObject({ reason: "Abandoned" })
    }).pipe(Effect.provide(layer())))

  it.effect("is settled by one caller at a time", () =>
    Effect.gen(function* () {
      yield* doubted
      const { count, operation } = counted(() => Effect.delay(Effect.succeed(succeeded("charge 1")), "1 second"))
      const options = { ...order, reconcile: operation, wait: "1 minute" } as const
      const all = yield* Effect.forkChild(
        Effect.replicateEffect(once(options, Effect.succeed("again")), 10, { concurrency: "unbounded" })
      )
      yield* TestClock.adjust("5 seconds")
      expect(new Set(yield* Fiber.join(all))).toEqual(new Set(["charge 1"]))
      expect(count()).toBe(1)
    }).pipe(Effect.provide(layer())))
})
