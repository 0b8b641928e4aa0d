// Which payloads are the same, as callers see it: the same are answered, others are refused.
import { describe, expect, it } from "@effect/vitest"
import { Idempotency } from "@reprise/idempotency"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as fc from "fast-check"
import { threadCpuUsage } from "node:process"
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
    ["é", "e\u0301"]
  ])("%o is not %o", (one, other) => {
    expect(same(one, other)).toBe(false)
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
    ["a promise", Promise.resolve(1)]
  ])("%s", (_, payload) => {
    expect(error(payload)).toMatchObject({ _tag: "PayloadRefused", reason: "Unencodable" })
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
    ["keys and values", { "12345": "6789" }, { "12345": "67890" }]
  ])("%s", (_, fits, isLarger) => {
    expect(same(fits, fits)).toBe(true)
    const options = { maxPayloadBytes: 10 }
    expect(Effect.runSync(Effect.provide(send(fits, options), layer()))).toBe("ran")
    expect(error(isLarger, options)).toMatchObject({ _tag: "PayloadRefused", reason: "TooLarge" })
  })

  it.each<readonly [string, () => unknown]>([
    ["text", () => "x".repeat(100_000_000)],
    ["bytes", () => ({ body: new Uint8Array(100_000_000) })],
    ["texts", () => Array<string>(100).fill("x".repeat(1_000_000))]
  ])("100 MB of %s, without being read", (_, make) => {
    const payload = make()
    const before = threadCpuUsage()
    expect(error(payload)).toMatchObject({ _tag: "PayloadRefused", reason: "TooLarge" })
    // Hashing them takes some 100 ms, and copying them no less.
    const { system, user } = threadCpuUsage(before)
    expect((system + user) / 1_000).toBeLessThan(50)
  })
})
