/** One database, as the connection that `effect/sql` wants. */
import { Clock } from "effect/Clock"
import * as Effect from "effect/Effect"
import type { Fiber } from "effect/Fiber"
import { SafeIntegers } from "effect/sql/SqlClient"
import type { Connection } from "effect/sql/SqlConnection"
import type { SqlError } from "effect/sql/SqlError"
import type { DatabaseSync } from "node:sqlite"
import * as Failure from "./failure.ts"
import * as Integers from "./integers.ts"
import * as Parameters from "./parameters.ts"
import { rowStream } from "./rowStream.ts"
import * as Statements from "./statements.ts"

export interface Options {
  /** How many statements are kept. */
  readonly capacity: number
  /** For how long an unused one is kept, in milliseconds. */
  readonly timeToLive: number
  readonly safeIntegers: boolean
  /** Whether a transaction of this client is around. */
  readonly isInside: (fiber: AnyFiber) => boolean
}

type AnyFiber = Fiber<unknown, unknown>
type Prepare = (sql: string, fiber: AnyFiber) => Statements.Prepared

export const make = (database: DatabaseSync, options: Options): Connection => {
  const fromCache = Statements.cached(database, options)
  const cached: Prepare = (sql, fiber) => fromCache(sql, fiber.getRef(Clock).currentTimeMillisUnsafe())
  const anew: Prepare = (sql) => Statements.prepare(database, sql)

  const asBigInts = (fiber: AnyFiber): boolean => options.safeIntegers || fiber.getRef(SafeIntegers)

  // After some failures SQLite rolls back by itself. What came then would be committed, one statement at a time.
  const checkOpen = (fiber: AnyFiber): void => {
    if (options.isInside(fiber) && database.isOpen && !database.isTransaction) {
      throw Failure.refusal("the transaction is over: SQLite rolled it back, or a statement ended it", "execute")
    }
  }

  // Where the schema has changed SQLite prepares a statement of the cache anew, and that may be what fails.
  const failure = (thrown: unknown, operation: Failure.Operation, sql: string, parameters: number): SqlError => {
    if (operation === "execute" && Failure.isLogicError(thrown)) {
      try {
        database.prepare(sql)
      } catch (again) {
        return Failure.failure(again, "prepare", parameters)
      }
    }
    return Failure.failure(thrown, operation, parameters)
  }

  const run = <A>(
    prepare: Prepare,
    sql: string,
    values: ReadonlyArray<unknown>,
    form: "objects" | "arrays" | "raw"
  ): Effect.Effect<A, SqlError> =>
    Effect.withFiber((fiber) => {
      let operation: Failure.Operation = "prepare"
      try {
        checkOpen(fiber)
        const { parameters, returnsRows, statement } = prepare(sql, fiber)
        const bound = Parameters.bind(values, parameters)
        operation = "execute"
        let result: unknown
        if (returnsRows) {
          statement.setReturnArrays(form === "arrays")
          const rows = statement.all(...bound)
          result = asBigInts(fiber) ? rows : Integers.narrowRows(rows)
        } else {
          const { changes, lastInsertRowid } = statement.run(...bound)
          result = form !== "raw" ? [] : asBigInts(fiber)
            ? { changes, lastInsertRowid }
            : { changes: Integers.narrow(changes), lastInsertRowid: Integers.narrow(lastInsertRowid) }
        }
        // Which of the three forms was asked for, only the caller knows.
        return Effect.succeed(result as A)
      } catch (thrown) {
        return Effect.fail(failure(thrown, operation, sql, values.length))
      }
    })

  type Rows = ReadonlyArray<Record<string, unknown>>
  type Values = ReadonlyArray<ReadonlyArray<unknown>>

  return {
    execute(sql, values, transform) {
      const rows = run<Rows>(cached, sql, values, "objects")
      return transform === undefined ? rows : Effect.map(rows, transform)
    },
    executeUnprepared(sql, values, transform) {
      const rows = run<Rows>(anew, sql, values, "objects")
      return transform === undefined ? rows : Effect.map(rows, transform)
    },
    executeRaw: (sql, values) => run(cached, sql, values, "raw"),
    executeValues: (sql, values) => run<Values>(cached, sql, values, "arrays"),
    executeValuesUnprepared: (sql, values) => run<Values>(anew, sql, values, "arrays"),
    // A statement of its own: one that is read step by step loses its place when it is run again meanwhile.
    executeStream: (sql, values, transform) =>
      rowStream({
        prepare: (fiber) => {
          checkOpen(fiber)
          return Statements.prepare(database, sql)
        },
        values,
        asBigInts,
        transform
      })
  }
}
