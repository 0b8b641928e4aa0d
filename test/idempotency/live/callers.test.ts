// Many callers with one key, in two processes at one store.
import * as IdempotencyStore from "@reprise/idempotency/IdempotencyStore"
import * as Idempotency from "@reprise/idempotency/Idempotency"
import * as SqlRetry from "@reprise/sql/SqlRetry"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as SqlClient from "effect/sql/SqlClient"
import { describe, expect, it } from "vitest"
import { effects, start } from "./processes.ts"
import { kinds, servers } from "./servers.ts"
import { inStore } from "./stores.ts"

const { log, place } = servers()

const hour = 60 * 60 * 1000

interface Answers {
  readonly answers: ReadonlyArray<string>
  readonly count: number
}

describe.each(kinds)("%s", (kind, isThere) => {
  it.skipIf(!isThere)(
    "200 callers over two processes: the effect is done once, and all get the same answer",
    async () => {
      const task = { place: place(kind), log: log(), lease: 1_000 }
      const callers = { count: 100, key: "one", skew: 0 }
      // Both at once, on a new store: each may be the one that makes the tables.
      const workers = await Promise.all([start({ ...task, callers }), start({ ...task, callers })])
      for (const worker of workers) worker.go()
      const [one, other] = await Promise.all(workers.map((worker) => worker.next() as Promise<Answers>))
      expect(effects(task.log)).toEqual(["one"])
      expect(one).toEqual({ answers: [expect.stringMatching(/^one by \d+$/)], count: 100 })
      expect(other).toEqual(one)
    }
  )

  it.skipIf(!isThere)("a wall clock that is an hour early or late changes nothing", async () => {
    const task = { place: place(kind), log: log(), lease: 1_000 }
    const keys = ["early", "late"]
    for (const [index, key] of keys.entries()) {
      const skew = index === 0 ? hour : -hour
      const workers = await Promise.all([
        start({ ...task, callers: { count: 20, key, skew } }),
        start({ ...task, callers: { count: 20, key, skew: -skew } })
      ])
      // The one with the wrong clock holds the record; the other must neither take it nor wait for an hour.
      workers[0].go()
      await new Promise((resolve) => setTimeout(resolve, 100))
      workers[1].go()
      const [one, other] = await Promise.all(workers.map((worker) => worker.next() as Promise<Answers>))
      expect(one).toEqual({ answers: [`${key} by ${workers[0].process.pid}`], count: 20 })
      expect(other).toEqual(one)
    }
    expect(effects(task.log)).toEqual(keys)
  })

  it.skipIf(!isThere)("retention counts on the store's clock: then the operation runs anew", async () => {
    const run = (n: number) =>
      Idempotency.once(
        { key: "k", scope: "s", payload: 1, success: Schema.Number, retention: 1_000 },
        Effect.succeed(n)
      )
    const results = await inStore(
      place(kind),
      Effect.gen(function* () {
        const first = [yield* run(1), yield* run(2)]
        yield* Effect.sleep(1_050)
        return [...first, yield* run(3)]
      })
    )
    expect(results).toEqual([1, 1, 3])
  })

  it.skipIf(!isThere)("F23: a retried claim or outcome, whose answer was lost, is no conflict of its own", async () => {
    const results = await inStore(
      place(kind),
      Effect.gen(function* () {
        const store = yield* IdempotencyStore.IdempotencyStore
        const twice = <A, E>(question: Effect.Effect<A, E>) => Effect.andThen(question, question)
        const retried: IdempotencyStore.IdempotencyStore = {
          ...store,
          claim: (request) => twice(store.claim(request)),
          retake: (request, fence) => twice(store.retake(request, fence)),
          renew: (held, terms) => twice(store.renew(held, terms)),
          finish: (held, ending) => twice(store.finish(held, ending))
        }
        const run = (n: number) =>
          Idempotency.once(
            { key: "k", scope: "s", payload: 1, success: Schema.Number, lease: 900 },
            Effect.as(Effect.sleep(400), n)
          )
        return yield* Effect.provideService(Effect.all([run(1), run(2)]), IdempotencyStore.IdempotencyStore, retried)
      })
    )
    expect(results).toEqual([1, 1])
  })

  it.skipIf(!isThere)("what one tenant has recorded no other gets", async () => {
    const results = await inStore(
      place(kind),
      Effect.forEach(
        ["tenant-1", "tenant-2", "tenant-1"],
        (scope, n) => Idempotency.once({ key: "k", scope, payload: 1, success: Schema.Number }, Effect.succeed(n))
      )
    )
    expect(results).toEqual([0, 1, 0])
  })

  // Redis has no transactions of the business's own.
  if (kind === "redis") return
  it.skipIf(!isThere)("20 transactions with one key, all at once: committed once", async () => {
    const { answers, rows } = await inStore(
      place(kind),
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql`CREATE TABLE IF NOT EXISTS effects (key TEXT)`
        let n = 0
        const transaction = sql.withTransaction(
          Idempotency.once(
            { key: "k", scope: "s", payload: 1, success: Schema.Number },
            Effect.suspend(() => Effect.as(sql`INSERT INTO effects VALUES ('k')`, ++n))
          )
        )
        const answers = yield* Effect.replicateEffect(transaction, 20, { concurrency: "unbounded" })
        return { answers, rows: yield* sql`SELECT key FROM effects` }
      })
    )
    expect(answers).toEqual(Array(20).fill(1))
    expect(rows).toHaveLength(1)
  })

  if (kind !== "postgres") return
  it.skipIf(!isThere)(
    "20 serializable transactions, retried by SqlRetry: committed once",
    async () => {
      const { answers, retries, rows } = await inStore(
        place(kind),
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          yield* sql`CREATE TABLE effects_too (key TEXT)`
          let n = 0
          let retries = 0
          const transaction = Idempotency.once(
            { key: "k", scope: "s", payload: 1, success: Schema.Number },
            // For so long that others come meanwhile.
            Effect.delay(Effect.suspend(() => Effect.as(sql`INSERT INTO effects_too VALUES ('k')`, ++n)), 200)
          ).pipe(SqlRetry.transaction(SqlRetry.policy, {
            isolation: "serializable",
            onRetry: () => Effect.sync(() => void retries++)
          }))
          const answers = yield* Effect.replicateEffect(transaction, 20, { concurrency: "unbounded" })
          return { answers, retries, rows: yield* sql`SELECT key FROM effects_too` }
        })
      )
      expect(new Set(answers).size).toBe(1)
      expect(rows).toHaveLength(1)
      // They met: a claim of the same key fails with 40001 there.
      expect(retries).toBeGreaterThan(0)
    }
  )
})
