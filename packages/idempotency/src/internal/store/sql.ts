/** Records in SQLite or PostgreSQL: one statement for each step, by the clock of the database. */
import { InvalidPolicy } from "@reprise/core/InvalidPolicy"
import * as Effect from "effect/Effect"
import * as Hex from "effect/encoding/Hex"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import * as Result from "effect/Result"
import { type Operation, StoreFailed } from "../../IdempotencyError.ts"
import type { Backing, Found, Held, IdempotencyStore, SqlOptions } from "../../IdempotencyStore.ts"
import * as check from "../check.ts"
import * as stores from "./make.ts"
import * as migrations from "./migrations.ts"
import * as shared from "./shared.ts"

interface Row {
  readonly state: Found["state"] | "free"
  // PostgreSQL gives a BIGINT as a bigint.
  readonly fence: number | bigint
  readonly holder: string
  readonly fingerprint: string
  readonly left_millis: number | bigint
  readonly outcome: string | null
}

// Not the time at which the transaction began: a claim may have waited long for another.
const clocks = {
  pg: "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)",
  sqlite: "CAST(unixepoch('subsec') * 1000 AS INTEGER)"
}

const clockOf = (sql: SqlClient): string =>
  sql.onDialectOrElse({
    pg: () => clocks.pg,
    sqlite: () => clocks.sqlite,
    orElse: () => {
      throw new InvalidPolicy({ argument: "layerSql", value: sql.driver, rule: "given a SQLite or PostgreSQL client" })
    }
  })

const found = ({ fence, fingerprint, holder, left_millis, outcome, state }: Row): Found | undefined =>
  state === "free"
    ? undefined
    : {
      state,
      fence: Number(fence),
      fingerprint,
      holder,
      left: state === "running" ? Number(left_millis) : 0,
      outcome: outcome ?? undefined
    }

/** Makes a transaction undo what was written in it. */
class Undone<A> {
  readonly value: A
  constructor(value: A) {
    this.value = value
  }
}

