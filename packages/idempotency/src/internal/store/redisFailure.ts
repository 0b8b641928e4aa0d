/** Which failures of Redis pass. */
import * as Transience from "@reprise/core/Transience"
import type { RedisError } from "effect/persistence/Redis"

/** What a server says that is starting, busy with a script, or in the middle of a failover. */
const passing: ReadonlySet<string> = new Set([
  "BUSY",
  "CLUSTERDOWN",
  "LOADING",
  "MASTERDOWN",
  "MOVED",
  "READONLY",
  "TRYAGAIN"
])

/**
 * Says of an error whether it passes. What the server has answered begins with a word in capitals; all else is the
 * client's own, which has lost its connection, or has none.
 */
export const described = (error: RedisError): RedisError => {
  const said = error.cause instanceof Error ? /^([A-Z]{2,}) /.exec(error.cause.message)?.[1] : undefined
  return Transience.annotate(
    error,
    said === undefined || passing.has(said) ? { transience: "transient", applied: "maybe" } : "terminal"
  )
}
