// A holder that is killed (SIGKILL), wherever it is.
import * as Idempotency from "@reprise/idempotency/Idempotency"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as SqlClient from "effect/sql/SqlClient"
import { describe, expect, it } from "vitest"
import { effects, start } from "./processes.ts"
import { kinds, servers } from "./servers.ts"
import { inStore } from "./stores.ts"
import type { Point } from "./worker.ts"

const { log, place } = servers()

const points = [
  "before claim",
  "claim sent",
  "claimed",
  "effect begun",
  "effect done",
  "before finish",
  "finish sent",
  "finished"
] as const satisfies ReadonlyArray<Point>
/** Those that no transaction has: it needs no lease, and leaves no doubt. */
const outside: ReadonlyArray<Point> = [...points, "renewal sent", "retake sent", "reconciling"]

/** Those that only a transaction has. */
const inside = [...points, "commit sent", "committed"] as const satisfies ReadonlyArray<Point>

const leavesDoubt: ReadonlyArray<Point> = [
  "claimed",
  "effect begun",
  "effect done",
  "before finish",
  "renewal sent",
  "retake sent",
  "reconciling"
]

/** Seeded, so that a run can be had again: Mulberry32. */
const drawing = (seed: number) => (): number => {
  seed = seed + 0x6d2b79f5 | 0
  let t = Math.imul(seed ^ seed >>> 15, 1 | seed)
  t = t + Math.imul(t ^ t >>> 7, 61 | t) ^ t
  return ((t ^ t >>> 14) >>> 0) / 4_294_967_296
}

// A holder that is slow, as on a busy machine, must not lose it before it is killed.
const lease = 2_000
const seeds = 10
const perSeed = 14

const options = { scope: "live", success: Schema.String, wait: "10 seconds", lease } as const

describe.each(kinds)("%s", (kind, isThere) => {
  it.skipIf(!isThere)(
    `at ${seeds * perSeed} points: no effect is done twice, and no outcome is lost or changed`,
    async () => {
      const at = place(kind)
      const file = log()
      const draw = drawing(20_261_130)
      const rounds = Array.from({ length: seeds }, (_, seed) => ({
        calls: Array.from({ length: perSeed }, (_, i) => ({
          key: `${seed}-${i}`,
          // Each point once, and the rest by chance.
          point: outside[i] ?? outside[Math.floor(draw() * outside.length)]!
        })),
        inTransaction: false,
        delay: Math.max(0, Math.floor(draw() * 6) - 2)
      }))
      for (let i = 0; i < rounds.length; i += 2) {
        const pair = rounds.slice(i, i + 2).map((killed) => start({ place: at, log: file, lease, killed }))
        const workers = await Promise.all(pair)
        for (const worker of workers) worker.go()
        for (const worker of workers) expect((await worker.ended) as unknown).toEqual([null, "SIGKILL"])
      }
      const before = new Set(effects(file))
      // All leases have ended, or end while somebody waits.
      const asks = (key: string) =>
        Idempotency.once({ ...options, key, payload: { key } }, Effect.sync(() => `${key} anew`)).pipe(
          Effect.catchTag("InDoubt", () => Effect.succeed("in doubt"))
        )
      const settles = (key: string) =>
        Idempotency.once(
          {
            ...options,
            key,
            payload: { key },
            reconcile: Effect.sync(() =>
              before.has(key) ? Idempotency.succeeded(`${key} found`) : Idempotency.notApplied
            )
          },
          Effect.sync(() => `${key} anew`)
        )
      const calls = rounds.flatMap(({ calls }) => calls)
      const answers = await inStore(
        at,
        Effect.forEach(calls, ({ key, point }) =>
          Effect.gen(function* () {
            const first = yield* asks(key)
            return { key, point, first, settled: yield* settles(key), again: yield* asks(key) }
          }), { concurrency: 20 })
      )
      const wrong = answers.filter(({ again, first, key, point, settled }) => {
        const wasDone = before.has(key)
        // What was begun is never run again unasked; what was never claimed runs.
        if (wasDone && first === `${key} anew`) return true
        if (point === "before claim" && first !== `${key} anew`) return true
        if (point === "finished" && !first.startsWith(`${key} by `)) return true
        if (leavesDoubt.includes(point) && first !== "in doubt") return true
        // An outcome that was seen stays.
        if (first !== "in doubt" && settled !== first) return true
        if (first === "in doubt" && settled !== (wasDone ? `${key} found` : `${key} anew`)) return true
        return again !== settled
      })
      expect(wrong).toEqual([])
      expect(answers).toHaveLength(seeds * perSeed)
      // No effect was done twice.
      expect(effects(file)).toHaveLength(before.size)
      // Both ends were met: otherwise this has shown little.
      expect(new Set(answers.map(({ first, key }) => first.replace(key, "").replace(/\d+/, "")))).toEqual(
        new Set([" anew", " by ", "in doubt"])
      )
    }
  )

  // Redis has no transactions of the business's own.
  if (kind === "redis") return
  it.skipIf(!isThere)("in a transaction at every point: done exactly once, and nothing in doubt", async () => {
    const at = place(kind)
    await inStore(at, Effect.flatMap(SqlClient.SqlClient, (sql) => sql`CREATE TABLE effects (key TEXT)`))
    // One connection has one transaction: on SQLite, and here on all.
    const pids: Array<number | undefined> = []
    for (let i = 0; i < inside.length; i += 2) {
      const workers = await Promise.all(
        inside.slice(i, i + 2).map((point, j) =>
          start({
            place: at,
            log: log(),
            lease: 60_000,
            killed: { calls: [{ key: `t-${i + j}`, point }], inTransaction: true, delay: 0 }
          })
        )
      )
      for (const worker of workers) {
        worker.go()
        expect((await worker.ended) as unknown).toEqual([null, "SIGKILL"])
        pids.push(worker.process.pid)
      }
    }
    const keys = inside.map((_, i) => `t-${i}`)
    const { answers, replays, rows } = await inStore(
      at,
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const run = (key: string) =>
          sql.withTransaction(
            Idempotency.once(
              { ...options, key, payload: { key } },
              Effect.as(sql`INSERT INTO effects VALUES (${key})`, `${key} anew`)
            )
          )
        const answers = yield* Effect.forEach(keys, run)
        const replays = yield* Effect.forEach(keys, run)
        const rows = yield* sql<{ key: string; n: number | bigint }>`
          SELECT key, COUNT(*) AS n FROM effects GROUP BY key ORDER BY key`
        return { answers, replays, rows }
      })
    )
    expect(rows.map(({ key, n }) => [key, Number(n)])).toEqual(keys.map((key) => [key, 1]))
    // What was committed is replayed, and what was not has left nothing.
    const wrong = inside.flatMap((point, i) => {
      const [anew, replayed] = [`t-${i} anew`, `t-${i} by ${pids[i]}`]
      const right = { "commit sent": [anew, replayed], "committed": [replayed] }[point as string] ?? [anew]
      return right.includes(answers[i]!) ? [] : [{ point, answer: answers[i] }]
    })
    expect(wrong).toEqual([])
    expect(replays).toEqual(answers)
  })
})
