import { describe, expect, it } from "@effect/vitest"
import { IdempotencyKey, InvalidPolicy, Policy, Retry, Transience } from "@reprise/core"
import { Idempotency, IdempotencyError, type IdempotencyStore } from "@reprise/idempotency"
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { TestClock } from "effect/testing"
import { inspect } from "node:util"
import { counted, Declined, faulty, layer, order } from "./memory.ts"

const { once } = Idempotency

const busy = Transience.annotate(new Error("busy"), { transience: "transient", applied: "no" })
const timedOut = Transience.annotate(new Error("no answer"), { transience: "transient", applied: "maybe" })

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
      expect(first).toEqual({ exit: Exit.succeed("done"), replayed: false, record })
      expect(again).toEqual({ exit: Exit.succeed("done"), replayed: true, record })
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

describe("how an operation ends", () => {
  type Ending = readonly [name: string, end: Effect.Effect<string, unknown>, after: string]
  const endings: ReadonlyArray<Ending> = [
    ["a transient failure that applied nothing frees", Effect.fail(busy), "again"],
    ["a transient failure that may have applied is in doubt", Effect.fail(timedOut), "InDoubt"],
    ["a timeout is in doubt", Effect.timeout(Effect.never, 10), "InDoubt"],
    ["a failure that the schema does not know is in doubt", Effect.fail("?"), "InDoubt"],
    [
      "unless it is known that it applied nothing",
      Effect.fail(Transience.annotate(new Error("400"), { transience: "terminal", applied: "no" })),
      "again"
    ],
    ["a defect is in doubt", Effect.die("broken"), "InDoubt"],
    ["a failure with a defect beside it is in doubt", failsAndDies(), "InDoubt"],
    ["an interruption is in doubt", Effect.interrupt, "InDoubt"],
    ["a failure of the schema is the outcome", new Declined({ code: 1 }), "Declined"],
    [
      "retries inside that gave up, and nothing was applied, free",
      Retry.run(Effect.fail(busy), Policy.attempts(Policy.immediate(3), 3)),
      "again"
    ],
    [
      "retries inside that gave up, and something may have been, are in doubt",
      Retry.run(Effect.fail(timedOut), Policy.attempts(Policy.immediate(3), 3)),
      "InDoubt"
    ]
  ]

  function failsAndDies(): Effect.Effect<never, Declined> {
    const failing = Cause.combine(Cause.fail(new Declined({ code: 1 })), Cause.die("broken"))
    return Effect.failCause(failing)
  }

  it.effect.each(endings)("%s", ([, end, after]) =>
    Effect.gen(function* () {
      const first = yield* Effect.forkChild(once(order, end), { startImmediately: true })
      yield* TestClock.adjust("1 second")
      const exit = yield* Fiber.await(first)
      // The first caller gets what its operation came to.
      expect(Exit.isFailure(exit)).toBe(true)
      expect(String(exit)).not.toContain("InDoubt")
      const again = yield* Effect.exit(once(order, Effect.succeed("again")))
      const error = Option.getOrUndefined(Exit.findErrorOption(again)) as { readonly _tag: string } | undefined
      expect(Exit.isSuccess(again) ? again.value : error?._tag).toBe(after)
    }).pipe(Effect.provide(layer())))

  const several: ReadonlyArray<readonly [string, Cause.Cause<unknown>, string]> = [
    ["none of which applied anything frees the key", Cause.combine(Cause.fail(busy), Cause.fail(busy)), "again"],
    [
      "of which the second may have applied is in doubt",
      Cause.combine(Cause.fail(busy), Cause.fail(timedOut)),
      "InDoubt"
    ],
    [
      "of which only the first is known is in doubt",
      Cause.combine(Cause.fail(new Declined({ code: 1 })), Cause.fail("?")),
      "InDoubt"
    ],
    [
      "of which the second is transient is in doubt",
      Cause.combine(Cause.fail(new Declined({ code: 1 })), Cause.fail(timedOut)),
      "InDoubt"
    ]
  ]
  it.effect.each(several)("with two failures at once, %s", ([, cause, after]) =>
    Effect.gen(function* () {
      yield* Effect.exit(once(order, Effect.failCause(cause)))
      const again = yield* Effect.exit(once(order, Effect.succeed("again")))
      const error = Option.getOrUndefined(Exit.findErrorOption(again)) as { readonly _tag: string } | undefined
      expect(Exit.isSuccess(again) ? again.value : error?._tag).toBe(after)
    }).pipe(Effect.provide(layer())))

  const thrower = (): never => {
    throw new Error("broken")
  }
  const throwing = Schema.String.pipe(Schema.check(Schema.makeFilter(thrower)))
  const broken: ReadonlyArray<readonly [string, object, Effect.Effect<unknown, unknown>]> = [
    ["its failure schema throws", { failure: throwing }, Effect.fail("declined")],
    [
      "its classifier throws",
      { transience: { ...Transience.standard, isTransient: thrower } },
      Effect.fail("declined")
    ],
    ["its success schema throws", { success: throwing }, Effect.succeed("done")],
    [
      "its success throws when it is read",
      { success: Schema.Struct({ a: Schema.String }) },
      Effect.succeed(Object.defineProperty({}, "a", { enumerable: true, get: thrower }))
    ],
    ["its success is no JSON", { success: Schema.Unknown }, Effect.succeed(1n)]
  ]
  it.effect.each(broken)(
    "is in doubt at once where %s, which is a defect",
    ([, options, operation]) =>
      Effect.gen(function* () {
        // As plain JavaScript would call it.
        const wrong = { ...order, ...options } as typeof order
        const exit = yield* Effect.exit(once(wrong, operation as Effect.Effect<string>))
        expect(Exit.hasDies(exit)).toBe(true)
        expect(yield* Effect.flip(once(order, Effect.succeed("again")))).toMatchObject({ _tag: "InDoubt" })
      }).pipe(Effect.provide(layer()))
  )

  it.effect("a caller that leaves interrupts its operation, which is in doubt then", () =>
    Effect.gen(function* () {
      let released = false
      const operation = Effect.onInterrupt(Effect.never, () => Effect.sync(() => void (released = true)))
      const first = yield* Effect.forkChild(once(order, operation), { startImmediately: true })
      yield* TestClock.adjust(1)
      yield* Fiber.interrupt(first)
      expect(released).toBe(true)
      expect(yield* Effect.flip(once(order, operation))).toMatchObject({ _tag: "InDoubt", reason: "Abandoned" })
    }).pipe(Effect.provide(layer())))

  it.effect("a success that does not fit its schema is in doubt, and a defect that does not repeat it", () =>
    Effect.gen(function* () {
      const exit = yield* Effect.exit(once({ ...order, success: Schema.Literal("paid") }, wrong()))
      expect(String(exit)).toContain("does not fit its schema")
      expect(String(exit)).not.toContain("4111")
      expect(yield* Effect.flip(once(order, Effect.succeed("again")))).toMatchObject({ _tag: "InDoubt" })
    }).pipe(Effect.provide(layer())))

  // The types forbid it; a decoder that lies, or plain JavaScript, does not.
  const wrong = () => Effect.succeed("4111 1111" as "paid")

  it.effect.each(["", "{", "null", "1", "[]", "\"done\"", "{\"success\":3}"])(
    "an outcome that is no such text any more, as %j, is StoreFailed",
    (outcome) =>
      Effect.gen(function* () {
        const { count, operation } = counted(() => Effect.succeed("again"))
        yield* once(order, Effect.succeed("done"))
        const error = yield* Effect.flip(once(order, operation))
        expect(error).toMatchObject({ _tag: "StoreFailed", operation: "decode" })
        expect(Transience.classify(error).transience).toBe("terminal")
        expect(count()).toBe(0)
      }).pipe(Effect.provide(faulty((store) => ({
        finish: (held, ending) => store.finish(held, { ...ending, outcome } as IdempotencyStore.Ending)
      }))))
  )

  it.effect("an outcome that the schema of today cannot read is StoreFailed", () =>
    Effect.gen(function* () {
      yield* once({ ...order, success: Schema.Number }, Effect.succeed(3))
      const error = yield* Effect.flip(once(order, Effect.succeed("again")))
      expect(error).toMatchObject({ _tag: "StoreFailed", operation: "decode" })
      expect(Transience.classify(error).transience).toBe("terminal")
    }).pipe(Effect.provide(layer())))

  it.effect.each(["sk_live_4242", "[\"sk_live_4242\"]", "{\"success\":{\"token\":\"sk_live_4242\"}}"])(
    "no error repeats an outcome that cannot be read: %j",
    (outcome) =>
      Effect.gen(function* () {
        yield* once(order, Effect.succeed("done"))
        const exit = yield* Effect.exit(once(order, Effect.succeed("again")))
        expect(Exit.isFailure(exit)).toBe(true)
        expect(inspect(exit, { depth: 9 }) + JSON.stringify(exit)).not.toContain("sk_live")
      }).pipe(Effect.provide(faulty((store) => ({
        finish: (held, ending) => store.finish(held, { ...ending, outcome } as IdempotencyStore.Ending)
      }))))
  )
})

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
