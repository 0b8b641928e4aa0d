// A real PostgreSQL that goes away in the middle.
import { Policy, RetryExhausted } from "@reprise/core"
import { SqlRetry } from "@reprise/sql"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Random from "effect/Random"
import * as Redacted from "effect/Redacted"
import { SqlClient } from "effect/sql/SqlClient"
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { draws } from "../../core/Recording.ts"
import { hasOwnPostgres, hasPostgres, type PostgresServer, startOwnPostgres, startPostgres } from "../postgres.ts"
import { startProxy } from "./proxy.ts"
import { type Database, openDatabase, pid } from "./server.ts"

class Declined extends Data.TaggedError("Declined")<{}> {}

const policy = Policy.exponential("20 millis").pipe(
  Policy.capped("500 millis"),
  Policy.jittered,
  Policy.within("1 minute")
)

describe.skipIf(!hasPostgres)("PostgreSQL", () => {
  let server: PostgresServer
  let database: Database
  beforeAll(async () => {
    server = await (hasOwnPostgres ? startOwnPostgres() : startPostgres())
    database = await openDatabase(server)
    await database.run(Effect.flatMap(SqlClient, (sql) => sql`CREATE TABLE payments (id INTEGER PRIMARY KEY)`))
  })
  beforeEach(() => database.run(Effect.flatMap(SqlClient, (sql) => Effect.asVoid(sql`DELETE FROM payments`))))
  afterAll(async () => {
    await database?.drop()
    await server?.stop()
  })

  const insert = Effect.flatMap(SqlClient, (sql) => sql`INSERT INTO payments VALUES (1)`)
  const payments = Effect.flatMap(SqlClient, (sql) => sql`SELECT id FROM payments`)
  /** Something that happens in the first attempt only. */
  const once = <E>(what: Effect.Effect<unknown, E, SqlClient>): Effect.Effect<void, E, SqlClient> => {
    let done = false
    return Effect.suspend(() => {
      if (done) return Effect.void
      done = true
      return Effect.asVoid(what)
    })
  }
  const terminated = Effect.flatMap(Effect.orDie(pid), (pid) => database.terminate(pid))

  it("pg_terminate_backend between two statements: both are there, once", async () => {
    const { attempts, rows } = await database.run(Effect.gen(function* () {
      const sql = yield* SqlClient
      let attempts = 0
      const terminating = once(terminated)
      yield* Effect.gen(function* () {
        attempts++
        yield* insert
        yield* terminating
        yield* sql`INSERT INTO payments VALUES (2)`
      }).pipe(SqlRetry.transaction(policy))
      return { attempts, rows: yield* payments }
    }))
    expect(attempts).toBe(2)
    expect(rows).toEqual([{ id: 1 }, { id: 2 }])
  })

  it("pg_terminate_backend while a statement runs", async () => {
    const { attempts, rows } = await database.run(Effect.gen(function* () {
      const sql = yield* SqlClient
      let attempts = 0
      const slowly = once(
        Effect.flatMap(
          Effect.orDie(pid),
          (pid) =>
            Effect.all(
              [sql`SELECT pg_sleep(10)`, Effect.andThen(Effect.sleep("100 millis"), database.terminate(pid))],
              {
                concurrency: 2
              }
            )
        )
      )
      yield* Effect.gen(function* () {
        attempts++
        yield* insert
        yield* slowly
      }).pipe(SqlRetry.transaction(policy))
      return { attempts, rows: yield* payments }
    }))
    expect(attempts).toBe(2)
    expect(rows).toEqual([{ id: 1 }])
  })

  it("pg_terminate_backend in a savepoint", async () => {
    const { attempts, rows } = await database.run(Effect.gen(function* () {
      let attempts = 0
      const terminating = once(terminated)
      const inner = Effect.andThen(terminating, insert).pipe(SqlRetry.transaction(policy))
      yield* Effect.andThen(Effect.sync(() => void attempts++), inner).pipe(SqlRetry.transaction(policy))
      return { attempts, rows: yield* payments }
    }))
    expect(attempts).toBe(2)
    expect(rows).toEqual([{ id: 1 }])
  })

  it("a failure of one's own after pg_terminate_backend is that failure", async () => {
    const { attempts, error, rows } = await database.run(Effect.gen(function* () {
      let attempts = 0
      const error = yield* Effect.flip(
        Effect.gen(function* () {
          attempts++
          yield* insert
          yield* terminated
          return yield* new Declined()
        }).pipe(SqlRetry.transaction(policy))
      )
      return { attempts, error, rows: yield* payments }
    }))
    expect(error).toBeInstanceOf(Declined)
    expect(attempts).toBe(1)
    expect(rows).toEqual([])
  })

  it("pg_terminate_backend before COMMIT: nobody can tell it from one after it, so it is not repeated", async () => {
    const { error, rows } = await database.run(Effect.gen(function* () {
      const error = yield* Effect.flip(Effect.andThen(insert, terminated).pipe(SqlRetry.transaction(policy)))
      return { error, rows: yield* payments }
    }))
    expect(RetryExhausted.is(error) && error.reason).toEqual({ _tag: "Unsafe" })
    expect(SqlRetry.isUnknownCommit(error)).toBe(true)
    expect(rows).toEqual([])
  })

  it("a COMMIT whose answer is lost has applied: not repeated, unless that is safe", async () => {
    const proxy = await startProxy(server.url)
    try {
      const { error, rows } = await database.run(
        Effect.gen(function* () {
          proxy.cutAtCommit()
          const error = yield* Effect.flip(insert.pipe(SqlRetry.transaction(policy, { name: "pay" })))
          return { error, rows: yield* payments }
        }),
        { url: Redacted.make(proxy.url) }
      )
      expect(RetryExhausted.is(error) && error.reason).toEqual({ _tag: "Unsafe" })
      expect(String(error)).toContain("The connection was lost at COMMIT")
      expect(rows).toEqual([{ id: 1 }])

      const again = await database.run(
        Effect.gen(function* () {
          const sql = yield* SqlClient
          let attempts = 0
          proxy.cutAtCommit()
          yield* Effect.suspend(() => {
            attempts++
            return sql`INSERT INTO payments VALUES (2) ON CONFLICT DO NOTHING`
          }).pipe(SqlRetry.transaction(policy, { idempotent: true }))
          return { attempts, rows: yield* payments }
        }),
        { url: Redacted.make(proxy.url) }
      )
      expect(again).toEqual({ attempts: 2, rows: [{ id: 1 }, { id: 2 }] })
    } finally {
      await proxy.close()
    }
  })

  it("a session that idles too long (25P03) cannot have committed: it is repeated", async () => {
    const { attempts, rows } = await database.run(Effect.gen(function* () {
      const sql = yield* SqlClient
      let attempts = 0
      const idle = once(Effect.andThen(
        sql`SET LOCAL idle_in_transaction_session_timeout = '50ms'`,
        Effect.sleep("300 millis")
      ))
      yield* Effect.suspend(() => {
        attempts++
        return Effect.andThen(insert, idle)
      }).pipe(SqlRetry.transaction(policy))
      return { attempts, rows: yield* payments }
    }))
    expect(attempts).toBe(2)
    expect(rows).toEqual([{ id: 1 }])
  })

  it("an attempt that takes too long is rolled back, and the connection is of use again", async () => {
    const { attempts, rows } = await database.run(
      Effect.gen(function* () {
        const sql = yield* SqlClient
        let attempts = 0
        const slow = once(sql`SELECT pg_sleep(30)`)
        yield* Effect.suspend(() => {
          attempts++
          return Effect.andThen(insert, slow)
        }).pipe(SqlRetry.transaction(policy, { attemptTimeout: "500 millis" }))
        return { attempts, rows: yield* payments }
      }),
      { maxConnections: 1 }
    )
    expect(attempts).toBe(2)
    expect(rows).toEqual([{ id: 1 }])
  })

  it("an interruption during COMMIT waits for it, and leaves the connection clean", async () => {
    const { clean, exit, rows } = await database.run(
      Effect.gen(function* () {
        const sql = yield* SqlClient
        yield* sql`CREATE TABLE slow (id INTEGER)`
        yield* sql`CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql AS
          'BEGIN PERFORM pg_sleep(0.5); RETURN NULL; END'`
        yield* sql`CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON slow DEFERRABLE INITIALLY DEFERRED
          FOR EACH ROW EXECUTE FUNCTION slowly()`
        const fiber = yield* Effect.forkChild(sql`INSERT INTO slow VALUES (1)`.pipe(SqlRetry.transaction(policy)))
        yield* Effect.sleep("200 millis")
        yield* Fiber.interrupt(fiber)
        return {
          exit: yield* Fiber.await(fiber),
          rows: yield* sql`SELECT id FROM slow`,
          // A transaction that wrote and is still open would have a number.
          clean: yield* sql`SELECT pg_current_xact_id_if_assigned() IS NULL AS clean`
        }
      }),
      { maxConnections: 1 }
    )
    expect(exit._tag === "Failure" && exit.cause.reasons.map(({ _tag }) => _tag)).toEqual(["Interrupt"])
    expect(rows).toEqual([{ id: 1 }])
    expect(clean).toEqual([{ clean: true }])
  })

  it("an interruption rolls back", async () => {
    const rows = await database.run(
      Effect.gen(function* () {
        const sql = yield* SqlClient
        yield* Effect.andThen(insert, sql`SELECT pg_sleep(30)`).pipe(
          SqlRetry.transaction(policy),
          Effect.timeoutOption("300 millis")
        )
        return yield* payments
      }),
      { maxConnections: 1 }
    )
    expect(rows).toEqual([])
  })

  describe.skipIf(!hasOwnPostgres)("of the tests' own", () => {
    it.each(["restart", "crash"] as const)("a %s in the middle", async (how) => {
      const down = how === "restart" ? server.shutDown : server.kill
      const { attempts, rows } = await database.run(Effect.gen(function* () {
        let attempts = 0
        // It comes back while the transaction is being tried again.
        let back: Promise<void> | undefined
        const restarting = once(Effect.promise(async () => {
          await down()
          back = new Promise((resolve) => setTimeout(resolve, 300)).then(server.start)
        }))
        yield* Effect.gen(function* () {
          attempts++
          yield* insert
          yield* restarting
          yield* payments
        }).pipe(SqlRetry.transaction(policy))
        yield* Effect.promise(async () => back)
        return { attempts, rows: yield* payments }
      }))
      expect(attempts).toBe(2)
      expect(rows).toEqual([{ id: 1 }])
    })

    it("a server that stays away: the default policy gives up in the end", async () => {
      await server.shutDown()
      try {
        const error = await database.run(
          // Its shortest waits but for none: 1.62 seconds.
          Effect.flip(insert.pipe(SqlRetry.transaction(), Effect.provideService(Random.Random, draws(0.1))))
        )
        expect(error).toMatchObject({ _tag: "RetryExhausted", reason: { _tag: "Attempts" }, attempts: 8 })
      } finally {
        await server.start()
      }
    })
  })
})
