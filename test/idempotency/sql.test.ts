// Inside the store's own transaction, and next to it, on SQLite in memory.
import { describe, expect, it } from "@effect/vitest"
import { Transience } from "@reprise/core"
import { Idempotency, IdempotencyError, IdempotencyStore } from "@reprise/idempotency"
import { SqliteClient } from "@reprise/sqlite"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { SqlClient } from "effect/sql/SqlClient"
import * as Tracer from "effect/Tracer"
import { inspect } from "node:util"
import { Declined, order } from "./memory.ts"

const { once } = Idempotency

const database = SqliteClient.layer({ filename: ":memory:" })
const store = Layer.provideMerge(IdempotencyStore.layerSql(), database)

const setUp = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`CREATE TABLE charges (amount INTEGER)`
  const charge = sql`INSERT INTO charges VALUES (20)`
  const charges = Effect.map(sql<{ n: number }>`SELECT COUNT(*) AS n FROM charges`, ([row]) => row!.n)
  const records = Effect.map(sql<{ n: number }>`SELECT COUNT(*) AS n FROM reprise_idempotency`, ([row]) => row!.n)
  return { sql, charge, charges, records }
})

describe("in a transaction of the store", () => {
  it.effect("record and writes are committed together", () =>
    Effect.gen(function* () {
      const { charge, charges, records, sql } = yield* setUp
      const run = sql.withTransaction(once(order, Effect.as(charge, "done")))
      expect(yield* run).toBe("done")
      expect(yield* run).toBe("done")
      expect([yield* charges, yield* records]).toEqual([1, 1])
    }).pipe(Effect.provide(store)))

  const afterwards: ReadonlyArray<readonly [string, Effect.Effect<never, unknown>]> = [
    ["a failure after it", Effect.fail("too late")],
    ["a defect after it", Effect.die("too late")]
  ]
  it.effect.each(afterwards)("both are undone by %s, and a retry runs it", ([, then]) =>
    Effect.gen(function* () {
      const { charge, charges, records, sql } = yield* setUp
      const run = once(order, Effect.as(charge, "done"))
      yield* Effect.exit(sql.withTransaction(Effect.andThen(run, then)))
      expect([yield* charges, yield* records]).toEqual([0, 0])
      expect(yield* sql.withTransaction(run)).toBe("done")
      expect([yield* charges, yield* records]).toEqual([1, 1])
    }).pipe(Effect.provide(store)))

  const endings: ReadonlyArray<readonly [string, Effect.Effect<never, unknown>]> = [
    ["failure of the schema", new Declined({ code: 1 })],
    ["other failure", Effect.fail("?")],
    ["defect", Effect.die("broken")],
    ["interruption", Effect.interrupt]
  ]
  it.effect.each(endings)("a %s of the operation undoes both: the key is free", ([, end]) =>
    Effect.gen(function* () {
      const { charge, charges, records, sql } = yield* setUp
      const exit = yield* Effect.exit(sql.withTransaction(once(order, Effect.andThen(charge, end))))
      expect(Exit.isFailure(exit)).toBe(true)
      expect([yield* charges, yield* records]).toEqual([0, 0])
      expect(yield* once(order, Effect.succeed("again"))).toBe("again")
    }).pipe(Effect.provide(store)))

  const unrecorded: ReadonlyArray<readonly [string, Effect.Effect<never, unknown>]> = [
    [
      "a failure that applied nothing",
      Effect.fail(Transience.annotate(new Error("busy"), { transience: "transient", applied: "no" }))
    ],
    ["a failure that no schema knows", Effect.fail("?")],
    ["a defect", Effect.die("broken")],
    ["a success that its schema does not know", Effect.succeed(7 as never)]
  ]
  it.effect.each(unrecorded)(
    "%s that is caught inside undoes what the operation wrote, and frees the key",
    ([, end]) =>
      Effect.gen(function* () {
        const { charge, charges, sql } = yield* setUp
        const caught = Effect.exit(once(order, Effect.andThen(charge, end)))
        expect(Exit.isFailure(yield* sql.withTransaction(caught))).toBe(true)
        expect(yield* charges).toBe(0)
        expect(yield* sql.withTransaction(once(order, Effect.as(charge, "again")))).toBe("again")
        expect(yield* charges).toBe(1)
      }).pipe(Effect.provide(store))
  )

  it.effect("what else is written in the transaction stays", () =>
    Effect.gen(function* () {
      const { charge, charges, sql } = yield* setUp
      const caught = Effect.exit(once(order, Effect.andThen(charge, Effect.fail("?"))))
      yield* sql.withTransaction(Effect.andThen(charge, Effect.andThen(caught, charge)))
      expect(yield* charges).toBe(2)
    }).pipe(Effect.provide(store)))

  it.effect("a doubt from outside stays one, whatever is undone inside", () =>
    Effect.gen(function* () {
      const { charge, charges, sql } = yield* setUp
      yield* Effect.exit(once(order, Effect.die("broken")))
      const again = once({ ...order, onAbandoned: "rerun" }, Effect.andThen(charge, Effect.fail("?")))
      yield* sql.withTransaction(Effect.exit(again))
      expect(yield* charges).toBe(0)
      expect(yield* Effect.flip(once(order, Effect.succeed("no")))).toMatchObject({ _tag: "InDoubt" })
    }).pipe(Effect.provide(store)))

  it.effect("a failure of the schema that is caught inside keeps what the operation wrote", () =>
    Effect.gen(function* () {
      const { charge, charges, sql } = yield* setUp
      const declined = Effect.flip(once(order, Effect.andThen(charge, new Declined({ code: 1 }))))
      for (const _ of [1, 2]) expect(yield* sql.withTransaction(declined)).toMatchObject({ _tag: "Declined" })
      expect(yield* charges).toBe(1)
    }).pipe(Effect.provide(store)))

  it.effect("a failure that is caught inside is committed, and is the outcome", () =>
    Effect.gen(function* () {
      const { sql } = yield* setUp
      yield* sql.withTransaction(Effect.flip(once(order, new Declined({ code: 1 }))))
      expect(yield* Effect.flip(once(order, Effect.succeed("again")))).toMatchObject({ _tag: "Declined", code: 1 })
    }).pipe(Effect.provide(store)))

  it.effect.each<readonly [string, Effect.Effect<string, Declined>, string]>([
    ["the store's failure, which undoes the transaction, where it succeeded", Effect.succeed("done"), "StoreFailed"],
    ["its own failure, where it failed", new Declined({ code: 1 }), "Declined"]
  ])("an operation whose outcome cannot be recorded fails with %s", ([, operation, tag]) =>
    Effect.gen(function* () {
      const { charge, charges, sql } = yield* setUp
      const store = yield* IdempotencyStore.IdempotencyStore
      const cause = "the transaction is aborted"
      const failing: IdempotencyStore.IdempotencyStore = {
        ...store,
        finish: () => Effect.fail(new IdempotencyError.StoreFailed({ operation: "finish", cause }))
      }
      const error = yield* once(order, Effect.andThen(charge, operation)).pipe(
        Effect.provideService(IdempotencyStore.IdempotencyStore, failing),
        sql.withTransaction,
        Effect.flip
      )
      expect(error._tag).toBe(tag)
      expect(yield* charges).toBe(0)
    }).pipe(Effect.provide(store)))

  it.live("a caller that leaves undoes both", () =>
    Effect.gen(function* () {
      const { charge, charges, records, sql } = yield* setUp
      const first = yield* Effect.forkChild(
        sql.withTransaction(once(order, Effect.andThen(charge, Effect.never))),
        { startImmediately: true }
      )
      yield* Effect.sleep(20)
      yield* Fiber.interrupt(first)
      expect([yield* charges, yield* records]).toEqual([0, 0])
    }).pipe(Effect.provide(store)))
})

