import { afterAll, describe, expect, it } from "@effect/vitest"
import type * as core from "@reprise/core"
import { Policy, Retry, RetryExhausted, Transience } from "@reprise/core"
import * as Cause from "effect/Cause"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import * as Exit from "effect/Exit"
import * as Stream from "effect/Stream"
import { buildSync } from "esbuild"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { errorOf, exhaustion } from "./exits.ts"
import { record, recordWith } from "./Recording.ts"

class Busy extends Data.TaggedError("Busy")<{}> {}
class Unavailable extends Data.TaggedError("Unavailable")<{ readonly cause?: unknown; readonly reason?: unknown }> {}

const busy = new Busy()
const twice = Policy.immediate(1)
const often = Policy.immediate(4)

describe("R8: a terminal failure leaves with its original cause", () => {
  const causes: ReadonlyArray<[what: string, cause: Cause.Cause<Busy>]> = [
    ["one failure", Cause.fail(busy)],
    ["two failures", Cause.combine(Cause.fail(busy), Cause.fail(new Busy()))]
  ]
  it.each(causes)("%s, in the first attempt", (_, cause) => {
    const { exit } = record(() => Effect.failCause(cause), often.pipe(Policy.whileTag("Other")))
    expect(Exit.isFailure(exit) && exit.cause).toBe(cause)
  })

  it.each(causes)("%s, in a later attempt", (_, cause) => {
    const { attempts, exit } = record(
      (n) => n < 3 ? Effect.fail(new Unavailable({})) : Effect.failCause<Busy | Unavailable>(cause),
      often.pipe(Policy.whileTag("Unavailable"))
    )
    expect(attempts).toBe(3)
    expect(Exit.isFailure(exit) && exit.cause).toBe(cause)
  })

  it.each(causes)("%s, under `none`", (_, cause) => {
    const { exit } = record(() => Effect.failCause(cause), Policy.none)
    expect(Exit.isFailure(exit) && exit.cause).toBe(cause)
  })

  it.each(causes)("%s, when `when` says no", (_, cause) => {
    const { exit } = recordWith(
      () => Effect.failCause(cause),
      Retry.run(often, { when: () => Effect.succeed(false) })
    )
    expect(Exit.isFailure(exit) && exit.cause).toBe(cause)
  })
})

