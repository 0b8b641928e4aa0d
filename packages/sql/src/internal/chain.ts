/** What an error wraps: itself, its `reason`, its `cause`, theirs. */
import { isSqlError, isSqlErrorReason } from "effect/sql/SqlError"

// Deeper than any chain that people build, and an end for one that is built while it is read.
const limit = 100

const get = (self: object, key: "cause" | "reason"): unknown => {
  try {
    return (self as { readonly cause?: unknown; readonly reason?: unknown })[key] // Read, not trusted.
  } catch {
    return undefined
  }
}

const holds = (predicate: (error: object) => boolean, error: object): boolean => {
  try {
    return predicate(error)
  } catch {
    // A hostile one that throws when it is looked at is nothing that is looked for.
    return false
  }
}

/** Whether the predicate accepts an error or anything that it wraps. */
export const some = (error: unknown, predicate: (error: object) => boolean): boolean => {
  const seen = new Set<unknown>([error])
  // A set is walked in the order of insertion, what is added on the way included.
  for (const inner of seen) {
    if (typeof inner !== "object" || inner === null) continue
    if (holds(predicate, inner)) return true
    if (seen.size < limit) seen.add(get(inner, "reason")).add(get(inner, "cause"))
  }
  return false
}

/** Whether an error comes of a statement, however it was mapped since. */
export const comesOfSql = (error: unknown): boolean =>
  some(error, (inner) => isSqlError(inner) || isSqlErrorReason(inner))
