// Inside another transaction of the client.
import { describe, expect, it } from "@effect/vitest"
import { Policy } from "@reprise/core"
import { SqlRetry } from "@reprise/sql"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { dying, scripted, sqlState } from "./scripted.ts"

const policy = Policy.immediate(3)
const update = Effect.flatMap(SqlClient, (sql) => sql`UPDATE t`)
const inner = update.pipe(SqlRetry.transaction(policy, { name: "inner" }))

describe("inside another transaction", () => {
  it.effect("it is a savepoint, executed once, and its failure goes out as it is", () =>
    Effect.gen(function* () {
      const deadlock = sqlState("40P01")
      const { log, sql } = yield* scripted({ answer: (statement) => statement === "UPDATE t" ? deadlock : undefined })
      const error = yield* Effect.flip(Effect.provideService(sql.withTransaction(inner), SqlClient, sql))
      expect(error).toBe(deadlock)
      expect(log).toEqual([
        "BEGIN",
        "SAVEPOINT effect_sql_1",
        "UPDATE t",
        "ROLLBACK TO SAVEPOINT effect_sql_1",
        "RELEASE SAVEPOINT effect_sql_1",
        "ROLLBACK"
      ])
    }))

  it.effect("the outer one runs again, as a whole", () =>
    Effect.gen(function* () {
      const { log, sql } = yield* scripted({
        answer: (statement, nth) => statement === "UPDATE t" && nth === 1 ? sqlState("40P01") : undefined
      })
      const outer = inner.pipe(SqlRetry.transaction(policy, { name: "outer" }))
      expect(yield* Effect.exit(Effect.provideService(outer, SqlClient, sql))).toMatchObject({ _tag: "Success" })
      expect(log.filter((statement) => statement === "BEGIN" || statement === "UPDATE t"))
        .toEqual(["BEGIN", "UPDATE t", "BEGIN", "UPDATE t"])
    }))

  it.effect("a connection that dies there is no defect to the outer one", () =>
    Effect.gen(function* () {
      const { log, sql } = yield* scripted({ answer: dying((statement, nth) => statement === "UPDATE t" && nth === 1) })
      const outer = inner.pipe(SqlRetry.transaction(policy))
      expect(yield* Effect.exit(Effect.provideService(outer, SqlClient, sql))).toMatchObject({ _tag: "Success" })
      expect(log.filter((statement) => statement === "BEGIN")).toHaveLength(2)
    }))

  it.effect("a failure of one's own is kept, although the connection died", () =>
    Effect.gen(function* () {
      const { sql } = yield* scripted({ answer: dying((statement) => statement.startsWith("ROLLBACK TO")) })
      const own = Effect.fail("declined").pipe(SqlRetry.transaction(policy), SqlRetry.transaction(policy))
      const exit = yield* Effect.exit(Effect.provideService(own, SqlClient, sql))
      expect(exit._tag === "Failure" && exit.cause.reasons.map((one) => Cause.isFailReason(one) && one.error))
        .toEqual(["declined"])
    }))

  it.effect("a transaction of another client is retried", () =>
    Effect.gen(function* () {
      const one = yield* scripted()
      const other = yield* scripted({
        answer: (statement, nth) => statement === "UPDATE t" && nth === 1 ? sqlState("40P01") : undefined
      })
      yield* one.sql.withTransaction(Effect.provideService(inner, SqlClient, other.sql))
      expect(one.log).toEqual(["BEGIN", "COMMIT"])
      expect(other.log.filter((statement) => statement === "BEGIN")).toHaveLength(2)
    }))
})
