import { describe, expect, it } from "@effect/vitest"
import { IdempotencyKey, InvalidPolicy, Transience } from "@reprise/core"
import { Idempotency, IdempotencyError } from "@reprise/idempotency"
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { TestClock } from "effect/testing"
import { counted, Declined, layer, order } from "./memory.ts"

const { once } = Idempotency

const busy = Transience.annotate(new Error("busy"), { transience: "transient", applied: "no" })

describe("the record of a key", () => {
  it.effect("has the success of the first caller", () =>
    Effect.gen(function* () {
      const { count, operation } = counted((n) => Effect.succeed(`charge ${n}`))
      expect(yield* once(order, operation)).toBe("charge 1")
      expect(yield* operation.pipe(once(order))).toBe("charge 1")
      expect(count()).toBe(1)
    }).pipe(Effect.provide(layer())))

  it.effect("has its typed failure, as an instance of its class", () =>
    Effect.gen(function* () {
      const { count, operation } = counted((code) => new Declined({ code }))
      yield* Effect.flip(once(order, operation))
      const again = yield* Effect.flip(once(order, operation))
      expect(again).toBeInstanceOf(Declined)
      expect(again).toMatchObject({ code: 1 })
      expect(count()).toBe(1)
    }).pipe(Effect.provide(layer())))

  it.effect("is another for another scope or key", () =>
    Effect.gen(function* () {
      const { operation } = counted((n) => Effect.succeed(String(n)))
      const results = [
        yield* once(order, operation),
        yield* once({ ...order, scope: "tenant-8" }, operation),
        yield* once({ ...order, key: "order-1018" }, operation),
        // The same letters in another place.
        yield* once({ ...order, scope: "a", key: "b:c" }, operation),
        yield* once({ ...order, scope: "a:b", key: "c" }, operation),
        yield* once({ ...order, scope: "1:a", key: "b" }, operation),
        yield* once({ ...order, scope: "1", key: ":ab" }, operation),
        yield* once({ ...order, scope: "Tenant-7" }, operation),
        yield* once({ ...order, scope: "tenant-7 " }, operation),
        yield* once({ ...order, key: "Order-1017" }, operation),
        // One letter and two code points.
        yield* once({ ...order, scope: "\u00e9" }, operation),
        yield* once({ ...order, scope: "e\u0301" }, operation),
        // Neither is a character of UTF-8.
        yield* once({ ...order, scope: "\ud800" }, operation),
        yield* once({ ...order, scope: "\udc00" }, operation),
        yield* once({ ...order, scope: "\ufffd" }, operation)
      ]
      expect(results).toEqual(Array.from({ length: 15 }, (_, i) => String(i + 1)))
    }).pipe(Effect.provide(layer())))

  const others: ReadonlyArray<readonly [string, object]> = [
    ["payload", { payload: { amount: 21 } }],
    ["method", { method: "POST" }],
    ["path", { path: "/charges" }]
  ]
  it.effect.each(others)("refuses another %s", ([, other]) =>
    Effect.gen(function* () {
      yield* once(order, Effect.succeed("done"))
      const error = yield* Effect.flip(once({ ...order, ...other }, Effect.succeed("again")))
      expect(error._tag).toBe("KeyReused")
      expect(yield* once(order, Effect.succeed("again"))).toBe("done")
    }).pipe(Effect.provide(layer())))

  it.effect("tells a replay from a run", () =>
    Effect.gen(function* () {
      const record = yield* Idempotency.recordOf(order)
      const first = yield* Idempotency.answer(order, Effect.succeed("done"))
      const again = yield* Effect.succeed("other").pipe(Idempotency.answer(order))
      expect(first).toEqual({ exit: Exit.succeed("done"), replayed: false, recorded: true, record })
      expect(again).toEqual({ exit: Exit.succeed("done"), replayed: true, recorded: true, record })
      const unrecorded = yield* Idempotency.answer({ ...order, key: "other" }, Effect.fail("?"))
      expect([unrecorded.replayed, unrecorded.recorded]).toEqual([false, false])
    }).pipe(Effect.provide(layer())))

  it.effect("is forgotten after its retention: the operation runs anew", () =>
    Effect.gen(function* () {
      const { operation } = counted((n) => Effect.succeed(`charge ${n}`))
      yield* once(order, operation)
      yield* TestClock.adjust(Duration.toMillis("24 hours") - 1)
      expect(yield* once(order, operation)).toBe("charge 1")
      yield* TestClock.adjust(1)
      expect(yield* once(order, operation)).toBe("charge 2")
    }).pipe(Effect.provide(layer())))
})

