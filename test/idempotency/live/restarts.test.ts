// A store that is restarted at each step of a call, or forgets what it had.
import * as NodeRedis from "@effect/platform-node/NodeRedis"
import * as PgClient from "@effect/sql-pg/PgClient"
import * as Idempotency from "@reprise/idempotency/Idempotency"
import * as IdempotencyStore from "@reprise/idempotency/IdempotencyStore"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Redacted from "effect/Redacted"
import * as Redis from "effect/persistence/Redis"
import * as Schema from "effect/Schema"
import { SqlClient } from "effect/sql/SqlClient"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { hasOwnRedis, type RedisServer, startOwnRedis } from "../../redis/server.ts"
import { hasOwnPostgres, type PostgresServer, startOwnPostgres } from "../../sql/postgres.ts"

type Store = IdempotencyStore.IdempotencyStore
type Step = "before claim" | "after claim" | "in the operation" | "before finish" | "after finish"

const steps: ReadonlyArray<Step> = ["before claim", "after claim", "in the operation", "before finish", "after finish"]
const options = { scope: "restarts", payload: 1, success: Schema.String } as const

/** A call whose store goes through something at a step; how often its operation ran, and what a second call gets. */
const call = (at: Step, happening: () => Promise<void>) =>
  Effect.gen(function* () {
    const store = yield* IdempotencyStore.IdempotencyStore
    const on = (step: Step) => (step === at ? Effect.promise(happening) : Effect.void)
    const shaken: Store = {
      ...store,
      claim: (request) => Effect.tap(Effect.andThen(on("before claim"), store.claim(request)), on("after claim")),
      finish: (held, ending) =>
        Effect.tap(Effect.andThen(on("before finish"), store.finish(held, ending)), on("after finish"))
    }
    let count = 0
    const operation = Effect.as(Effect.andThen(Effect.sync(() => void count++), on("in the operation")), "done")
    const first = yield* Effect.provideService(
      Idempotency.once({ ...options, key: at }, operation),
      IdempotencyStore.IdempotencyStore,
      shaken
    )
    const second = yield* Idempotency.once({ ...options, key: at }, operation)
    return { first, second, count }
  })

const quiet = Logger.layer([])

describe.skipIf(!hasOwnPostgres)("PostgreSQL", () => {
  let server: PostgresServer
  beforeAll(async () => {
    server = await startOwnPostgres()
  })
  afterAll(() => server?.stop())
  const client = () => PgClient.layer({ url: Redacted.make(server.url) })
  const run = <A, E>(program: Effect.Effect<A, E, Store>) =>
    Effect.runPromise(
      Effect.provide(
        program,
        Layer.provide(IdempotencyStore.layerSql({ timeout: "20 seconds" }), client()).pipe(Layer.provideMerge(quiet))
      )
    )

  it.each(steps)("restarted %s: the call goes on, and its outcome is kept", async (step) => {
    expect(await run(call(step, server.restart))).toEqual({ first: "done", second: "done", count: 1 })
  })

  it.each(steps)("killed %s, and away for a while: the call goes on, and its outcome is kept", async (step) => {
    let isBack = Promise.resolve()
    let killedAt = 0
    const away = 700
    const crash = async () => {
      await server.kill()
      killedAt = performance.now()
      // Whoever asks meanwhile is refused, and each step asks.
      isBack = new Promise<void>((resolve) => setTimeout(resolve, away)).then(server.start)
    }
    const renamed = Effect.provideServiceEffect(
      call(step, crash),
      IdempotencyStore.IdempotencyStore,
      Effect.map(IdempotencyStore.IdempotencyStore, (store): Store => ({
        ...store,
        identify: (scope, key) => store.identify(`${scope}/killed`, key)
      }))
    )
    expect(await run(renamed)).toEqual({ first: "done", second: "done", count: 1 })
    expect(performance.now() - killedAt).toBeGreaterThanOrEqual(away)
    await isBack
  })

  it("restarted inside a transaction: nothing of it is left, and another one does all of it once", async () => {
    const program = Effect.gen(function* () {
      const sql = yield* SqlClient
      yield* sql`CREATE TABLE moved (amount INTEGER)`
      const transfer = (then: Effect.Effect<void>) =>
        sql.withTransaction(
          Idempotency.once(
            { ...options, key: "transfer" },
            sql`INSERT INTO moved VALUES (20)`.pipe(Effect.andThen(then), Effect.as("moved"))
          )
        )
      const first = yield* Effect.exit(transfer(Effect.promise(server.restart)))
      const second = yield* transfer(Effect.void)
      const third = yield* transfer(Effect.void)
      const rows = yield* sql`SELECT amount FROM moved`
      return { isFailure: first._tag === "Failure", second, third, rows: rows.length }
    })
    const live = Layer.provideMerge(IdempotencyStore.layerSql(), client()).pipe(Layer.provideMerge(quiet))
    const result = await Effect.runPromise(Effect.provide(program, live))
    expect(result).toEqual({ isFailure: true, second: "moved", third: "moved", rows: 1 })
  })

  it("two stores that start at once, of two names, on a database that has one of them", async () => {
    const named = (table: string) => IdempotencyStore.layerSql({ table, secret: Redacted.make("of the program's own") })
    const once = (table: string) =>
      Effect.provide(Idempotency.once({ ...options, key: "k" }, Effect.succeed(table)), Layer.fresh(named(table)))
    const program = Effect.andThen(
      once("one"),
      Effect.forEach(["one", "other", "one", "other", "other"], once, { concurrency: "unbounded" })
    )
    const answers = await Effect.runPromise(Effect.provide(program, client()))
    expect(answers).toEqual(["one", "other", "one", "other", "other"])
  })
})

