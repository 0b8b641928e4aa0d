import { describe, expect, it } from "@effect/vitest"
import { InvalidPolicy, NestedRetry, Policy, Retry, type RetryExhausted, RetryLayers } from "@reprise/core"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import { recordWith } from "./Recording.ts"

class Busy extends Data.TaggedError("Busy")<{ readonly n?: number }> {}
class Failed extends Data.TaggedError("Failed")<{ readonly cause: unknown }> {}

const twice = Policy.immediate(1)
const thrice = Policy.immediate(2)

/** Warnings that the effect logs. */
const warnings = (self: Effect.Effect<unknown, unknown>): ReadonlyArray<string> => {
  const logged: Array<string> = []
  const logger = Logger.make(({ logLevel, message }) => {
    if (logLevel === "Warn") logged.push(String(message))
  })
  Effect.runSyncExit(self.pipe(Effect.provide(Logger.layer([logger]))))
  return logged
}

const quiet = Effect.provide(Logger.layer([]))

describe("RetryLayers.current and total", () => {
  it("outside of all there is one execution", () => {
    expect(Effect.runSync(RetryLayers.total)).toBe(1)
    expect(Effect.runSync(RetryLayers.current)).toEqual([])
  })

  it("a run inside knows those outside from its first attempt", () => {
    const seen = Effect.runSync(
      Effect.all([RetryLayers.current, RetryLayers.total]).pipe(
        Retry.run(twice, { name: "inner" }),
        Retry.run(thrice, { name: "outer" }),
        RetryLayers.declare({ name: "envoy", attempts: 4 }),
        quiet
      )
    )
    expect(seen).toEqual([
      [{ name: "envoy", attempts: 4 }, { name: "outer", attempts: 3 }, { name: "inner", attempts: 2 }],
      24
    ])
  })

  const ways: ReadonlyArray<readonly [string, (self: Effect.Effect<number | "unlimited">) => Effect.Effect<unknown>]> = [
    ["a fork", (self) => Effect.flatMap(Effect.forkChild(self), Fiber.join)],
    ["Effect.all", (self) => Effect.map(Effect.all([self, self], { concurrency: 2 }), (_) => _[1])],
    ["a stream", (self) => Effect.map(Stream.runCollect(Stream.fromEffect(self)), (_) => _[0])],
    ["a race", (self) => Effect.race(self, Effect.never)]
  ]
  it.effect.each(ways)("through %s", ([, through]) =>
    Effect.gen(function* () {
      expect(yield* through(RetryLayers.total).pipe(Retry.run(thrice, { name: "outer" }))).toBe(3)
    }))

  it("says that nothing bounds it, and never a number for that", () => {
    const policy = Policy.constant("1 second").pipe(Policy.unlimited)
    expect(Effect.runSync(RetryLayers.total.pipe(Retry.run(policy)))).toBe("unlimited")
    expect(Effect.runSync(RetryLayers.current.pipe(Retry.run(policy)))).toEqual([
      { name: "constant(1s) | unlimited", attempts: "unlimited" }
    ])
  })

  it("a run that is over is no layer", () => {
    const program = Effect.andThen(Retry.run(Effect.void, thrice), RetryLayers.total)
    expect(Effect.runSync(program)).toBe(1)
    const failed = Effect.andThen(Effect.exit(Retry.run(Effect.fail("busy"), twice)), RetryLayers.total)
    expect(Effect.runSync(failed)).toBe(1)
  })

  it.each([0, 1.5, Number.NaN, -1])("refuses a layer of %s attempts", (attempts) => {
    expect(() => RetryLayers.declare(Effect.void, { name: "envoy", attempts })).toThrow(InvalidPolicy.InvalidPolicy)
  })
})

