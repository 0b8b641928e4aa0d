import { describe, expect, it } from "@effect/vitest"
import { IdempotencyKey, InvalidPolicy, Policy, Retry, RetryExhausted, Transience } from "@reprise/core"
import * as Cause from "effect/Cause"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import { TestClock } from "effect/testing"
import { recordWith } from "./Recording.ts"

class Busy extends Data.TaggedError("Busy")<{}> {}

const thrice = Policy.immediate(2)

/** An operation that fails and writes its key down, as argument and as it is read inside. */
const writing = (keys: Array<readonly [argument: string, current: string]>) => (key: IdempotencyKey.IdempotencyKey) =>
  Effect.gen(function* () {
    keys.push([key, Option.getOrElse(yield* IdempotencyKey.Current, () => "none")])
    return yield* new Busy()
  })

const operations: ReadonlyArray<
  readonly [
    name: string,
    keyed: <E>(
      operation: (key: IdempotencyKey.IdempotencyKey) => Effect.Effect<never, E>
    ) => Effect.Effect<never, unknown>
  ]
> = [
  ["Retry.runKeyed", (operation) => Retry.runKeyed(thrice, operation)],
  ["Retry.make", (operation) => Retry.make({ name: "it", policy: thrice, idempotency: "keyed" })(operation)]
]

describe.each(operations)("%s", (_, keyed) => {
  it("gives every attempt the same key, as argument and as Current", () => {
    const keys: Array<readonly [string, string]> = []
    Effect.runSyncExit(keyed(writing(keys)))
    expect(keys).toHaveLength(3)
    expect(new Set(keys.flat()).size).toBe(1)
    expect(keys[0]![0]).toMatch(/^[0-9a-f-]{36}$/)
  })

  it("gives every run of the effect another key", () => {
    const keys: Array<readonly [string, string]> = []
    const run = keyed(writing(keys))
    Effect.runSyncExit(run)
    Effect.runSyncExit(run)
    expect(keys).toHaveLength(6)
    expect(new Set(keys.flat()).size).toBe(2)
  })

  it("takes its keys from the generator of the moment", () => {
    const keys: Array<readonly [string, string]> = []
    const fixed = Effect.succeed(IdempotencyKey.make("fixed"))
    Effect.runSyncExit(Effect.provideService(keyed(writing(keys)), IdempotencyKey.Generator, fixed))
    expect(keys).toEqual([["fixed", "fixed"], ["fixed", "fixed"], ["fixed", "fixed"]])
  })

  it("R11: draws nothing from the run's Random", () => {
    let drawn = 0
    const random: Random.Random = { nextDoubleUnsafe: () => ++drawn, nextIntUnsafe: () => ++drawn }
    Effect.runSyncExit(Effect.provideService(keyed(writing([])), Random.Random, random))
    expect(drawn).toBe(0)
  })

  it("a keyed run inside has a key of its own, and the one outside comes back", () => {
    const seen: Array<Option.Option<string>> = []
    const note = Effect.map(IdempotencyKey.Current, (key) => void seen.push(key))
    Effect.runSyncExit(keyed(() =>
      Effect.gen(function* () {
        yield* note
        yield* Effect.ignore(keyed(() => Effect.andThen(note, new Busy())))
        yield* note
        return yield* Effect.die("enough")
      })
    ))
    const keys = seen.map(Option.getOrElse(() => "none"))
    expect(keys).toHaveLength(5)
    expect(new Set(keys).size).toBe(2)
    expect(keys[0]).toBe(keys[4])
    expect(keys[1]).toBe(keys[3])
  })

  it("an operation that throws is a defect, and not thrown at the caller", () => {
    const exit = Effect.runSyncExit(keyed(() => {
      throw new Error("broken")
    }))
    expect(Exit.hasDies(exit)).toBe(true)
  })
})

describe("Retry.runKeyed", () => {
  it("takes a key of the caller's own", () => {
    const keys: Array<readonly [string, string]> = []
    Effect.runSyncExit(Retry.runKeyed(thrice, writing(keys), { key: IdempotencyKey.make("order-1017") }))
    expect(new Set(keys.flat())).toEqual(new Set(["order-1017"]))
  })

  it("has the options of a run", () => {
    const told: Array<number> = []
    const exit = Effect.runSyncExit(
      Retry.runKeyed(thrice, writing([]), {
        name: "charge",
        onRetry: ({ attempt }) => Effect.sync(() => void told.push(attempt))
      })
    )
    expect(told).toEqual([1, 2])
    const error = Option.getOrUndefined(Exit.findErrorOption(exit))
    expect(RetryExhausted.is(error) && error.operation).toBe("charge")
  })

  it("succeeds with what the operation gives", () => {
    expect(Effect.runSync(Retry.runKeyed(thrice, () => Effect.succeed(7)))).toBe(7)
  })
})

