// Inside the store's own transaction, and next to it, on SQLite in memory.
import * as NodeCrypto from "@effect/platform-node/NodeCrypto"
import { describe, expect, it } from "@effect/vitest"
import { Transience } from "@reprise/core"
import { Idempotency, IdempotencyError, IdempotencyStore } from "@reprise/idempotency"
import { SqliteClient } from "@reprise/sqlite"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { SqlClient } from "effect/sql/SqlClient"
import { TestClock } from "effect/testing"
import * as Tracer from "effect/Tracer"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { inspect } from "node:util"
import { Declined, order } from "./memory.ts"

const { once } = Idempotency

const database = SqliteClient.layer({ filename: ":memory:" })
const store = Layer.provideMerge(IdempotencyStore.layerSql(), database).pipe(Layer.provide(NodeCrypto.layerDigest))

const setUp = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`CREATE TABLE charges (amount INTEGER)`
  const charge = sql`INSERT INTO charges VALUES (20)`
  const charges = Effect.map(sql<{ n: number }>`SELECT COUNT(*) AS n FROM charges`, ([row]) => row!.n)
  const records = Effect.map(sql<{ n: number }>`SELECT COUNT(*) AS n FROM reprise_idempotency`, ([row]) => row!.n)
  /** All that is kept was written so much earlier: the database's clock is its own. */
  const passes = (millis: number) =>
    sql`UPDATE reprise_idempotency SET lease_until = lease_until - ${millis}, expires_at = expires_at - ${millis},
      sweep_at = sweep_at - ${millis}`
  return { sql, charge, charges, records, passes }
})

/** Until a call has its claim, and its operation runs: hashes are there at once. */
const claimed = TestClock.adjust(0)

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

  it.effect("a caller that leaves undoes both", () =>
    Effect.gen(function* () {
      const { charge, charges, records, sql } = yield* setUp
      const first = yield* Effect.forkChild(
        sql.withTransaction(once(order, Effect.andThen(charge, Effect.never))),
        { startImmediately: true }
      )
      yield* claimed
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

it.effect("a record in doubt that has passed its retention is not taken over, but claimed anew", () =>
  Effect.gen(function* () {
    const { passes } = yield* setUp
    const { claim, finish, holder, retake } = yield* IdempotencyStore.IdempotencyStore
    const request = { id: "id", holder: holder(), fingerprint: "f", lease: 10_000, retention: 10_000 }
    expect(yield* claim(request)).toBe(1)
    yield* finish({ ...request, fence: 1 }, { state: "doubt", retention: 60_000 })
    yield* passes(60_000)
    expect(yield* retake(request, 1)).toBeUndefined()
    expect(yield* claim(request)).toBe(2)
  }).pipe(Effect.provide(store)))

it.effect("a holder whose lease ended early, as the database's clock was set forward, stops at its next renewal", () =>
  Effect.gen(function* () {
    const { sql } = yield* setUp
    const first = yield* Effect.forkChild(Effect.flip(once(order, Effect.never)), { startImmediately: true })
    yield* claimed
    yield* sql`UPDATE reprise_idempotency SET lease_until = lease_until - 3600000`
    expect(yield* once({ ...order, onAbandoned: "rerun" }, Effect.succeed("second"))).toBe("second")
    yield* TestClock.adjust("10 seconds")
    expect(yield* Fiber.join(first)).toMatchObject({ _tag: "InDoubt", reason: "Fenced" })
    expect(yield* once(order, Effect.succeed("third"))).toBe("second")
  }).pipe(Effect.provide(store)))

it.effect("sweep leaves what was claimed longer ago than its retention, and has ended later or not yet", () =>
  Effect.gen(function* () {
    const { passes, records } = yield* setUp
    const options = { ...order, retention: "1 minute" } as const
    yield* once(options, Effect.as(passes(70_000), "done"))
    const held = yield* Effect.forkChild(once({ ...options, key: "held", lease: "1 hour" }, Effect.never), {
      startImmediately: true
    })
    yield* claimed
    // Of the one that has ended, half of its retention is over.
    yield* passes(30_000)
    expect(yield* Idempotency.sweep()).toBe(0)
    expect(yield* once(options, Effect.succeed("again"))).toBe("done")
    yield* passes(30_000)
    expect(yield* Idempotency.sweep()).toBe(1)
    expect(yield* records).toBe(1)
    yield* Fiber.interrupt(held)
  }).pipe(Effect.provide(store)))

it.effect("sweep removes what is past its retention", () =>
  Effect.gen(function* () {
    const { passes, records } = yield* setUp
    for (let i = 0; i < 5; i++) yield* once({ ...order, key: `k-${i}`, retention: "1 minute" }, Effect.succeed("done"))
    yield* passes(60_000)
    yield* once({ ...order, key: "kept" }, Effect.succeed("done"))
    expect(yield* Idempotency.sweep({ batch: 2 })).toBe(5)
    expect(yield* records).toBe(1)
  }).pipe(Effect.provide(store)))

describe("a client of the program's own", () => {
  it.effect("may rename what it reads and writes: the store does not", () => {
    const named = SqliteClient.layer({
      filename: ":memory:",
      transformQueryNames: (name) => `q_${name}`,
      transformResultNames: (name) => `r_${name}`
    })
    const run = Effect.gen(function* () {
      expect(yield* once(order, Effect.succeed("done"))).toBe("done")
      expect(yield* once(order, Effect.succeed("again"))).toBe("done")
      yield* Effect.exit(once({ ...order, key: "doubt" }, Effect.die("broken")))
      expect(yield* once({ ...order, key: "doubt", onAbandoned: "rerun" }, Effect.succeed("second"))).toBe("second")
    })
    return Effect.provide(run, Layer.provide(IdempotencyStore.layerSql(), named))
  })

  it.effect("may be busy for half a minute when the store opens: other processes may be at it", () =>
    Effect.gen(function* () {
      const folder = yield* Effect.acquireRelease(
        Effect.sync(() => mkdtempSync(join(tmpdir(), "reprise-opening-"))),
        (folder) => Effect.sync(() => rmSync(folder, { recursive: true }))
      )
      const file = () => Layer.fresh(SqliteClient.layer({ filename: join(folder, "db") }))
      const sql = Context.get(yield* Layer.build(file()), SqlClient)
      const opens = Layer.build(Layer.provide(Layer.fresh(IdempotencyStore.layerSql()), file()))
      const holding = yield* Effect.forkScoped(
        sql.withTransaction(Effect.andThen(sql`CREATE TABLE t (a INTEGER)`, Effect.never)),
        { startImmediately: true }
      )
      const early = yield* Effect.forkScoped(Effect.flip(opens), { startImmediately: true })
      yield* TestClock.adjust("15 seconds")
      const later = yield* Effect.forkScoped(opens, { startImmediately: true })
      yield* TestClock.adjust("14 seconds")
      expect([early.pollUnsafe(), later.pollUnsafe()]).toEqual([undefined, undefined])
      yield* TestClock.adjust("1 second")
      expect(early.pollUnsafe()).toMatchObject({ value: { _tag: "StoreFailed", operation: "open" } })
      yield* Fiber.interrupt(holding)
      yield* TestClock.adjust("1 second")
      expect(String(later.pollUnsafe())).toContain("Success")
    }).pipe(Effect.scoped))
})
