/** A client whose database does what a test says, statement by statement. */
import * as Effect from "effect/Effect"
import * as Reactivity from "effect/reactivity/Reactivity"
import * as Semaphore from "effect/Semaphore"
import * as SqlClient from "effect/sql/SqlClient"
import type { Connection } from "effect/sql/SqlConnection"
import * as SqlError from "effect/sql/SqlError"
import * as Statement from "effect/sql/Statement"
import * as Stream from "effect/Stream"

export type Answer = SqlError.SqlError | Effect.Effect<void, SqlError.SqlError> | undefined

export interface Scripted {
  readonly sql: SqlClient.SqlClient
  /** Every statement that came, in order. */
  readonly log: ReadonlyArray<string>
}

export interface Options {
  /** What a statement meets: an error, an effect, or success. `nth` counts equal statements from 1. */
  readonly answer?: (statement: string, nth: number) => Answer
  readonly connect?: () => Answer
  readonly dialect?: "pg" | "mysql"
}

const effectOf = (answer: Answer): Effect.Effect<void, SqlError.SqlError> =>
  answer === undefined ? Effect.void : Effect.isEffect(answer) ? answer : Effect.fail(answer)

export const scripted = ({ answer, connect, dialect = "pg" }: Options = {}): Effect.Effect<Scripted> =>
  Effect.gen(function* () {
    const log: Array<string> = []
    const run = (statement: string): Effect.Effect<ReadonlyArray<never>, SqlError.SqlError> =>
      Effect.suspend(() => {
        log.push(statement)
        const nth = log.filter((one) => one === statement).length
        return Effect.as(effectOf(answer?.(statement, nth)), [])
      })
    const connection: Connection = {
      execute: run,
      executeRaw: run,
      executeStream: () => Stream.empty,
      executeValues: run,
      executeValuesUnprepared: run,
      executeUnprepared: run
    }
    const semaphore = Semaphore.makeUnsafe(1)
    const acquirer = Effect.uninterruptibleMask((restore) =>
      restore(semaphore.takeScoped(1)).pipe(
        Effect.andThen(Effect.suspend(() => effectOf(connect?.()))),
        Effect.as(connection)
      )
    )
    const sql = yield* SqlClient.make({
      acquirer,
      compiler: Statement.makeCompiler({
        dialect,
        placeholder: () => "?",
        onIdentifier: (name) => name,
        onCustom: () => ["", []],
        onRecordUpdate: () => ["", []]
      }),
      driver: "scripted",
      spanAttributes: [],
      releaseSavepoint: (name) => `RELEASE SAVEPOINT ${name}`
    })
    return { sql, log }
  }).pipe(Effect.provide(Reactivity.layer))

/** Errors as `@effect/sql-pg` makes them. */
const pg = (reason: SqlError.SqlErrorReason): SqlError.SqlError => new SqlError.SqlError({ reason })

export const sqlState = (code: string): SqlError.SqlError => {
  const props = { cause: Object.assign(new Error(`server says ${code}`), { code }), message: "Query failed" }
  switch (code) {
    case "40P01":
      return pg(new SqlError.DeadlockError(props))
    case "40001":
      return pg(new SqlError.SerializationError(props))
    case "55P03":
      return pg(new SqlError.LockTimeoutError(props))
    case "57014":
      return pg(new SqlError.StatementTimeoutError(props))
    case "42501":
      return pg(new SqlError.AuthorizationError(props))
    case "42601":
      return pg(new SqlError.SqlSyntaxError(props))
    case "23505":
      return pg(new SqlError.UniqueViolation({ ...props, constraint: "t_key" }))
    default:
      return code.startsWith("08") ? pg(new SqlError.ConnectionError(props)) : pg(new SqlError.UnknownError(props))
  }
}

/** The socket closed. */
export const closed = (): SqlError.SqlError =>
  pg(new SqlError.ConnectionError({ cause: new Error("Connection closed"), message: "Connection closed" }))

/** The socket, or TLS on it, failed. */
export const broken = (code: string): SqlError.SqlError =>
  pg(
    new SqlError.ConnectionError({
      cause: Object.assign(new Error(code), { code }),
      message: "PgConnection: Socket error"
    })
  )

/** A connection that dies at a statement, and answers nothing but that until it is replaced by the next transaction. */
export const dying = (
  at: (statement: string, nth: number) => boolean,
  death: () => SqlError.SqlError = closed
): (statement: string, nth: number) => Answer => {
  let dead = false
  return (statement, nth) => {
    if (statement.startsWith("BEGIN")) dead = false
    else if (at(statement, nth)) dead = true
    return dead ? death() : undefined
  }
}
