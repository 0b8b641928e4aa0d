// Transactions of a real PostgreSQL that are in each other's way.
import { Policy, Retry } from "@reprise/core"
import { SqlRetry } from "@reprise/sql"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { SqlClient } from "effect/sql/SqlClient"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { hasPostgres, type PostgresServer, startPostgres } from "../postgres.ts"
import { type Database, openDatabase } from "./server.ts"

const policy = Policy.exponential("5 millis").pipe(
  Policy.capped("200 millis"),
  Policy.jittered,
  Policy.within("1 minute")
)

describe.skipIf(!hasPostgres)("PostgreSQL", () => {
  let server: PostgresServer
  let database: Database
  beforeAll(async () => {
    server = await startPostgres()
    database = await openDatabase(server)
    await database.run(
      Effect.flatMap(
        SqlClient,
        (sql) => sql.unsafe("CREATE TABLE accounts AS SELECT id, 100 AS balance FROM generate_series(1, 4) AS id")
      )
    )
  })
  afterAll(async () => {
    await database?.drop()
    await server?.stop()
  })

  it("two transactions that deadlock (40P01) both commit", async () => {
    const { attempts, rows, states } = await database.run(Effect.gen(function* () {
      const sql = yield* SqlClient
      const locked = [yield* Deferred.make<void>(), yield* Deferred.make<void>()] as const
      let attempts = 0
      const states: Array<string | undefined> = []
      const transfer = (from: number, to: number, mine: 0 | 1) =>
        Effect.gen(function* () {
          attempts++
          yield* sql`UPDATE accounts SET balance = balance - 10 WHERE id = ${from}`
          // Both hold one row before either asks for the other's.
          yield* Deferred.succeed(locked[mine], undefined)
          yield* Deferred.await(locked[mine === 0 ? 1 : 0])
          yield* sql`UPDATE accounts SET balance = balance + 10 WHERE id = ${to}`
        }).pipe(SqlRetry.transaction(policy, {
          onRetry: ({ error }) => Effect.sync(() => void states.push(SqlRetry.classify(error).code))
        }))
      yield* Effect.all([transfer(1, 2, 0), transfer(2, 1, 1)], { concurrency: 2 })
      const rows = yield* sql`SELECT id, balance FROM accounts WHERE id < 3 ORDER BY id`
      return { attempts, rows, states }
    }))
    expect(states).toEqual(["40P01"])
    expect(attempts).toBe(3)
    expect(rows).toEqual([{ id: 1, balance: 100 }, { id: 2, balance: 100 }])
  })

  it("16 writers in serializable transactions lose no update", async () => {
    const { conflicts, rows } = await database.run(
      Effect.gen(function* () {
        const sql = yield* SqlClient
        let conflicts = 0
        const increment = Effect.gen(function* () {
          const [row] = yield* sql<{ balance: number }>`SELECT balance FROM accounts WHERE id = 3`
          yield* sql`UPDATE accounts SET balance = ${row!.balance + 1} WHERE id = 3`
        }).pipe(SqlRetry.transaction(policy, {
          isolation: "serializable",
          onRetry: () => Effect.sync(() => void conflicts++)
        }))
        yield* Effect.replicateEffect(Effect.replicateEffect(increment, 25), 16, { concurrency: 16 })
        return { conflicts, rows: yield* sql`SELECT balance FROM accounts WHERE id = 3` }
      }),
      { maxConnections: 16 }
    )
    expect(rows).toEqual([{ balance: 500 }])
    // They met: otherwise this has shown nothing.
    expect(conflicts).toBeGreaterThan(16)
  })

  it("a lock that is not to be had in time (55P03) is asked for again", async () => {
    const codes: Array<string | undefined> = []
    const { attempts, rows } = await database.run(Effect.gen(function* () {
      const sql = yield* SqlClient
      const held = yield* Deferred.make<void>()
      const enough = yield* Deferred.make<void>()
      const holder = sql.withTransaction(Effect.gen(function* () {
        yield* sql`SELECT 1 FROM accounts WHERE id = 4 FOR UPDATE`
        yield* Deferred.succeed(held, undefined)
        yield* Deferred.await(enough)
      }))
      const asking = Effect.gen(function* () {
        const { number } = yield* Retry.Attempt
        if (number === 3) yield* Deferred.succeed(enough, undefined)
        yield* sql`SET LOCAL lock_timeout = '50ms'`
        yield* sql`UPDATE accounts SET balance = 0 WHERE id = 4`
        return number
      }).pipe(SqlRetry.transaction(policy, {
        onRetry: ({ error }) => Effect.sync(() => void codes.push(SqlRetry.classify(error).code))
      }))
      const both = [holder, Effect.andThen(Deferred.await(held), asking)] as const
      const [, attempts] = yield* Effect.all(both, { concurrency: 2 })
      return { attempts, rows: yield* sql`SELECT balance FROM accounts WHERE id = 4` }
    }))
    expect(attempts).toBeGreaterThanOrEqual(3)
    expect(codes).toEqual(Array(attempts - 1).fill("55P03"))
    expect(rows).toEqual([{ balance: 0 }])
  })

  it.each([
    ["42601", "SELEC 1"],
    ["42P01", "SELECT * FROM nowhere"],
    ["23514", "INSERT INTO positive VALUES (-1)"],
    ["22012", "SELECT 1 / 0"],
    ["42501", "SELECT * FROM pg_authid"]
  ])("%s is one attempt", async (code, statement) => {
    const { attempts, error } = await database.run(Effect.gen(function* () {
      const sql = yield* SqlClient
      yield* sql`CREATE TABLE IF NOT EXISTS positive (n INTEGER CHECK (n > 0))`
      let attempts = 0
      const failing = Effect.gen(function* () {
        attempts++
        // A role without any rights of its own.
        if (code === "42501") yield* sql`SET LOCAL ROLE pg_signal_backend`
        yield* sql.unsafe(statement)
      })
      return { error: yield* Effect.flip(failing.pipe(SqlRetry.transaction(policy))), attempts }
    }))
    expect(attempts).toBe(1)
    expect(error._tag).toBe("SqlError")
    expect(SqlRetry.classify(error)).toMatchObject({ transience: "terminal", applied: "no", code })
  })

  it.each(["23505", "23503"])(
    "a deferred constraint that COMMIT violates (%s) is one attempt, and known",
    async (code) => {
      const { attempts, error, rows } = await database.run(
        Effect.gen(function* () {
          const sql = yield* SqlClient
          yield* sql`CREATE TABLE IF NOT EXISTS parents (id INTEGER PRIMARY KEY)`
          yield* sql`CREATE TABLE IF NOT EXISTS deferred (
          id INTEGER UNIQUE DEFERRABLE INITIALLY DEFERRED,
          parent INTEGER REFERENCES parents DEFERRABLE INITIALLY DEFERRED
        )`
          let attempts = 0
          const failing = Effect.suspend(() => {
            attempts++
            return code === "23505"
              ? sql`INSERT INTO deferred VALUES (1), (1)`
              : sql`INSERT INTO deferred VALUES (2, 7)`
          })
          const error = yield* Effect.flip(failing.pipe(SqlRetry.transaction(policy)))
          return { attempts, error, rows: yield* sql`SELECT id FROM deferred` }
        }),
        { maxConnections: 1 }
      )
      expect(attempts).toBe(1)
      expect(SqlRetry.classify(error)).toMatchObject({ transience: "terminal", applied: "no", code })
      expect(SqlRetry.isUnknownCommit(error)).toBe(false)
      expect(rows).toEqual([])
    }
  )

  it("a failure that is caught inside is told at COMMIT, which PostgreSQL answers with a rollback", async () => {
    const { attempts, error, rows } = await database.run(
      Effect.gen(function* () {
        const sql = yield* SqlClient
        let attempts = 0
        const careless = Effect.gen(function* () {
          attempts++
          yield* sql`UPDATE accounts SET balance = 7 WHERE id = 4`
          yield* Effect.ignore(sql`SELECT 1 / 0`)
        })
        const error = yield* Effect.flip(careless.pipe(SqlRetry.transaction(policy)))
        return { attempts, error, rows: yield* sql`SELECT id FROM accounts WHERE balance = 7` }
      }),
      { maxConnections: 1 }
    )
    expect(attempts).toBe(1)
    expect(error).toMatchObject({ _tag: "SqlError", reason: { operation: "commit" } })
    expect(rows).toEqual([])
  })

  it("too many connections (53300) are waited out", async () => {
    const role = `reprise_few_${process.pid}`
    const url = new URL(server.url)
    url.username = role
    const codes: Array<string | undefined> = []
    const sleeping = Effect.flatMap(SqlClient, (sql) => sql`SELECT pg_sleep(0.1)`).pipe(
      SqlRetry.transaction(policy, {
        onRetry: ({ error }) => Effect.sync(() => void codes.push(SqlRetry.classify(error).code))
      })
    )
    await database.run(Effect.flatMap(SqlClient, (sql) => sql.unsafe(`CREATE ROLE ${role} LOGIN CONNECTION LIMIT 3`)))
    try {
      // Each has a pool of its own, as processes have.
      const each = Array.from({ length: 8 }, () => database.run(sleeping, { url: Redacted.make(url.href) }))
      expect(await Promise.all(each)).toHaveLength(8)
    } finally {
      await database.run(Effect.flatMap(SqlClient, (sql) => sql.unsafe(`DROP ROLE ${role}`)))
    }
    expect(new Set(codes)).toEqual(new Set(["53300"]))
  })
})
