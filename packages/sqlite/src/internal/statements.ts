/** Prepared statements, and the cache that keeps them. */
import type { DatabaseSync, StatementSync } from "node:sqlite"
import * as Failure from "./failure.ts"
import * as Parameters from "./parameters.ts"

export interface Prepared {
  readonly statement: StatementSync
  readonly parameters: number
  readonly returnsRows: boolean
}

// A comment matches in one way only: where it could end early, a long line of dashes would take for ever.
const blank = /^(?:[\s;]|--[^\n]*(?:\n|$)|\/\*(?:[^*]|\*(?!\/))*(?:\*\/|$))*$/

/**
 * Prepares one statement.
 *
 * @throws what `node:sqlite` throws, or `SqlError` for a text that is more than one statement
 */
export const prepare = (database: DatabaseSync, sql: string): Prepared => {
  const statement = database.prepare(sql)
  // SQLite prepares the first statement, and passes over what follows it without a word.
  if (!blank.test(sql.slice(statement.sourceSQL.length))) {
    throw Failure.refusedText("the text is more than one statement; run them one by one")
  }
  // As numbers, large integers would throw halfway through the rows.
  statement.setReadBigInts(true)
  return {
    statement,
    parameters: Parameters.count(sql),
    returnsRows: statement.columns().length > 0
  }
}

interface Entry {
  readonly sql: string
  readonly prepared: Prepared
  used: number
}

/**
 * Keeps the statements that were used last: gives the one of a text, prepared if need be. `now` and the time to live are
 * milliseconds of one clock.
 *
 * `node:sqlite` finalises a statement when nothing holds it any more, so evicting one is letting go of it.
 */
export const cached = (
  database: DatabaseSync,
  options: { readonly capacity: number; readonly timeToLive: number }
): (sql: string, now: number) => Prepared => {
  // In the order of use: the oldest first.
  const entries = new Map<string, Entry>()
  let newest: Entry | undefined

  const evict = (now: number): void => {
    for (const [sql, entry] of entries) {
      if (entries.size <= options.capacity && now - entry.used < options.timeToLive) return
      entries.delete(sql)
      if (entry === newest) newest = undefined
    }
  }

  return (sql, now) => {
    // The text of a large statement is made anew each time: to compare it with the last one costs less than its hash.
    const found = newest?.sql === sql ? newest : entries.get(sql)
    if (found === undefined || now - found.used >= options.timeToLive) {
      const made = { sql, prepared: prepare(database, sql), used: now }
      entries.delete(sql)
      entries.set(sql, made)
      newest = made
      evict(now)
      return made.prepared
    }
    found.used = now
    if (found !== newest) {
      entries.delete(sql)
      entries.set(sql, found)
      newest = found
    }
    return found.prepared
  }
}