describe("RetryLayers.Mode", () => {
  it("allow: warns once a pair, with both names and the worst case", () => {
    const nested = Effect.void.pipe(
      Retry.run(twice, { name: "warned-inner" }),
      Retry.run(thrice, { name: "warned-outer" })
    )
    const [first, ...more] = warnings(Effect.andThen(nested, nested))
    expect(first).toContain("\"warned-inner\" retries inside \"warned-outer\"")
    expect(first).toContain("up to 6 times")
    expect(more).toEqual([])
    expect(warnings(nested)).toEqual([])
    expect(warnings(Effect.void.pipe(
      Retry.run(twice, { name: "warned-other" }),
      Retry.run(thrice, { name: "warned-outer" })
    ))).toHaveLength(1)
  })

  it("allow: a run that cannot retry warns of nothing, inside or outside", () => {
    expect(warnings(Effect.void.pipe(
      Retry.run(Policy.none, { name: "once-inner" }),
      Retry.run(thrice, { name: "once-outer" })
    ))).toEqual([])
    expect(warnings(Effect.void.pipe(
      Retry.run(thrice, { name: "once-inner" }),
      Retry.run(Policy.attempts(Policy.constant(5), 1), { name: "once-outer" })
    ))).toEqual([])
  })

  it("allow: a declared layer warns too, also across one that cannot retry", () => {
    const [warning] = warnings(Effect.void.pipe(
      Retry.run(thrice, { name: "declared-inner" }),
      Retry.run(Policy.none),
      RetryLayers.declare({ name: "sdk", attempts: 5 })
    ))
    expect(warning).toContain("\"sdk\"")
    expect(warning).toContain("up to 15 times")
  })

  it("fail: dies before the first attempt, and says which", () => {
    const { attempts, exit } = recordWith(
      () => Effect.fail(new Busy({})),
      (operation) =>
        operation.pipe(
          Retry.run(twice, { name: "inner" }),
          Retry.run(thrice, { name: "outer" }),
          Effect.provideService(RetryLayers.Mode, "fail")
        )
    )
    expect(attempts).toBe(0)
    const defect = Result.getOrThrow(Exit.findDefect(exit))
    expect(defect).toBeInstanceOf(NestedRetry.NestedRetry)
    expect((defect as NestedRetry.NestedRetry).message).toContain("6")
  })

  describe("collapse", () => {
    const collapsed = Effect.provideService(RetryLayers.Mode, "collapse")

    it("the run inside makes one attempt, and the one around judges its failure", () => {
      const { attempts, exit } = recordWith(
        (n) => Effect.fail(new Busy({ n })),
        (operation) =>
          operation.pipe(
            Retry.run(Policy.immediate(9), { name: "inner" }),
            Retry.run(thrice.pipe(Policy.whileTag("Busy")), { name: "outer" }),
            collapsed
          )
      )
      expect(attempts).toBe(3)
      const error = Option.getOrThrow(Exit.findErrorOption(exit)) as RetryExhausted.RetryExhausted<Busy>
      expect(error.operation).toBe("outer")
      expect(error.reason._tag).toBe("End")
      expect(error.lastError).toEqual(new Busy({ n: 3 }))
      expect(error.history.map((_) => (_.error as Busy).n)).toEqual([1, 2, 3])
    })

    it("through three layers the outermost one counts", () => {
      const { attempts } = recordWith(
        () => Effect.fail(new Busy({})),
        (operation) =>
          operation.pipe(
            Retry.run(Policy.immediate(9)),
            Retry.run(Policy.immediate(7)),
            Retry.run(thrice),
            collapsed
          )
      )
      expect(attempts).toBe(3)
    })

    it("what the policy inside rejects leaves as it is", () => {
      const { attempts, exit } = recordWith(
        () => Effect.fail(new Busy({})),
        (operation) =>
          operation.pipe(
            Retry.run(thrice.pipe(Policy.whileTag("Other"))),
            Retry.run(thrice.pipe(Policy.whileTag("Other"))),
            collapsed
          )
      )
      expect(attempts).toBe(1)
      expect(Option.getOrThrow(Exit.findErrorOption(exit))).toEqual(new Busy({}))
    })

    it("what the policy outside rejects leaves as the run inside gave it", () => {
      const { attempts, exit } = recordWith(
        () => Effect.fail(new Busy({})),
        (operation) => operation.pipe(Retry.run(thrice), Retry.run(thrice.pipe(Policy.whileTag("Other"))), collapsed)
      )
      expect(attempts).toBe(1)
      const error = Option.getOrThrow(Exit.findErrorOption(exit)) as RetryExhausted.RetryExhausted<Busy>
      expect(error.reason._tag).toBe("Layer")
    })

    it("mapped to another error it is exhausted, as ever", () => {
      const { attempts } = recordWith(
        () => Effect.fail(new Busy({})),
        (operation) =>
          operation.pipe(
            Retry.run(thrice),
            Effect.mapError((cause) => new Failed({ cause })),
            Retry.run(thrice),
            collapsed
          )
      )
      expect(attempts).toBe(1)
    })

    it("a declared layer is handed nothing", () => {
      const { attempts } = recordWith(
        () => Effect.fail(new Busy({})),
        (operation) =>
          operation.pipe(Retry.run(thrice), RetryLayers.declare({ name: "envoy", attempts: 3 }), collapsed, quiet)
      )
      expect(attempts).toBe(3)
    })
  })
})
