import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { SafeIntegers } from "effect/sql/SqlClient"
import * as Stream from "effect/Stream"
import { inMemory, reason } from "./database.ts"

const large = 2n ** 53n + 1n

describe("integers", () => {
  it.effect("are numbers as far as that is exact, and bigints beyond", () =>
    Effect.gen(function* () {
      const sql = yield* inMemory()
      const integers = [
        0n,
        -1n,
        2n ** 53n - 1n,
        -(2n ** 53n) + 1n,
        2n ** 53n,
        -(2n ** 53n),
        2n ** 63n - 1n,
        -(2n ** 63n)
      ]
      const values = yield* Effect.forEach(integers, (integer) => sql`SELECT ${integer}, 0.5, NULL`.values)
      expect(values.flat().map(([value]) => value)).toEqual([
        0,
        -1,
        Number.MAX_SAFE_INTEGER,
        Number.MIN_SAFE_INTEGER,
        2n ** 53n,
        -(2n ** 53n),
        2n ** 63n - 1n,
        -(2n ** 63n)
      ])
      expect(values[0]).toEqual([[0, 0.5, null]])
      expect(yield* sql`SELECT ${large} AS id`).toEqual([{ id: large }])
      expect(yield* Stream.runCollect(sql`SELECT ${large} AS id, ${1n} AS one`.stream)).toEqual([{ id: large, one: 1 }])
    }))

  it.effect("do not stop a write halfway when they are large", () =>
    Effect.gen(function* () {
      const sql = yield* inMemory()
      yield* sql`CREATE TABLE t (id INTEGER PRIMARY KEY)`
      expect(yield* sql`INSERT INTO t VALUES (${large}), (1) RETURNING id`).toEqual([{ id: large }, { id: 1 }])
      expect(yield* sql`SELECT count(*) AS rows FROM t`).toEqual([{ rows: 2 }])
    }))

  it.effect("are all bigints where that is asked for", () =>
    Effect.gen(function* () {
      const sql = yield* inMemory()
      const one = sql`SELECT ${1n} AS one`
      const some = yield* Effect.all([one, one.values, one.raw, Stream.runCollect(one.stream)]).pipe(
        Effect.provideService(SafeIntegers, true)
      )
      expect(some).toEqual([[{ one: 1n }], [[1n]], [{ one: 1n }], [{ one: 1n }]])
      expect(yield* one).toEqual([{ one: 1 }])

      const always = yield* inMemory({ safeIntegers: true })
      expect(yield* always`SELECT ${1n} AS one`).toEqual([{ one: 1n }])
      expect(yield* always`CREATE TABLE t (id)`.raw).toEqual({ changes: 0n, lastInsertRowid: 0n })
    }))
})

describe("parameters", () => {
  it.effect("go in and come out: blobs, texts, numbers, null", () =>
    Effect.gen(function* () {
      const sql = yield* inMemory()
      yield* sql`CREATE TABLE t (a BLOB, b TEXT, c REAL, d)`
      const blob = new Uint8Array([9, 0, 255, 1]).subarray(1, 3)
      yield* sql`INSERT INTO t VALUES (${blob}, ${"ü\0🙂"}, ${1.5}, ${null})`
      expect(yield* sql`SELECT * FROM t`).toEqual([{ a: new Uint8Array([0, 255]), b: "ü\0🙂", c: 1.5, d: null }])
      expect(yield* sql`SELECT typeof(${new Uint8Array(0)}) AS type`).toEqual([{ type: "blob" }])
    }))

  it.effect("that are booleans or undefined are 1, 0 and NULL", () =>
    Effect.gen(function* () {
      const sql = yield* inMemory()
      expect(yield* sql`SELECT ${true}, ${false}, ${undefined}, ${"a"}`.values).toEqual([[1, 0, null, "a"]])
    }))

  it.effect("that are booleans are integers, whatever the column", () =>
    Effect.gen(function* () {
      const sql = yield* inMemory()
      expect(yield* sql`SELECT typeof(${true}), typeof(${false}), CAST(${true} AS TEXT)`.values)
        .toEqual([["integer", "integer", "1"]])
      yield* sql`CREATE TABLE t (flag TEXT)`
      yield* sql`INSERT INTO t VALUES (${true})`
      expect(yield* sql`SELECT flag FROM t`.values).toEqual([["1"]])
    }))

  it.effect.each<readonly [kind: string, value: unknown, text: string]>([
    ["a Date", new Date(0), "parameter 2 is a Date; bind its getTime() or its toISOString()"],
    ["an object", { a: 1 }, "parameter 2 is an object; bind its fields one by one, or JSON.stringify it"],
    ["an array", [1], "parameter 2 is an array; sql.in(values) makes a list, JSON.stringify(values) a text"],
    ["a function", () => 1, "parameter 2 is a function"],
    ["an ArrayBuffer", new ArrayBuffer(2), "parameter 2 is an ArrayBuffer; bind a view of it, new Uint8Array(buffer)"],
    ["a bigint that is too large", 2n ** 63n, "parameter 2 is a bigint of more than 64 bits"],
    ["a bigint that is too small", -(2n ** 63n) - 1n, "parameter 2 is a bigint of more than 64 bits"]
  ])("that are %s are refused by their place", ([, value, text]) =>
    Effect.gen(function* () {
      const sql = yield* inMemory()
      const refused = yield* reason(sql.unsafe("SELECT ?, ?", [1, value]))
      expect(refused).toMatchObject({ _tag: "UnknownError", operation: "bind" })
      expect(refused.message).toBe(`Failed to bind the parameters: ${text}`)
      // As the first parameter, an object is a list of names to node:sqlite, and a Date an empty one.
      expect((yield* reason(sql.unsafe("SELECT ?", [value])))._tag).toBe("UnknownError")
    }))

  it.effect("must be as many as the statement takes", () =>
    Effect.gen(function* () {
      const sql = yield* inMemory()
      const text = "SELECT '?', \"?\", [?], `?`, ? -- ?\n, /* ? */ ?"
      yield* sql`CREATE TABLE t (${sql("?")})`
      expect((yield* reason(sql.unsafe(`${text} FROM t`, [1]))).message)
        .toBe("Failed to bind the parameters: the statement takes 2 parameters, and 1 were given")
      expect((yield* reason(sql.unsafe("SELECT ?", [1, 2]))).message).toContain("takes 1 parameters, and 2 were given")
      expect((yield* reason(Stream.runDrain(sql.unsafe("SELECT ?").stream))).message).toContain("and 0 were given")
      expect(yield* sql.unsafe(`${text} FROM t`, [1, 2]).values).toEqual([])
    }))

  it.effect.each([":name", "@name", "$name", "?1"])("cannot have names: %s", (name) =>
    Effect.gen(function* () {
      const sql = yield* inMemory()
      const refused = yield* reason(sql.unsafe(`SELECT ${name}`, [1]))
      expect(refused._tag).toBe("SqlSyntaxError")
      expect(refused.message).toContain(`the parameter ${name} has a name`)
    }))
})
