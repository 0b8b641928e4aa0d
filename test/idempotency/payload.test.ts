// Which payloads are the same, as callers see it: the same are answered, others are refused.
import { describe, expect, it } from "@effect/vitest"
import { Idempotency } from "@reprise/idempotency"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as fc from "fast-check"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { threadCpuUsage } from "node:process"
import { isDeepStrictEqual } from "node:util"
import { forAll } from "../laws/forAll.ts"
import { layer, order, type Store } from "./memory.ts"

const { once } = Idempotency

const send = (payload: unknown, options: object = {}): Effect.Effect<string, unknown, Store> =>
  once({ ...order, payload, ...options }, Effect.succeed("ran"))

/** Whether the second payload is taken for the first. */
const same = (one: unknown, other: unknown): boolean => {
  const exit = Effect.runSyncExit(Effect.provide(Effect.andThen(send(one), Effect.exit(send(other))), layer()))
  if (Exit.isFailure(exit)) throw new Error(String(exit))
  return Exit.isSuccess(exit.value)
}

const error = (payload: unknown, options: object = {}): unknown =>
  Effect.runSync(Effect.provide(Effect.flip(send(payload, options)), layer()))

describe("the same payload", () => {
  it.each<readonly [unknown, unknown]>([
    [{ a: 1, b: { c: 2, d: 3 } }, { b: { d: 3, c: 2 }, a: 1 }],
    [{ a: 1, b: undefined }, { a: 1 }],
    [0, -0],
    [Object.assign(Object.create(null), { a: 1 }), { a: 1 }],
    [new Uint8Array([1, 2]), new Uint8Array([0, 1, 2]).subarray(1)],
    [new Uint8Array([1, 2]).buffer, new Uint8Array([1, 2])],
    [new Date(5), new Date(5)],
    [DateTime.makeUnsafe(5), DateTime.makeUnsafe(5)],
    [new URL("https://a.test"), new URL("https://a.test")]
  ])("%o is %o", (one, other) => {
    expect(same(one, other)).toBe(true)
  })

  it.each<readonly [unknown, unknown]>([
    [1, "1"],
    [1, 1n],
    [null, undefined],
    [null, "null"],
    [false, 0],
    ["", []],
    [{}, []],
    [[1, [2]], [[1], 2]],
    [["a", "b"], ["a,b"]],
    [["a"], { 0: "a" }],
    [{ a: null }, {}],
    [[undefined], []],
    [{ a: "b" }, { b: "a" }],
    [["as", "b"], ["a", "sb"]],
    ["s1:a", ["a"]],
    [new Date(5), new Date(5).toISOString()],
    [new Uint8Array([1]), [1]],
    [new Uint8Array([1]), "AQ=="],
    ["\ud800", "\ud801"],
    ["\ud800", "\"\\ud800\""],
    [Number.NaN, "NaN"],
    [Number.NaN, Infinity],
    [0.1 + 0.2, 0.3],
    ["é", "e\u0301"],
    ["a", "A"],
    ["a", "a "],
    [255n, 256n],
    [255n, "255n"],
    [-1n, 1n],
    [[1, 2], [2, 1]],
    [JSON.parse("{\"__proto__\":1}"), {}],
    [Option.some(1), Option.some(2)],
    [{ a: 1, toJSON: () => ({ b: 2 }) }, { b: 2 }]
  ])("%o is not %o", (one, other) => {
    expect(same(one, other)).toBe(false)
  })

  it("is what is equal, for all that is plain data", () => {
    const leaf = fc.oneof(
      fc.constantFrom<unknown>(null, undefined, true, false, 0, 1, -1, 0.1, 1e21, 1n, -1n, "", "1", "n", "u", "a"),
      fc.constantFrom<unknown>("\ud800", "\udc00", "\"\\ud800\"", "s1:a", "a0:", "o0:", "b1:AQ==", "d1;", "i1;", "w1:"),
      fc.uint8Array({ maxLength: 2 }),
      fc.string({ unit: "binary", maxLength: 2 })
    )
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { depthSize: "small" },
        leaf,
        fc.array(tie("value"), { maxLength: 3 }),
        fc.dictionary(fc.constantFrom("a", "b", "a1", "s1:a", "\ud800", "\udc00"), tie("value"), { maxKeys: 3 })
      )
    }))
    /** Without what does not matter: properties that are `undefined`, their order, and what bytes are a view of. */
    const plain = (value: unknown): unknown => {
      if (value instanceof Uint8Array) return { bytes: [...value] }
      if (Array.isArray(value)) return value.map(plain)
      if (typeof value !== "object" || value === null) return value
      const there = Object.entries(value).filter(([, inner]) => inner !== undefined)
      return { record: Object.fromEntries(there.map(([key, inner]) => [key, plain(inner)])) }
    }
    forAll([value, value], (one, other) => {
      expect(same(one, other)).toBe(isDeepStrictEqual(plain(one), plain(other)))
      expect(same(one, one)).toBe(true)
    }, 300)
  })

  it("is what a getter gave when it was read, once", () => {
    let reads = 0
    const payload = {
      get a() {
        return ++reads === 1 ? "first" : undefined
      }
    }
    expect(same({ a: "first" }, payload)).toBe(true)
    expect(reads).toBe(1)
  })

  it("is not what only looks the same in JSON: a hole is undefined, and no property is a symbol", () => {
    // oxlint-disable-next-line no-sparse-arrays -- that is what is tested
    expect(same([, 1], [undefined, 1])).toBe(true)
    expect(same([undefined], [null])).toBe(false)
    expect(same({ [Symbol("s")]: 1 }, {})).toBe(true)
  })

  it("is what JSON says it is, for all that JSON can say", () => {
    const text = (value: unknown): string =>
      JSON.stringify(value, (_, inner) =>
        typeof inner === "object" && inner !== null && !Array.isArray(inner)
          ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
          : inner)
    // Few values, so that some are the same.
    const leaf = fc.constantFrom<unknown>(null, true, 0, 1, "", "0", "a", "a1:")
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { depthSize: "small" },
        leaf,
        fc.array(tie("value"), { maxLength: 2 }),
        fc.dictionary(fc.constantFrom("a", "b"), tie("value"), { maxKeys: 2 })
      )
    }))
    forAll([value, value], (one, other) => {
      expect(same(one, other)).toBe(text(one) === text(other))
      expect(same(one, structuredClone(one))).toBe(true)
    }, 200)
  })
})