describe("beside a transaction", () => {
  it.effect("an operation has transactions of its own", () =>
    Effect.gen(function* () {
      const { charge, charges, sql } = yield* setUp
      const run = once(order, Effect.as(sql.withTransaction(charge), "done"))
      expect([yield* run, yield* run, yield* charges]).toEqual(["done", "done", 1])
    }).pipe(Effect.provide(store)))

  it.effect("one that was rolled back applied nothing where its error says so: the key is free", () =>
    Effect.gen(function* () {
      const { charge, charges, sql } = yield* setUp
      const busy = Transience.annotate(new Error("deadlock"), { transience: "transient", applied: "no" })
      const failing = sql.withTransaction(Effect.andThen(charge, Effect.fail(busy)))
      yield* Effect.flip(once(order, Effect.as(failing, "never")))
      expect(yield* once(order, Effect.as(charge, "done"))).toBe("done")
      expect(yield* charges).toBe(1)
    }).pipe(Effect.provide(store)))
})

describe("the tables", () => {
  it.effect("hold no key, scope, method, path or payload", () =>
    Effect.gen(function* () {
      const { sql } = yield* setUp
      yield* once(
        {
          ...order,
          key: "sk_live_1",
          scope: "sk_live_2",
          method: "sk_live_3",
          path: "sk_live_4",
          payload: "sk_live_5"
        },
        Effect.succeed("done")
      )
      const rows = yield* sql`SELECT * FROM reprise_idempotency`
      expect(JSON.stringify(rows)).not.toContain("sk_live")
      expect(rows).toMatchObject([{ state: "done", fence: 1, outcome: "{\"success\":\"done\"}" }])
    }).pipe(Effect.provide(store)))

  it.effect("and no span names one", () => {
    const spans: Array<Tracer.NativeSpan> = []
    const tracer = Tracer.make({
      span: (options) => {
        const span = new Tracer.NativeSpan(options)
        spans.push(span)
        return span
      }
    })
    return Effect.gen(function* () {
      const secret = { ...order, key: "sk_live_1", payload: "sk_live_2" }
      yield* once(secret, Effect.succeed("done")).pipe(Effect.withSpan("caller"))
      yield* Effect.flip(once({ ...secret, payload: "sk_live_3" }, Effect.succeed("done")))
      const said = spans.map(({ attributes, events, name }) => inspect([name, attributes, events], { depth: 9 }))
      expect(said.join()).toContain("INSERT INTO")
      expect(said.join()).not.toContain("sk_live")
    }).pipe(Effect.provide(store), Effect.withTracer(tracer))
  })

  it.effect("of two names do not meet, and neither does what their sweeps remove", () =>
    Effect.gen(function* () {
      const named = (table: string) => Layer.fresh(IdempotencyStore.layerSql({ table }))
      yield* Effect.provide(once({ ...order, retention: 1 }, Effect.succeed("one")), named("one"))
      yield* Effect.provide(once(order, Effect.succeed("other")), named("other"))
      yield* Effect.provide(Idempotency.sweep(), named("other"))
      const sql = yield* SqlClient
      expect(yield* sql`SELECT (SELECT COUNT(*) FROM one) AS one, (SELECT COUNT(*) FROM other) AS other`)
        .toEqual([{ one: 1, other: 1 }])
    }).pipe(Effect.provide(database)))

  it.effect("have the name that they are given, and one secret for all who come", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const run = once(order, Effect.succeed("done"))
      const named = () => Layer.fresh(IdempotencyStore.layerSql({ table: "seen" }))
      yield* Effect.provide(run, named())
      // Another process, as far as the store knows: the fingerprint is the same.
      expect(yield* Effect.provide(run, named())).toBe("done")
      expect(yield* sql`SELECT COUNT(*) AS n FROM seen`).toEqual([{ n: 1 }])
      const given = IdempotencyStore.layerSql({ table: "seen", secret: Redacted.make("a secret of the program") })
      expect(yield* Effect.flip(Effect.provide(run, given))).toMatchObject({ _tag: "KeyReused" })
    }).pipe(Effect.provide(database)))

  it.each(["Seen", "seen; DROP TABLE x", "", "1a", "a".repeat(42)])("are not called %j", (table) => {
    expect(() => IdempotencyStore.layerSql({ table })).toThrow("layerSql.table must be a lower-case SQL name")
  })
})