describe("R8: layers do not multiply", () => {
  it("a RetryExhausted passes through every outer run unchanged", () => {
    let inner: unknown
    const { attempts, exit } = recordWith(
      () => Effect.fail(busy),
      (operation) =>
        operation.pipe(
          Retry.run(twice, { name: "inner" }),
          Effect.tapError((error) => Effect.sync(() => inner = error)),
          Retry.run(often, { name: "outer" }),
          Retry.run(often, { name: "outermost" })
        )
    )
    expect(attempts).toBe(2)
    expect(errorOf(exit)).toBe(inner)
  })

  it("found among the causes of a mapped error, it stops the outer run with reason Layer", () => {
    const { attempts, exit } = recordWith(
      () => Effect.fail(busy),
      (operation) =>
        operation.pipe(
          Retry.run(twice),
          Effect.mapError((cause) => new Unavailable({ cause })),
          Retry.run(often)
        )
    )
    expect(attempts).toBe(2)
    const error = exhaustion(exit)
    expect([error.reason._tag, error.attempts]).toEqual(["Layer", 1])
    expect(error.lastError).toBeInstanceOf(Unavailable)
  })

  const inner = (): RetryExhausted.RetryExhausted => exhaustion(Effect.runSyncExit(Retry.run(Effect.fail(busy), twice)))
  const cyclic = (): Unavailable => {
    const error: { cause?: unknown; reason?: unknown } & Unavailable = new Unavailable({ reason: inner() })
    Object.assign(error, { cause: error })
    return error
  }

  it.each<[what: string, wrap: () => unknown]>([
    ["a native error", () => new Error("outer", { cause: inner() })],
    ["five levels deep", () => {
      let error: unknown = inner()
      for (let level = 0; level < 5; level++) error = new Unavailable({ cause: error })
      return error
    }],
    ["in `reason`", () => new Unavailable({ reason: inner() })],
    ["in a plain object", () => ({ cause: inner() })],
    ["beside a cycle", cyclic]
  ])("wrapped in %s, it stops an outer Retry.run and an outer Effect.retry", (_, wrap) => {
    expect(record(() => Effect.fail(wrap()), often).attempts).toBe(1)
    expect(recordWith(() => Effect.fail(wrap()), Effect.retry(often)).attempts).toBe(1)
  })

  it.each<[what: string, wrap: () => unknown]>([
    ["a cycle with nothing in it", () => {
      const error = new Unavailable({})
      return Object.assign(error, { cause: error })
    }],
    ["something that only looks like it", () => new Unavailable({ cause: { _tag: "RetryExhausted" } })]
  ])("%s is an error like another", (_, wrap) => {
    expect(record(() => Effect.fail(wrap()), often).attempts).toBe(5)
  })

  it("an exhaustion that is not the first failure of its cause counts all the same", () => {
    // As a race fails that nobody wins.
    const both = Cause.combine(Cause.fail<unknown>(busy), Cause.fail<unknown>(inner()))
    expect(record(() => Effect.failCause(both), often).attempts).toBe(1)
  })

  it.each<[what: string, error: () => unknown]>([
    ["an AggregateError", () => new AggregateError([busy, inner()])],
    ["a list, as Effect.validate fails with", () => [busy, inner()]],
    ["an error with such a list", () => new Unavailable({ cause: [new Unavailable({ reason: inner() })] })]
  ])("an exhaustion in %s stops the outer run", (_, error) => {
    const { attempts, exit } = record(() => Effect.fail(error()), often)
    expect([attempts, exhaustion(exit).reason._tag]).toEqual([1, "Layer"])
  })

  it("runs inside of Effect.validate do not multiply", () => {
    const { attempts } = recordWith(
      () => Effect.fail(busy),
      (operation) => Effect.validate([1, 2], () => operation.pipe(Retry.run(twice))).pipe(Retry.run(often))
    )
    expect(attempts).toBe(4)
  })

  it("one mapped beside the first failure of its cause counts all the same", () => {
    const cause = Cause.combine(Cause.fail(busy), Cause.fail(new Unavailable({ cause: inner() })))
    const { attempts, exit } = record(() => Effect.failCause<Busy | Unavailable>(cause), often)
    expect([attempts, exhaustion(exit).reason._tag]).toEqual([1, "Layer"])
  })

  it("a mapped error that the policy rejects is terminal, and no exhaustion", () => {
    const error = new Unavailable({ cause: inner() })
    const { exit } = record(() => Effect.fail(error), often.pipe(Policy.whileTag("Busy")))
    expect(errorOf(exit)).toBe(error)
  })

  it("Effect.retry around Retry.run", () => {
    const { attempts } = recordWith(
      () => Effect.fail(busy),
      (operation) => operation.pipe(Retry.run(twice), Effect.retry(often))
    )
    expect(attempts).toBe(2)
  })

  it("Stream.retry around Retry.run", () => {
    const { attempts } = recordWith(
      () => Effect.fail(busy),
      (operation) => Stream.fromEffect(Retry.run(operation, twice)).pipe(Stream.retry(often), Stream.runDrain)
    )
    expect(attempts).toBe(2)
  })

  it("to whatever classifies it, an exhaustion is terminal", () => {
    expect(Transience.isTerminal(inner())).toBe(true)
    expect(Transience.isTerminal(new Error("outer", { cause: inner() }))).toBe(true)
  })

  it("64 runs around each other make as many attempts as the innermost", () => {
    const { attempts, exit } = recordWith(() => Effect.fail(busy), (operation) => {
      let layered: Effect.Effect<never, unknown> = operation
      for (let layer = 0; layer < 64; layer++) layered = Retry.run(layered, often, { name: `layer ${layer}` })
      return layered
    })
    expect(attempts).toBe(5)
    expect(exhaustion(exit).operation).toBe("layer 0")
  })

  it("what is not exhausted inside is retried outside", () => {
    const { attempts } = recordWith(
      () => Effect.fail(busy),
      (operation) => operation.pipe(Retry.run(Policy.none), Retry.run(often))
    )
    expect(attempts).toBe(5)
  })
})