describe("while the first is at it", () => {
  it.effect("another gets InProgress, with the time that is left", () =>
    Effect.gen(function* () {
      yield* Effect.forkChild(once(order, Effect.never), { startImmediately: true })
      yield* TestClock.adjust("4 seconds")
      const error = yield* Effect.flip(once(order, Effect.succeed("other")))
      expect(error).toBeInstanceOf(IdempotencyError.InProgress)
      expect(error).toMatchObject({ left: Duration.seconds(26) })
      expect(Transience.classify(error)).toMatchObject({
        transience: "transient",
        applied: "no",
        hint: { _tag: "After", millis: 26_000 }
      })
    }).pipe(Effect.provide(layer())))

  it.effect("a payload that differs is refused all the same", () =>
    Effect.gen(function* () {
      yield* Effect.forkChild(once(order, Effect.never), { startImmediately: true })
      const error = yield* Effect.flip(once({ ...order, payload: 1 }, Effect.succeed("other")))
      expect(error._tag).toBe("KeyReused")
    }).pipe(Effect.provide(layer())))

  it.effect("all who wait get its outcome", () =>
    Effect.gen(function* () {
      const { count, operation } = counted((n) => Effect.delay(Effect.succeed(`charge ${n}`), "2 seconds"))
      const all = yield* Effect.forkChild(
        Effect.replicateEffect(once({ ...order, wait: "5 seconds" }, operation), 20, { concurrency: "unbounded" })
      )
      yield* TestClock.adjust("3 seconds")
      expect(new Set(yield* Fiber.join(all))).toEqual(new Set(["charge 1"]))
      expect(count()).toBe(1)
    }).pipe(Effect.provide(layer())))

  it.effect("who waits no longer than so gets InProgress", () =>
    Effect.gen(function* () {
      yield* Effect.forkChild(once(order, Effect.never), { startImmediately: true })
      const waiting = yield* Effect.forkChild(
        Effect.flip(once({ ...order, wait: "1 second" }, Effect.succeed("other"))),
        { startImmediately: true }
      )
      yield* TestClock.adjust(999)
      expect(waiting.pollUnsafe()).toBeUndefined()
      yield* TestClock.adjust(1)
      expect(yield* Fiber.join(waiting)).toMatchObject({ _tag: "InProgress" })
    }).pipe(Effect.provide(layer())))

  it.effect("who waits runs it when the first frees the key", () =>
    Effect.gen(function* () {
      const { operation } = counted((n) =>
        Effect.delay(n === 1 ? Effect.fail(busy) : Effect.succeed(`charge ${n}`), "1 second")
      )
      const first = yield* Effect.forkChild(Effect.flip(once(order, operation)), { startImmediately: true })
      const second = yield* Effect.forkChild(once({ ...order, wait: "1 minute" }, operation))
      yield* TestClock.adjust("5 seconds")
      expect(yield* Fiber.join(first)).toBe(busy)
      expect(yield* Fiber.join(second)).toBe("charge 2")
    }).pipe(Effect.provide(layer())))

  it.effect("who waits can leave", () =>
    Effect.gen(function* () {
      yield* Effect.forkChild(once(order, Effect.never), { startImmediately: true })
      const waiting = yield* Effect.forkChild(once({ ...order, wait: "1 minute" }, Effect.succeed("other")))
      yield* TestClock.adjust("1 second")
      yield* Fiber.interrupt(waiting)
      expect(Exit.hasInterrupts(yield* Fiber.await(waiting))).toBe(true)
    }).pipe(Effect.provide(layer())))
})

