import { describe, expect, it } from "@effect/vitest"
import { IdempotencyKey, Transience } from "@reprise/core"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import { inspect } from "node:util"
import { draws } from "./Recording.ts"
import * as VirtualClock from "./VirtualClock.ts"

const secret = "customer-4711"

const bad: ReadonlyArray<readonly [what: string, value: unknown, rule: RegExp]> = [
  ["an empty text", "", /not be empty/],
  ["a line break", `${secret}\nX-Admin: 1`, /printable ASCII; the character at position 14/],
  ["a carriage return", `${secret}\r`, /position 14/],
  ["a tab", `\t${secret}`, /position 1 /],
  ["a control character", `${secret}\x7f`, /position 14/],
  ["NUL", `\0${secret}`, /position 1 /],
  ["a letter beyond ASCII", `${secret}ü`, /position 14/],
  ["an emoji", `${secret}🔑`, /position 14/],
  ["a space before", ` ${secret}`, /space/],
  ["a space after", `${secret} `, /space/],
  ["a space alone", " ", /space/],
  ["256 characters", secret.padEnd(256, "x"), /255 bytes long, not 256/],
  ["a number", 4711, /be a text, not number/],
  ["null", null, /be a text, not null/],
  ["undefined", undefined, /be a text, not undefined/],
  ["an object", { toString: () => secret }, /be a text, not object/],
  ["a String object", Object(secret), /be a text, not object/]
]

const thrownBy = (build: () => unknown): unknown => {
  try {
    return build()
  } catch (error) {
    return error
  }
}

describe("InvalidIdempotencyKey", () => {
  it.each(bad)("%s is none: the rule is named, the text is not echoed", (_, value, rule) => {
    const error = thrownBy(() => IdempotencyKey.make(value as string))
    if (!(error instanceof IdempotencyKey.InvalidIdempotencyKey)) throw error
    expect(error._tag).toBe("InvalidIdempotencyKey")
    expect(error.rule).toMatch(rule)
    expect(error.message).toBe(`An idempotency key must ${error.rule}`)
    for (const text of [error.message, inspect(error), JSON.stringify(error)]) {
      expect(text).not.toContain("customer")
      expect(text).not.toContain("4711")
    }
    expect(IdempotencyKey.isIdempotencyKey(value)).toBe(false)
  })

  it("is terminal, and nothing was done under it", () => {
    const verdict = Transience.classify(new IdempotencyKey.InvalidIdempotencyKey("be a text"))
    expect(verdict).toMatchObject({ transience: "terminal", applied: "no", reader: "self" })
  })

  it.each(bad)("fromString fails with it: %s", (_, value, rule) => {
    const exit = Effect.runSyncExit(IdempotencyKey.fromString(value as string))
    const error = Option.getOrThrow(Exit.findErrorOption(exit))
    expect(error).toBeInstanceOf(IdempotencyKey.InvalidIdempotencyKey)
    expect(error.rule).toMatch(rule)
  })
})

describe("IdempotencyKey", () => {
  it.each([["a"], ["order-1017"], ["~"], ["two words"], ["x".repeat(255)], ["\"quoted\""]])("%s is one", (text) => {
    expect(IdempotencyKey.make(text)).toBe(text)
    expect(IdempotencyKey.isIdempotencyKey(text)).toBe(true)
    expect(Effect.runSync(IdempotencyKey.fromString(text))).toBe(text)
  })

  const timeOf = (key: string): number => Number.parseInt(key.slice(0, 8) + key.slice(9, 13), 16)

  /** A clock that stands a little after the newest key: keys of one process never go back. */
  const stopped = (): VirtualClock.VirtualClock => {
    const clock = VirtualClock.instant()
    clock.wall = timeOf(Effect.runSync(IdempotencyKey.generate)) + 10
    return clock
  }

  it("a new one is a UUIDv7 of Effect's clock", () => {
    const clock = stopped()
    const key = Effect.runSync(VirtualClock.provide(clock)(IdempotencyKey.generate))
    expect(key).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(timeOf(key)).toBe(clock.wall)
  })

  it("new ones differ, and ascend within a millisecond", () => {
    const keys = Effect.runSync(VirtualClock.provide(stopped())(Effect.replicateEffect(IdempotencyKey.generate, 500)))
    expect(new Set(keys).size).toBe(500)
    expect(keys.toSorted()).toEqual(keys)
  })

  it("a new one is never drawn from Random, whose seed may be known", () => {
    let drawn = 0
    const spy: Random.Random = {
      nextDoubleUnsafe: () => {
        drawn++
        return 0.5
      },
      nextIntUnsafe: () => ++drawn
    }
    const generate = () => Effect.runSync(Effect.provideService(IdempotencyKey.generate, Random.Random, spy))
    expect(generate()).not.toBe(generate())
    expect(drawn).toBe(0)
    const seeded = () => Effect.runSync(Effect.provideService(IdempotencyKey.generate, Random.Random, draws(0.5)))
    expect(seeded()).not.toBe(seeded())
  })

  it("the generator can be fixed", () => {
    const fixed = Effect.succeed(IdempotencyKey.make("fixed"))
    expect(Effect.runSync(Effect.provideService(IdempotencyKey.generate, IdempotencyKey.Generator, fixed))).toBe(
      "fixed"
    )
  })

  it("outside of a keyed run there is none", () => {
    expect(Effect.runSync(IdempotencyKey.Current)).toEqual(Option.none())
  })
})