describe("R8: two copies of the package", async () => {
  // Another version in the tree of dependencies is another instance of every module, under the same keys.
  const directory = mkdtempSync(join(tmpdir(), "reprise-copy-"))
  afterAll(() => rmSync(directory, { recursive: true }))
  const { resolve } = createRequire(import.meta.url)
  const bundle = buildSync({
    stdin: { contents: `export * from "@reprise/core"`, resolveDir: fileURLToPath(new URL(".", import.meta.url)) },
    bundle: true,
    external: ["effect"],
    format: "esm",
    write: false
  })
  const path = join(directory, "copy.mjs")
  writeFileSync(
    path,
    bundle.outputFiles[0]!.text.replaceAll(
      /"(effect(?:\/[\w/]+)?)"/g,
      (_, name) => JSON.stringify(pathToFileURL(resolve(name)).href)
    )
  )
  const other: typeof core = await import(pathToFileURL(path).href)

  it("they are two", () => {
    expect(other.RetryExhausted.RetryExhausted).not.toBe(RetryExhausted.RetryExhausted)
    expect(other.Policy.exponential).not.toBe(Policy.exponential)
  })

  it("each knows the other's exhaustion", () => {
    const ours = errorOf(Effect.runSyncExit(Retry.run(Effect.fail(busy), twice)))
    const theirs = errorOf(Effect.runSyncExit(other.Retry.run(Effect.fail(busy), other.Policy.immediate(1))))
    expect(ours).not.toBeInstanceOf(other.RetryExhausted.RetryExhausted)
    expect([other.RetryExhausted.is(ours), RetryExhausted.is(theirs)]).toEqual([true, true])
  })

  it("a run of one does not multiply a run of the other", () => {
    const inside = recordWith(
      () => Effect.fail(busy),
      (operation) => operation.pipe(other.Retry.run(other.Policy.immediate(1)), Retry.run(often))
    )
    const outside = recordWith(
      () => Effect.fail(busy),
      (operation) => operation.pipe(Retry.run(twice), other.Retry.run(other.Policy.immediate(4)))
    )
    expect([inside.attempts, outside.attempts]).toEqual([2, 2])
  })

  it("nor when its error was mapped", () => {
    const { attempts, exit } = recordWith(
      () => Effect.fail(busy),
      (operation) =>
        operation.pipe(
          other.Retry.run(other.Policy.immediate(1)),
          Effect.mapError((cause) => new Unavailable({ cause })),
          Retry.run(often)
        )
    )
    expect(attempts).toBe(2)
    expect(exhaustion(exit).reason._tag).toBe("Layer")
  })

  it("a policy of one runs, combines and compares in the other", () => {
    const theirs = other.Policy.immediate(2)
    expect(Policy.isPolicy(theirs)).toBe(true)
    expect(record(() => Effect.fail(busy), Policy.attempts(theirs, 2)).attempts).toBe(2)
    expect(record(() => Effect.fail(busy), theirs).attempts).toBe(3)
    expect(Equal.equals(theirs, Policy.immediate(2))).toBe(true)
  })

  it("the attempt of a run of one is read in the other", () => {
    const numbers: Array<number> = []
    recordWith(
      () =>
        Effect.flatMap(Retry.Attempt, ({ number }) => {
          numbers.push(number)
          return Effect.fail(busy)
        }),
      other.Retry.run(other.Policy.immediate(2))
    )
    expect(numbers).toEqual([1, 2, 3])
  })
})