describe("a payload that cannot be compared is refused", () => {
  const cycle: Record<string, unknown> = {}
  cycle["self"] = { cycle }
  let deep: unknown = 1
  for (let i = 0; i < 102; i++) deep = [deep]
  const itself = { toJSON: (): unknown => itself }
  const endless = { toJSON: (): unknown => ({ ...endless }) }
  class Money {
    readonly #cents = 1
    get cents(): number {
      return this.#cents
    }
  }
  it.each<readonly [string, unknown]>([
    ["a function", { f: () => 1 }],
    ["a symbol", [Symbol("s")]],
    ["a cycle", cycle],
    ["too deep", deep],
    ["a Map", new Map([["a", 1]])],
    ["a Set", new Set([1])],
    ["an instance of a class", new Money()],
    ["a promise", Promise.resolve(1)],
    ["a boxed text", Object("text")],
    ["an error", new Error("text")],
    ["a function with toJSON", Object.assign(() => 1, { toJSON: () => 1 })],
    ["a toJSON without an end", endless],
    ["a toJSON that gives itself", itself],
    ["a Redacted, which hides what would count", { card: Redacted.make("4111") }]
  ])("%s", (_, payload) => {
    expect(error(payload)).toMatchObject({ _tag: "PayloadRefused", reason: "Unencodable" })
  })

  const hostile: ReadonlyArray<readonly [string, () => unknown]> = [
    ["a getter", () => Object.defineProperty({}, "a", { enumerable: true, get: thrower })],
    ["a toJSON", () => ({ toJSON: thrower })],
    ["a proxy", () => new Proxy({}, { ownKeys: thrower })],
    ["a revoked proxy", () => {
      const { proxy, revoke } = Proxy.revocable({}, {})
      revoke()
      return proxy
    }]
  ]
  const thrower = (): never => {
    throw new TypeError("hostile")
  }
  it.each(hostile)("what %s throws is a defect, and nothing runs", (_, make) => {
    const exit = Effect.runSyncExit(Effect.provide(send(make()), layer()))
    expect(Exit.hasDies(exit)).toBe(true)
  })

  it("the same object twice is no cycle", () => {
    const inner = { a: 1 }
    expect(same([inner, inner], [{ a: 1 }, { a: 1 }])).toBe(true)
  })
})

describe("a payload that is too large is refused", () => {
  it.each<readonly [string, unknown, unknown]>([
    ["text", "x".repeat(10), "x".repeat(11)],
    ["bytes", new Uint8Array(10), new Uint8Array(11)],
    ["elements", Array(10).fill(0), Array(11).fill(0)],
    ["keys and values", { "12345": "6789" }, { "12345": "67890" }],
    ["digits of a bigint, in base 16", 16n ** 9n, 16n ** 12n]
  ])("%s", (_, fits, isLarger) => {
    expect(same(fits, fits)).toBe(true)
    const options = { maxPayloadBytes: 10 }
    expect(Effect.runSync(Effect.provide(send(fits, options), layer()))).toBe("ran")
    expect(error(isLarger, options)).toMatchObject({ _tag: "PayloadRefused", reason: "TooLarge" })
  })

  it("1,048,576 are not, where nothing else is said, and one more is", () => {
    expect(Effect.runSync(Effect.provide(send("x".repeat(1_048_576)), layer()))).toBe("ran")
    expect(error("x".repeat(1_048_577))).toMatchObject({ _tag: "PayloadRefused", reason: "TooLarge" })
  })

  it.each<readonly [string, () => unknown]>([
    ["text", () => "x".repeat(100_000_000)],
    ["bytes", () => ({ body: new Uint8Array(100_000_000) })],
    ["texts", () => Array<string>(100).fill("x".repeat(1_000_000))],
    ["a bigint", () => 1n << 100_000_000n],
    ["holes", () => Array(100_000_000)]
  ])("100 MB of %s, without being read", (_, make) => {
    const payload = make()
    const before = threadCpuUsage()
    expect(error(payload)).toMatchObject({ _tag: "PayloadRefused", reason: "TooLarge" })
    // Hashing them takes some 100 ms, and copying them no less.
    const { system, user } = threadCpuUsage(before)
    expect((system + user) / 1_000).toBeLessThan(50)
  })
})
