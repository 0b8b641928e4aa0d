import { InvalidPolicy } from "@reprise/core/InvalidPolicy"
import type { SqlClient } from "effect/sql/SqlClient"

const levels = ["read committed", "repeatable read", "serializable"] as const

/** See `SqlRetry.Isolation`. */
export type Isolation = typeof levels[number]

/** The statement that begins a transaction of this isolation; `undefined` where every transaction has it. */
export const beginWith = (isolation: Isolation): (sql: SqlClient) => string | undefined => {
  // It becomes a part of a statement.
  if (!levels.includes(isolation)) {
    throw new InvalidPolicy({
      argument: "transaction.isolation",
      value: isolation,
      rule: `one of ${levels.join(", ")}`
    })
  }
  const statement = `BEGIN ISOLATION LEVEL ${isolation.toUpperCase()}`
  return (sql) =>
    sql.onDialectOrElse({
      pg: () => statement,
      // Its transactions are serializable, all of them.
      sqlite: () => undefined,
      // Ignored it would be a promise that nobody keeps.
      orElse: () => {
        throw new InvalidPolicy({
          argument: "transaction.isolation",
          value: isolation,
          rule: "left out for this database: only the BEGIN of PostgreSQL takes it"
        })
      }
    })
}
