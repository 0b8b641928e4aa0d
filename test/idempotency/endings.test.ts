// What becomes of a record when its operation has ended, one way or another.
import { describe, expect, it } from "@effect/vitest"
import { Policy, Retry, RetryExhausted, Transience } from "@reprise/core"
import { Idempotency, type IdempotencyStore } from "@reprise/idempotency"
import * as Cause from "effect/Cause"
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

  /** Retries that meet these failures, one after the other, and give up. */
  const retried = (...failures: ReadonlyArray<unknown>) => {
    const { operation } = counted((attempt) => Effect.fail(failures[attempt - 1]))
    return Retry.run(operation, Policy.immediate(failures.length - 1))
  }
  const kept = RetryExhausted.mostHistory
  const histories: ReadonlyArray<readonly [name: string, failures: ReadonlyArray<unknown>, after: string]> = [
    ["of which the first may have applied are in doubt", [timedOut, busy], "InDoubt"],
    ["of which the last may have applied are in doubt", [busy, timedOut], "InDoubt"],
    ["none of which applied anything free the key, as many as are remembered", Array(kept).fill(busy), "again"],
    ["of which the first is not remembered any more are in doubt", [timedOut, ...Array(kept).fill(busy)], "InDoubt"],
    ["of which one that did nothing is not remembered any more are in doubt", Array(kept + 1).fill(busy), "InDoubt"]
  ]
  it.effect.each(histories)("attempts inside, %s", ([, failures, after]) =>
    Effect.gen(function* () {
      const first = yield* Effect.flip(once(order, retried(...failures)))
      expect(first).toMatchObject({ _tag: "RetryExhausted", attempts: failures.length })
      const again = yield* Effect.exit(once(order, Effect.succeed("again")))
      const error = Option.getOrUndefined(Exit.findErrorOption(again)) as { readonly _tag: string } | undefined
      expect(Exit.isSuccess(again) ? again.value : error?._tag).toBe(after)
    }).pipe(Effect.provide(layer())))

  it.effect("retries inside that gave up are no outcome, also where the schema knows such a failure", () =>
    Effect.gen(function* () {
      const options = { ...order, failure: RetryExhausted.schema(Declined) }
      const declined = new Declined({ code: 1 })
      const failing: Effect.Effect<string, RetryExhausted.RetryExhausted<Declined>> = Retry.run(
        Effect.fail(declined),
        Policy.immediate(1)
      )
      expect(yield* Effect.flip(once(options, failing))).toMatchObject({ _tag: "RetryExhausted" })
      expect(yield* Effect.flip(once(options, Effect.succeed("again")))).toMatchObject({ _tag: "InDoubt" })
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