describe.skipIf(!hasOwnRedis)("Redis", () => {
  let server: RedisServer
  beforeAll(async () => {
    server = await startOwnRedis()
  })
  afterAll(() => server?.stop())
  const run = <A, E>(program: Effect.Effect<A, E, Store | Redis.Redis>) =>
    Effect.runPromise(
      Effect.provide(
        program,
        Layer.provideMerge(
          IdempotencyStore.layerRedis(),
          NodeRedis.layer({ url: server.url, disableOfflineQueue: true, socket: { reconnectStrategy: 50 } })
        ).pipe(Layer.provideMerge(quiet))
      )
    )
  const send = (...command: [string, ...Array<string>]) =>
    Effect.flatMap(Redis.Redis, (redis) => redis.send(...command))

  it.each(steps)(
    "that forgets its scripts %s: the call goes on, and its outcome is kept",
    (step) =>
      run(Effect.gen(function* () {
        const context = yield* Effect.context<Redis.Redis>()
        const flush = () => Effect.runPromiseWith(context)(Effect.asVoid(send("SCRIPT", "FLUSH")))
        expect(yield* call(step, flush)).toEqual({ first: "done", second: "done", count: 1 })
      }))
  )

  it("that evicts a record: its holder is fenced off, and the operation may run again", () =>
    run(Effect.gen(function* () {
      const store = yield* IdempotencyStore.IdempotencyStore
      const record = `reprise:idempotency:${yield* store.identify(options.scope, "evicted")}`
      const once = (answer: Effect.Effect<string, unknown, Redis.Redis>) =>
        Idempotency.once({ ...options, key: "evicted" }, answer)
      const first = yield* Effect.flip(once(Effect.as(send("DEL", record), "first")))
      expect(first).toMatchObject({ _tag: "InDoubt", reason: "Fenced" })
      expect(yield* once(Effect.succeed("second"))).toBe("second")
    })))

  it("that loses the drawn secret: a process that starts later refuses old keys, and no other", () =>
    run(Effect.gen(function* () {
      const once = Idempotency.once({ ...options, key: "secret" }, Effect.succeed("done"))
      const later = <A, E>(program: Effect.Effect<A, E, Store>) =>
        Effect.provide(program, Layer.fresh(IdempotencyStore.layerRedis()))
      expect(yield* once).toBe("done")
      expect(yield* later(once)).toBe("done")
      yield* send("DEL", "reprise:idempotency:secret")
      expect(yield* Effect.flip(later(once))).toMatchObject({ _tag: "KeyReused" })
      expect(yield* once).toBe("done")
      expect(yield* later(Idempotency.once({ ...options, key: "new" }, Effect.succeed("new")))).toBe("new")
    })))

  it("keeps a record for its retention, and no longer, and no record for ever", () =>
    run(Effect.gen(function* () {
      const store = yield* IdempotencyStore.IdempotencyStore
      const record = `reprise:idempotency:${yield* store.identify(options.scope, "kept")}`
      const life = Effect.map(send("PTTL", record), Number)
      const within = { ...options, key: "kept", lease: 10_000, retention: 60_000 }
      yield* Idempotency.once(
        within,
        Effect.gen(function* () {
          const left = yield* life
          expect(left).toBeGreaterThan(60_000)
          expect(left).toBeLessThanOrEqual(70_000)
          return "done"
        })
      )
      const left = yield* life
      expect(left).toBeGreaterThan(55_000)
      expect(left).toBeLessThanOrEqual(60_000)
    })))
})