describe("what is refused", () => {
  it.effect.each(["", " padded", "line\nbreak", "é", "x".repeat(256)])("the key %j", (key) =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(once({ ...order, key }, Effect.succeed("ran")))
      expect(error).toBeInstanceOf(IdempotencyKey.InvalidIdempotencyKey)
    }).pipe(Effect.provide(layer())))

  it.each([
    ["once.scope", { scope: "" }],
    ["once.scope", { scope: "x".repeat(256) }],
    ["once.lease", { lease: "99 millis" }],
    ["once.lease", { lease: "Infinity" }],
    ["once.lease", { lease: Number.MAX_VALUE }],
    ["once.retention", { retention: "40000 days" }],
    ["once.wait", { wait: 1e300 }],
    ["once.success", { success: "String" }],
    ["once.failure", { failure: null }],
    ["once.reconcile", { reconcile: {} }],
    ["once.retention", { retention: 0 }],
    ["once.wait", { wait: -1 }],
    ["once.onAbandoned", { onAbandoned: "retry" }],
    ["once.maxPayloadBytes", { maxPayloadBytes: 0.5 }],
    ["once.leases", { leases: 3 }]
  ])("%s: %j", (argument, wrong) => {
    // As plain JavaScript would call it.
    const options = { ...order, ...wrong } as typeof order
    let thrown: unknown
    try {
      expect(once(options, Effect.succeed("ran"))).toBeUndefined()
    } catch (error) {
      thrown = error
    }
    expect(thrown).toBeInstanceOf(InvalidPolicy.InvalidPolicy)
    expect(thrown).toMatchObject({ argument })
    expect(String(thrown)).not.toContain(order.key)
  })

  it.effect("no error, log or text of one repeats a key or a payload", () =>
    Effect.gen(function* () {
      const secret = { ...order, key: "sk_live_4242", payload: { card: "4111-1111" } }
      const errors = [
        yield* Effect.exit(once(secret, Effect.die("broken"))),
        yield* Effect.exit(once(secret, Effect.succeed("ran"))),
        yield* Effect.exit(once({ ...secret, payload: { card: "4111-2222" } }, Effect.succeed("ran"))),
        yield* Effect.exit(once({ ...secret, maxPayloadBytes: 3 }, Effect.succeed("ran"))),
        yield* Effect.exit(once({ ...secret, payload: { card: "4111-1111", f: () => 1 } }, Effect.succeed("ran"))),
        yield* Effect.exit(once({ ...secret, key: "sk_live_4242 " }, Effect.succeed("ran")))
      ]
      for (const exit of errors) {
        expect(Exit.isFailure(exit)).toBe(true)
        const text = String(exit) + JSON.stringify(exit) + (Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "")
        expect(text).not.toMatch(/sk_live|4111/)
      }
    }).pipe(Effect.provide(layer())))
})

it.effect("an operation knows the number of its claim", () =>
  Effect.gen(function* () {
    const number = Effect.flatMap(Idempotency.CurrentClaim, (claim) => Effect.succeed(`${claim?.fence}`))
    const record = yield* Idempotency.recordOf(order)
    const claim = yield* once(order, Effect.flatMap(Idempotency.CurrentClaim, (claim) => Effect.fail({ claim, busy })))
      .pipe(Effect.flip)
    expect(claim).toMatchObject({ claim: { record, fence: 1 } })
    expect(yield* once({ ...order, onAbandoned: "rerun" }, number)).toBe("2")
    expect(yield* Idempotency.CurrentClaim).toBeUndefined()
  }).pipe(Effect.provide(layer())))
