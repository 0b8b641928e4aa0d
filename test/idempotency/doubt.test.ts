import { describe, expect, it } from "@effect/vitest"
import { Transience } from "@reprise/core"
import { Idempotency } from "@reprise/idempotency"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
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

  it.effect.each([1, {}, { _tag: "Applied" }, { _tag: "Applied", exit: "done" }])(
    "dies of a reconcile effect that comes to none of its answers, and stays: %j",
    (answer) =>
      Effect.gen(function* () {
        yield* doubted
        // What the types do not allow.
        const reconcile = Effect.succeed(answer as never)
        const exit = yield* Effect.exit(once({ ...order, reconcile }, Effect.succeed("no")))
        expect(String(exit)).toContain("must come to succeeded, failed, notApplied or unknown")
        expect(yield* Effect.flip(once(order, Effect.succeed("no")))).toMatchObject({ _tag: "InDoubt" })
      }).pipe(Effect.provide(layer()))
  )

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

  type Answer = Effect.Effect<Idempotency.Reconciled<string, Declined>, { readonly _tag: "Unreachable" } | Declined>
  const useless: ReadonlyArray<readonly [name: string, reconcile: Answer, tag: string]> = [
    ["cannot tell", Effect.succeed(unknown), "InDoubt"],
    ["fails", Effect.fail({ _tag: "Unreachable" }), "Unreachable"],
    ["fails as the operation might have", new Declined({ code: 5 }), "Declined"]
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

describe("a holder that leaves a doubt says why, once, in the log", () => {
  class Lost extends Data.TaggedError("Lost")<{ readonly card: string }> {}
  const secret = new Lost({ card: "4242 4242" })
  const ofType: unknown = new TypeError("4242 4242")
  const endings: ReadonlyArray<readonly [why: string, end: Effect.Effect<unknown, unknown>]> = [
    ["its operation died", Effect.die(secret)],
    ["its operation was interrupted", Effect.interrupt],
    ["its operation failed with Lost, which is no outcome to record and may have taken effect", Effect.fail(secret)],
    ["its operation failed with a failure, which is no outcome to record", Effect.fail({ _tag: "4242 4242\n" })],
    ["its operation failed with TypeError, which is no outcome to record", Effect.fail(ofType)],
    ["what its operation came to fits no schema", Effect.succeed({ card: "4242 4242" })]
  ]
  it.effect.each(endings)("%s", ([why, end]) =>
    Effect.gen(function* () {
      const logs: Array<string> = []
      const logger = Logger.make(({ logLevel, message }) => void logs.push(`${logLevel} ${String(message)}`))
      // What the types do not allow, too.
      yield* Effect.exit(once(order, end as Effect.Effect<string, unknown>)).pipe(
        Effect.provide(Logger.layer([logger]))
      )
      const record = yield* Idempotency.recordOf(order)
      expect(logs).toEqual([expect.stringContaining(`Warn The idempotency record ${record} is in doubt: ${why}`)])
      expect(logs.join()).not.toContain("4242")
    }).pipe(Effect.provide(layer())))

  it.effect("and nothing where there is none", () =>
    Effect.gen(function* () {
      const logs: Array<unknown> = []
      const logger = Logger.make(({ message }) => void logs.push(message))
      yield* Effect.exit(once(order, Effect.fail(busy))).pipe(Effect.provide(Logger.layer([logger])))
      yield* Effect.exit(once(order, Effect.succeed("done"))).pipe(Effect.provide(Logger.layer([logger])))
      expect(logs).toEqual([])
    }).pipe(Effect.provide(layer())))
})