it.live("a record in doubt that has passed its retention is not taken over, but claimed anew", () =>
  Effect.gen(function* () {
    const { claim, finish, holder, retake } = yield* IdempotencyStore.IdempotencyStore
    const request = { id: "id", holder: holder(), fingerprint: "f", lease: 10_000, retention: 10_000 }
    expect(yield* claim(request)).toBe(1)
    yield* finish({ ...request, fence: 1 }, { state: "doubt", retention: 1 })
    yield* Effect.sleep(5)
    expect(yield* retake(request, 1)).toBeUndefined()
    expect(yield* claim(request)).toBe(2)
  }).pipe(Effect.provide(store)))

it.live("a holder whose lease ended early, as the database's clock was set forward, stops at its next renewal", () =>
  Effect.gen(function* () {
    const { sql } = yield* setUp
    const options = { ...order, lease: "300 millis" } as const
    const first = yield* Effect.forkChild(Effect.flip(once(options, Effect.never)), { startImmediately: true })
    yield* Effect.sleep(20)
    yield* sql`UPDATE reprise_idempotency SET lease_until = lease_until - 3600000`
    expect(yield* once({ ...options, onAbandoned: "rerun" }, Effect.succeed("second"))).toBe("second")
    expect(yield* Fiber.join(first)).toMatchObject({ _tag: "InDoubt", reason: "Fenced" })
    expect(yield* once(options, Effect.succeed("third"))).toBe("second")
  }).pipe(Effect.provide(store)))

it.live("sweep leaves what was claimed longer ago than its retention, and has ended later or not yet", () =>
  Effect.gen(function* () {
    const { records } = yield* setUp
    const options = { ...order, retention: "100 millis" } as const
    yield* once(options, Effect.delay(Effect.succeed("done"), 120))
    yield* Effect.forkChild(once({ ...options, key: "held" }, Effect.never), { startImmediately: true })
    expect(yield* Idempotency.sweep()).toBe(0)
    expect(yield* once(options, Effect.succeed("again"))).toBe("done")
    yield* Effect.sleep(120)
    expect(yield* Idempotency.sweep()).toBe(1)
    expect(yield* records).toBe(1)
  }).pipe(Effect.provide(store)))

it.live("sweep removes what is past its retention", () =>
  Effect.gen(function* () {
    const { records } = yield* setUp
    for (let i = 0; i < 5; i++) yield* once({ ...order, key: `k-${i}`, retention: 1 }, Effect.succeed("done"))
    yield* once({ ...order, key: "kept" }, Effect.succeed("done"))
    yield* Effect.sleep(5)
    expect(yield* Idempotency.sweep({ batch: 2 })).toBe(5)
    expect(yield* records).toBe(1)
  }).pipe(Effect.provide(store)))