const backing = (sql: SqlClient, name: string, within: shared.Ask): Backing => {
  const table = sql.literal(name)
  const now = sql.literal(clockOf(sql))
  const inTransaction = Effect.map(Effect.serviceOption(sql.transactionService), Option.isSome)
  const ask = <A>(operation: Operation, question: Effect.Effect<A, SqlError>): Effect.Effect<A, StoreFailed> =>
    Effect.flatMap(inTransaction, (inside) => (inside ? shared.once : within)(operation, question))

  const row = (id: string): Effect.Effect<Found | undefined, SqlError> =>
    Effect.map(
      sql<Row>`SELECT state, fence, holder, fingerprint, lease_until - ${now} AS left_millis, outcome
        FROM ${table} WHERE id = ${id} AND expires_at > ${now}`,
      ([row]) => row && found(row)
    )
  const held = ({ fence, holder, id }: Held) => sql`id = ${id} AND fence = ${fence} AND holder = ${holder}`
  type Fence = { readonly fence: number | bigint }
  const isNotEmpty = (rows: ReadonlyArray<unknown>): boolean => rows.length > 0

  return {
    claim: ({ fingerprint, holder, id, lease, retention }) => {
      const insert = sql<Fence>`INSERT INTO ${table} AS t
          (id, state, fence, holder, fingerprint, lease_until, expires_at, sweep_at, outcome)
        VALUES (${id}, 'running', 1, ${holder}, ${fingerprint}, ${now} + ${lease}, ${now} + ${lease + retention},
          ${now} + ${retention}, NULL)
        ON CONFLICT (id) DO UPDATE SET state = 'running', fence = t.fence + 1, holder = excluded.holder,
          fingerprint = excluded.fingerprint, lease_until = excluded.lease_until, expires_at = excluded.expires_at,
          sweep_at = excluded.sweep_at, outcome = NULL
        WHERE t.state = 'free' OR t.expires_at <= ${now}
        RETURNING fence`
      const claim: Effect.Effect<number | Found, SqlError> = Effect.flatMap(
        insert,
        ([mine]) =>
          mine !== undefined ? Effect.succeed(Number(mine.fence)) : Effect.flatMap(row(id), (there) =>
            // It has gone between the two statements.
            there === undefined ? claim : Effect.succeed(there))
      )
      return ask("claim", claim)
    },
    retake: ({ fingerprint, holder, id, lease, retention }, fence) =>
      ask(
        "retake",
        Effect.map(
          sql<Fence>`UPDATE ${table} SET state = 'running', fence = fence + 1, holder = ${holder},
              fingerprint = ${fingerprint}, lease_until = ${now} + ${lease}, expires_at = ${now} + ${lease + retention},
              sweep_at = ${now} + ${retention}
            WHERE id = ${id} AND fence = ${fence} AND expires_at > ${now}
              AND (state = 'doubt' OR (state = 'running' AND lease_until <= ${now}))
            RETURNING fence`,
          ([mine]) => mine && Number(mine.fence)
        )
      ),
    renew: (by, { lease, retention }) =>
      ask(
        "renew",
        Effect.map(
          sql`UPDATE ${table} SET lease_until = ${now} + ${lease}, expires_at = ${now} + ${lease + retention}
            WHERE ${held(by)} AND state = 'running' RETURNING fence`,
          isNotEmpty
        )
      ),
    finish: (by, ending) =>
      ask(
        "finish",
        Effect.map(
          sql`UPDATE ${table} SET state = ${ending.state}, expires_at = ${now} + ${ending.retention},
              outcome = ${ending.state === "done" ? ending.outcome : null}
            WHERE ${held(by)} RETURNING fence`,
          isNotEmpty
        )
      ),
    read: (id) => ask("read", row(id)),
    sweep: (limit) =>
      ask(
        "sweep",
        Effect.map(
          sql`DELETE FROM ${table} WHERE id IN (
              SELECT id FROM ${table} WHERE sweep_at <= ${now} AND expires_at <= ${now} LIMIT ${limit}
            ) AND expires_at <= ${now} RETURNING fence`,
          (rows) => rows.length
        )
      ),
    inTransaction,
    savepoint: (effect) =>
      sql.withTransaction(Effect.mapError(effect, (value) => new Undone(value))).pipe(
        Effect.catch((error) =>
          error instanceof Undone
            ? Effect.succeed(error.value)
            : Effect.fail(new StoreFailed({ operation: "savepoint", cause: error }))
        )
      )
  }
}

const secret = (sql: SqlClient, name: string): Effect.Effect<stores.Keys, SqlError> => {
  const table = sql.literal(`${name}_secret`)
  const drawn = Hex.encode(stores.newSecret())
  return Effect.andThen(
    sql`INSERT INTO ${table} (id, secret) VALUES (1, ${drawn}) ON CONFLICT (id) DO NOTHING`,
    Effect.map(sql<{ readonly secret: string }>`SELECT secret FROM ${table} WHERE id = 1`, ([row]): stores.Keys => [
      Result.getOrThrow(Hex.decode(row!.secret))
    ])
  )
}

/** Several processes may be at it at once, and each waits for the one before. */
const opening = 30_000

export const make = (options: SqlOptions): Effect.Effect<IdempotencyStore, StoreFailed, SqlClient | Scope.Scope> => {
  check.options("layerSql", options, ["table", "secret", "timeout"])
  const table = check.text(
    "layerSql.table",
    options.table ?? "reprise_idempotency",
    /^[a-z_][a-z0-9_]{0,40}$/,
    "a lower-case SQL name of at most 41 characters"
  )
  const timeout = shared.timeoutOf("layerSql", options.timeout)
  const given = options.secret === undefined ? undefined : stores.secretsOf(options.secret)
  return Effect.gen(function* () {
    const sql = (yield* SqlClient).withoutTransforms()
    clockOf(sql)
    const open = yield* shared.within(opening)
    yield* open("open", migrations.run(sql, table))
    const within = yield* shared.within(timeout)
    return yield* stores.make(backing(sql, table, within), given ?? (yield* open("open", secret(sql, table))))
  })
}
