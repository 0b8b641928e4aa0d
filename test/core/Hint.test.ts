import { describe, expect, it } from "@effect/vitest"
import * as Transience from "@reprise/core/Transience"
import * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as fc from "fast-check"
import { runInNewContext } from "node:vm"
import * as hint from "../../packages/core/src/internal/hint.ts" // oxlint-disable-line no-restricted-imports -- internal

const now = 1_800_000_000_000
const read = (retryAfter: unknown): number | undefined => hint.read({ _tag: "Busy", retryAfter }, () => now)

describe("a hint that can be read (R7)", () => {
  it.each<[name: string, retryAfter: unknown, millis: number]>([
    ["a Duration", Duration.seconds(2), 2000],
    ["a number, in milliseconds", 1500, 1500],
    ["a bigint, in nanoseconds", 1_500_000_000n, 1500],
    ["a text for a duration", "2 seconds", 2000],
    ["a Date", new Date(now + 3000), 3000],
    ["a Date of another realm", runInNewContext(`new Date(${now + 3000})`), 3000],
    ["a DateTime", DateTime.makeUnsafe(now + 4000), 4000],
    ["zero", 0, 0],
    ["a Duration of zero", Duration.zero, 0],
    ["a negative number", -5, 0],
    ["a negative Duration", Duration.seconds(-5), 0],
    ["negative infinity", -Infinity, 0],
    ["a date in the past", new Date(now - 1), 0],
    ["a date long past", new Date(0), 0],
    ["the longest that is a wait", 1e15, 1e15],
    ["a longer one", 2e15, Infinity],
    ["infinity", Infinity, Infinity],
    ["an infinite Duration", Duration.infinity, Infinity],
    ["a text for infinity", "Infinity", Infinity],
    ["the last date there is", new Date(8.64e15), Infinity],
    ["the wish not to be tried again", "do not retry", -1]
  ])("%s", (_, retryAfter, millis) => {
    expect(read(retryAfter)).toBe(millis)
  })
})

describe("a hint that cannot be read is absent (R7)", () => {
  it.each<[name: string, retryAfter: unknown]>([
    ["undefined", undefined],
    ["null", null],
    ["NaN", Number.NaN],
    ["a text for nothing", "soon"],
    ["an empty text", ""],
    ["a number as text", "120"],
    ["a boolean", true],
    ["a symbol", Symbol("later")],
    ["a function", () => 5],
    ["an empty object", {}],
    ["an object", { seconds: 5 }],
    ["a list", [1, 2]],
    ["a date that is none", new Date(Number.NaN)]
  ])("%s", (_, retryAfter) => {
    expect(read(retryAfter)).toBeUndefined()
  })
})

describe("where a hint is found", () => {
  const at = (error: unknown): number | undefined => hint.read(error, () => now)

  it("on the error, its reason, and down its causes", () => {
    expect(at({ retryAfter: 1 })).toBe(1)
    expect(at({ reason: { retryAfter: 2 } })).toBe(2)
    expect(at(new Error("", { cause: new Error("", { cause: { retryAfter: 3 } }) }))).toBe(3)
  })

  it("the outermost counts, and what cannot be read is passed by", () => {
    expect(at({ retryAfter: 1, cause: { retryAfter: 2 } })).toBe(1)
    expect(at({ retryAfter: "soon", cause: { retryAfter: 2 } })).toBe(2)
  })

  it("what an error says of itself goes before its property", () => {
    const error = Transience.annotate(Object.assign(new Error(), { retryAfter: 1 }), {
      transience: "transient",
      retryAfter: "2 seconds"
    })
    expect(at(error)).toBe(2000)
  })

  it("an error without one, and what is no error, has none", () => {
    for (const error of [new Error(), {}, "text", undefined, null, 5]) expect(at(error)).toBeUndefined()
  })

  it("the clock is read only for a moment", () => {
    const clock = (): number => {
      throw new Error("not to be read")
    }
    expect(hint.read({ retryAfter: 5 }, clock)).toBe(5)
    expect(hint.read({}, clock)).toBeUndefined()
  })

  it("a hint that is hostile to being read is absent", () => {
    const traps = Object.fromEntries(
      Reflect.ownKeys(Reflect).map((trap) => [trap, () => {
        throw new Error("not to be read")
      }])
    )
    expect(at({ retryAfter: new Proxy({}, traps) })).toBeUndefined()
    expect(at({ retryAfter: { epochMilliseconds: 1n, getTime: 1, valueOf: () => Symbol("s") } })).toBeUndefined()
  })

  it("whatever an error carries, a hint is absent, -1, or no less than 0", () => {
    fc.assert(
      fc.property(fc.anything({ withDate: true, withBigInt: true }), (retryAfter) => {
        const millis = read(retryAfter)
        expect(millis === undefined || millis === -1 || millis >= 0).toBe(true)
      }),
      { numRuns: 1000 }
    )
  })
})

describe("the Retry-After of a response that an error carries", () => {
  const of = (headers: unknown): number | undefined => hint.read({ reason: { response: { headers } } }, () => now)

  it.each<[header: string, millis: number | undefined]>([
    ["0", 0],
    ["7", 7000],
    [" 120 ", 120_000],
    ["Fri, 15 Jan 2027 08:00:30 GMT", 30_000],
    ["Fri, 15 Jan 2027 07:59:00 GMT", 0],
    ["9".repeat(1_000_000), Infinity],
    ["soon", undefined],
    ["-1", undefined],
    ["1.5", undefined]
  ])("%s", (text, millis) => {
    expect(of({ "retry-after": text })).toBe(millis)
    expect(of(new Headers({ "retry-after": text }))).toBe(millis)
  })

  it("what the error says itself counts before it", () => {
    const response = { headers: { "retry-after": "7" } }
    expect(hint.read({ retryAfter: "2 seconds", response }, () => now)).toBe(2000)
  })

  it("a response without it, or with something else in its place, has no hint", () => {
    for (const headers of [undefined, null, {}, { "retry-after": 7 }, new Map(), "retry-after: 7"]) {
      expect(of(headers)).toBeUndefined()
    }
  })
})

describe("the hint of a verdict", () => {
  it("is told as it was given: a wait, a moment, or a wish", () => {
    const hintOf = (retryAfter: unknown) => Transience.classify({ retryAfter }).hint
    expect(hintOf("1 seconds")).toEqual({ _tag: "After", millis: 1000 })
    expect(hintOf(new Date(now))).toEqual({ _tag: "At", epochMillis: now })
    expect(hintOf("do not retry")).toEqual({ _tag: "DoNotRetry" })
    expect(hintOf("soon")).toBeUndefined()
  })
})
