import { describe, expect, it } from "@effect/vitest"
import {
  Deadline,
  InvalidPolicy,
  NestedRetry,
  Policy,
  Retry,
  RetryBudget,
  RetryControl,
  type RetryEvents,
  RetryLayers,
  Transience
} from "@reprise/core"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import { exhaustion } from "./exits.ts"
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

  const ways: ReadonlyArray<readonly [string, (self: Effect.Effect<number | "unlimited">) => Effect.Effect<unknown>]> =
    [
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

describe("RetryLayers.detached", () => {
  it("is in no layer, and has no deadline", () => {
    const seen = Effect.all([RetryLayers.total, RetryLayers.current, Deadline.remaining]).pipe(
      RetryLayers.detached,
      Retry.run(thrice),
      Deadline.within("1 second"),
      RetryLayers.declare({ name: "envoy", attempts: "unlimited" })
    )
    expect(Effect.runSync(Effect.map(seen, ([total, layers]) => [total, layers.length]))).toEqual([1, 0])
    expect(Effect.runSync(Effect.map(seen, (_) => Option.isNone(_[2])))).toBe(true)
  })
})

describe("layers without an end", () => {
  it("a job that starts its successor inside itself keeps a bounded number of them", () => {
    const nested = (n: number): Effect.Effect<number> =>
      n === 0
        ? Effect.map(RetryLayers.current, (_) => _.length)
        : Effect.suspend(() => nested(n - 1)).pipe(Retry.run(Policy.none))
    expect(Effect.runSync(nested(1000))).toBeLessThanOrEqual(64)
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

  it("a name makes one line of a log", () => {
    const [warning] = warnings(Effect.void.pipe(
      Retry.run(twice, { name: "forged\n2026 FATAL \u001b[31m" }),
      Retry.run(thrice, { name: "forged-outer" })
    ))
    expect(warning).toContain("\"forged 2026 FATAL [31m\"")
  })

  it("fail: a declared layer changes no behaviour", () => {
    const inside = Effect.void.pipe(
      Retry.run(twice),
      RetryLayers.declare({ name: "envoy", attempts: 3 }),
      Effect.provideService(RetryLayers.Mode, "fail")
    )
    expect(Exit.isSuccess(Effect.runSyncExit(inside))).toBe(true)
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
      const error = exhaustion(exit)
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
      const error = exhaustion(exit)
      expect(error.reason._tag).toBe("Collapsed")
      expect(error.message).toContain("left to the retries around it")
    })

    it("mapped to another error, that error is judged", () => {
      const { attempts, exit } = recordWith(
        () => Effect.fail(new Busy({})),
        (operation) =>
          operation.pipe(
            Retry.run(Policy.immediate(7)),
            Effect.mapError((cause) => new Failed({ cause })),
            Retry.run(thrice),
            collapsed
          )
      )
      expect(attempts).toBe(3)
      const error = exhaustion(exit)
      expect(error.lastError).toBeInstanceOf(Failed)
    })

    it("a classifier sees what is under it", () => {
      const unavailable = Transience.annotate(new Failed({ cause: "down" }), "transient")
      const { attempts } = recordWith(
        () => Effect.fail(unavailable),
        (operation) =>
          operation.pipe(
            Retry.run(Policy.immediate(7)),
            Effect.mapError((cause) => new Failed({ cause })),
            Retry.run(thrice.pipe(Policy.whileInput(Transience.isTransient))),
            collapsed
          )
      )
      expect(attempts).toBe(3)
    })

    it("of runs in parallel all are handed over", () => {
      const { attempts } = recordWith(
        () => Effect.fail(new Busy({})),
        (operation) => {
          const one = Retry.run(operation, Policy.immediate(7))
          return Effect.race(one, one).pipe(Retry.run(thrice), collapsed)
        }
      )
      expect(attempts).toBe(6)
    })

    const safety: ReadonlyArray<readonly [string, Retry.Options, string]> = [
      ["repeatable", { repeatable: () => false }, "Unsafe"],
      ["its own budget", { budget: RetryBudget.ratio({ ratio: 0, minPerSecond: 0 }) }, "Budget"]
    ]
    it.each(safety)("what the run inside says itself holds: %s", (_, options, reason) => {
      const { attempts, exit } = recordWith(
        () => Effect.fail(new Busy({})),
        (operation) => operation.pipe(Retry.run(Policy.immediate(7), options as {}), Retry.run(thrice), collapsed)
      )
      expect(attempts).toBe(1)
      const error = exhaustion(exit)
      expect(error.reason._tag).toBe(reason)
    })

    it("what the run inside says itself holds: the switch", () => {
      const control = RetryControl.make({ operations: { inner: { retries: "off" } } })
      const { attempts } = recordWith(
        () => Effect.fail(new Busy({})),
        (operation) =>
          operation.pipe(
            Retry.run(Policy.immediate(7), { name: "inner" }),
            Retry.run(thrice, { name: "outer" }),
            collapsed,
            Effect.provide(RetryControl.layer(control))
          )
      )
      expect(attempts).toBe(1)
    })

    it("a run with a key of its own keeps it, and retries itself", () => {
      const keys: Array<string> = []
      const inner = Retry.runKeyed(twice, (key) =>
        Effect.suspend(() => {
          keys.push(key)
          return Effect.fail(new Busy({}))
        }))
      Effect.runSyncExit(inner.pipe(Retry.run(thrice), collapsed, quiet))
      expect(keys).toHaveLength(2)
      expect(new Set(keys).size).toBe(1)
    })

    it("counts as one attempt", () => {
      const total = RetryLayers.total.pipe(Retry.run(twice), Retry.run(thrice), collapsed)
      expect(Effect.runSync(total)).toBe(3)
    })

    it("its end is told", () => {
      const told: Array<string> = []
      const onEvent = (event: RetryEvents.RetryEvent) => Effect.sync(() => void told.push(event._tag))
      recordWith(
        () => Effect.fail(new Busy({})),
        (operation) => operation.pipe(Retry.run(twice, { onEvent }), Retry.run(Policy.immediate(1)), collapsed)
      )
      expect(told).toEqual(["AttemptFailed", "Exhausted", "AttemptFailed", "Exhausted"])
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