describe("Retry.make", () => {
  const refused = Transience.annotate(new Busy(), { transience: "transient", applied: "no" })
  const lost = Transience.annotate(new Busy(), { transience: "transient", applied: "maybe" })
  const done = Transience.annotate(new Busy(), { transience: "terminal", applied: "yes" })

  const attemptsOf = (idempotency: Retry.Idempotency, error: unknown): number =>
    recordWith(() => Effect.fail(error), Retry.make({ name: "charge", policy: thrice, idempotency })).attempts

  it.each(["idempotent", "keyed", "transactional"] as const)("%s: retries as the policy says", (idempotency) => {
    expect([refused, lost, new Busy()].map((error) => attemptsOf(idempotency, error))).toEqual([3, 3, 3])
  })

  it("none: retries only what is known not to have applied", () => {
    expect([refused, lost, done, new Busy(), undefined].map((error) => attemptsOf("none", error))).toEqual([
      3,
      1,
      1,
      1,
      1
    ])
  })

  it("none: what it does not retry leaves with its original cause", () => {
    const cause = Cause.fail(lost)
    const { exit } = recordWith(
      () => Effect.failCause(cause),
      Retry.make({ name: "charge", policy: thrice, idempotency: "none" })
    )
    expect(Exit.isFailure(exit) && exit.cause).toBe(cause)
  })

  it("none: the policy's own classification counts as well", () => {
    const policy = thrice.pipe(Policy.whileTag("Other"))
    expect(recordWith(() => Effect.fail(refused), Retry.make({ name: "charge", policy, idempotency: "none" })).attempts)
      .toBe(1)
  })

  it.effect("none: an attempt that timed out may have applied, and is not retried", () =>
    Effect.gen(function* () {
      let attempts = 0
      const charging = Retry.make({ name: "charge", policy: thrice, attemptTimeout: "1 second", idempotency: "none" })
      const fiber = yield* charging(Effect.suspend(() => {
        attempts++
        return Effect.never
      })).pipe(Effect.flip, Effect.forkChild)
      yield* TestClock.adjust("1 minute")
      expect(Cause.isTimeoutError(yield* Fiber.join(fiber))).toBe(true)
      expect(attempts).toBe(1)
    }))

  it("keyed: takes a key of the caller's own", () => {
    const keys: Array<readonly [string, string]> = []
    const charging = Retry.make({ name: "charge", policy: thrice, idempotency: "keyed" })
    Effect.runSyncExit(charging(writing(keys), { key: IdempotencyKey.make("order-1017") }))
    expect(new Set(keys.flat())).toEqual(new Set(["order-1017"]))
  })

  it("keyed: an effect that is no function of the key has it as Current", () => {
    const keys: Array<Option.Option<string>> = []
    const operation = Effect.flatMap(IdempotencyKey.Current, (key) => {
      keys.push(key)
      return Effect.fail(new Busy())
    })
    Effect.runSyncExit(Retry.make({ name: "charge", policy: thrice, idempotency: "keyed" })(operation))
    expect(keys).toHaveLength(3)
    expect(keys.every(Option.isSome)).toBe(true)
    expect(new Set(keys.map(Option.getOrUndefined)).size).toBe(1)
  })

  it.each(["idempotent", "transactional", "none"] as const)("%s: makes no key", (idempotency) => {
    const keys: Array<Option.Option<string>> = []
    const operation = Effect.map(IdempotencyKey.Current, (key) => void keys.push(key))
    Effect.runSync(Retry.make({ name: "charge", policy: thrice, idempotency })(operation))
    expect(keys).toEqual([Option.none()])
  })

  it("names its run", () => {
    const { exit } = recordWith(
      () => Effect.fail(new Busy()),
      Retry.make({ name: "charge", policy: thrice, idempotency: "idempotent" })
    )
    const error = Option.getOrUndefined(Exit.findErrorOption(exit))
    expect(error?._tag === "RetryExhausted" && error.operation).toBe("charge")
  })

  it("shows its configuration", () => {
    const config = { name: "charge", policy: thrice, idempotency: "idempotent" } as const
    expect(Retry.make(config).config).toBe(config)
  })

  it("a bad attempt timeout is refused where it is made", () => {
    let thrown: unknown
    try {
      Retry.make({ name: "it", policy: thrice, attemptTimeout: "0 seconds", idempotency: "none" })
    } catch (error) {
      thrown = error
    }
    expect(InvalidPolicy.is(thrown) && thrown.argument).toBe("make.attemptTimeout")
  })
})
