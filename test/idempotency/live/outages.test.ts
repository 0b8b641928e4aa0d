// A store that goes away, or does not answer any more.
import * as NodeRedis from "@effect/platform-node/NodeRedis"
import * as PgClient from "@effect/sql-pg/PgClient"
import { Transience } from "@reprise/core"
import * as Idempotency from "@reprise/idempotency/Idempotency"
import * as IdempotencyStore from "@reprise/idempotency/IdempotencyStore"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import * as Redis from "effect/persistence/Redis"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { hasOwnRedis, type RedisServer, startOwnRedis } from "../../redis/server.ts"
import { hasOwnPostgres, type PostgresServer, startOwnPostgres } from "../../sql/postgres.ts"

const options = { key: "k", payload: 1, success: Schema.String, lease: 2_000 } as const

/** A call that takes longer than a lease, a store that goes away meanwhile, and what both say. */
const outage = (scope: string, away: () => Promise<void>, back: () => Promise<void>) =>
  Effect.gen(function* () {
    let interruptedAfter = 0
    const start = performance.now()
    const operation = Effect.onInterrupt(
      Effect.as(Effect.sleep("20 seconds"), "done"),
      () => Effect.sync(() => void (interruptedAfter = performance.now() - start))
    )
    const holder = yield* Effect.forkChild(Effect.exit(Idempotency.once({ ...options, scope }, operation)))
    yield* Effect.sleep(100)
    yield* Effect.promise(away)
    const other = yield* Effect.exit(Idempotency.once({ ...options, scope, key: "other" }, Effect.succeed("ran")))
    const first = yield* Fiber.join(holder)
    yield* Effect.promise(back)
    // Whoever has to connect anew does it by itself.
    const again = yield* Idempotency.once({ ...options, scope, key: "again" }, Effect.succeed("ran")).pipe(
      Effect.retry({ times: 50, schedule: Schedule.spaced("100 millis"), while: Transience.isTransient })
    )
    return { first, interruptedAfter, other, again }
  })

const tag = (exit: Exit.Exit<string, { readonly _tag: string }>): string =>
  Exit.isSuccess(exit) ? exit.value : Option.match(Exit.findErrorOption(exit), {
    onNone: () => String(exit),
    onSome: ({ _tag }) => _tag
  })

const judged = ({ again, first, interruptedAfter, other }: Effect.Success<ReturnType<typeof outage>>) => ({
  // When nine tenths of the lease are over, and before its end.
  isInTime: interruptedAfter > 1_000 && interruptedAfter < 2_000,
  first: tag(first),
  other: tag(other),
  isWorthARetry: Transience.isTransient(Option.getOrUndefined(Exit.findErrorOption(other))),
  again
})

const expected = { isInTime: true, first: "InDoubt", other: "StoreFailed", isWorthARetry: true, again: "ran" }

describe.skipIf(!hasOwnRedis)("Redis", () => {
  let server: RedisServer
  beforeAll(async () => {
    server = await startOwnRedis()
  })
  afterAll(() => server?.stop())
  const run = <A, E>(program: Effect.Effect<A, E, IdempotencyStore.IdempotencyStore>) =>
    Effect.runPromise(Effect.provide(
      program,
      Layer.provide(
        IdempotencyStore.layerRedis({ timeout: "400 millis" }),
        NodeRedis.layer({ url: server.url, disableOfflineQueue: true, socket: { reconnectStrategy: 50 } })
      ).pipe(Layer.provideMerge(Logger.layer([])))
    ))

  it("that is killed", async () => {
    expect(judged(await run(outage("killed", server.kill, server.start)))).toEqual(expected)
  })

  it("that does not answer", async () => {
    const now = (f: () => void) => () => Promise.resolve(f())
    expect(judged(await run(outage("frozen", now(server.freeze), now(server.thaw))))).toEqual(expected)
  })
})

it.skipIf(!hasOwnRedis)("Redis that refuses is asked once, and no more", async () => {
  const server = await startOwnRedis()
  try {
    let asked = 0
    const refused = await Effect.runPromise(
      Effect.gen(function* () {
        const redis = yield* Redis.Redis
        yield* redis.send("RPUSH", `reprise:idempotency:${yield* identity("wrong")}`, "a list")
        const counting = Redis.Redis.of({
          ...redis,
          eval: (script) => (...parameters) =>
            Effect.suspend(() => {
              asked++
              return redis.eval(script)(...parameters)
            })
        })
        return yield* Effect.provide(
          Effect.flip(Idempotency.once({ ...options, scope: "wrong" }, Effect.succeed("ran"))),
          Layer.provide(IdempotencyStore.layerRedis(), Layer.succeed(Redis.Redis, counting))
        )
      }).pipe(Effect.provide(NodeRedis.layer({ url: server.url, disableOfflineQueue: true })))
    )
    expect(refused).toMatchObject({ _tag: "StoreFailed", operation: "claim" })
    expect(Transience.classify(refused).transience).toBe("terminal")
    expect(asked).toBe(1)
  } finally {
    await server.stop()
  }
})

/** The name of the record of a scope. */
const identity = (scope: string) =>
  Effect.provide(
    Effect.flatMap(IdempotencyStore.IdempotencyStore, (store) => store.identify(scope, options.key)),
    IdempotencyStore.layerMemory()
  )

it.skipIf(!hasOwnRedis)("A text of somebody else's in Redis is no record: nothing runs, and it stays", async () => {
  const server = await startOwnRedis()
  try {
    await Effect.runPromise(
      Effect.gen(function* () {
        const redis = yield* Redis.Redis
        const key = `reprise:idempotency:${yield* identity("foreign")}`
        yield* redis.send("SET", key, "a text")
        const error = yield* Effect.flip(Idempotency.once({ ...options, scope: "foreign" }, Effect.succeed("ran")))
        expect(error).toMatchObject({ _tag: "StoreFailed", operation: "decode" })
        expect(Transience.classify(error).transience).toBe("terminal")
        expect(yield* redis.send("GET", key)).toBe("a text")
      }).pipe(Effect.provide(
        Layer.provideMerge(
          IdempotencyStore.layerRedis(),
          NodeRedis.layer({ url: server.url, disableOfflineQueue: true })
        )
      ))
    )
  } finally {
    await server.stop()
  }
})

describe.skipIf(!hasOwnPostgres)("PostgreSQL", () => {
  let server: PostgresServer
  beforeAll(async () => {
    server = await startOwnPostgres()
  })
  afterAll(() => server?.stop())

  it("that is killed", async () => {
    const layer = Layer.provide(
      IdempotencyStore.layerSql({ timeout: "400 millis" }),
      PgClient.layer({ url: Redacted.make(server.url) })
    )
    const result = await Effect.runPromise(Effect.provide(outage("killed", server.kill, server.start), layer))
    expect(judged(result)).toEqual(expected)
  })
})
