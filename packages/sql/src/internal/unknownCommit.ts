/** A connection that was lost at COMMIT. */
import * as Transience from "@reprise/core/Transience"
import { ConnectionError, isSqlError, SqlError } from "effect/sql/SqlError"
import { wraps } from "./chain.ts"

// A string, so that two copies of the package agree.
const mark = "~@reprise/sql/UnknownCommit"

const message = "The connection was lost at COMMIT: whether the transaction was committed is not known"

/** The error for it, made of what the driver said. */
export const unknownCommit = (cause: SqlError): SqlError => {
  const error = new SqlError({
    reason: new ConnectionError({ cause, message: `${message} (${cause.message})`, operation: "commit" })
  })
  // Out of sight of logs and JSON, as what it says of itself.
  Object.defineProperty(error, mark, { value: true })
  return Transience.annotate(error, { transience: "transient", applied: "maybe" })
}

export const isUnknownCommit: (error: unknown) => boolean = /* @__PURE__ */ wraps(
  (error) => isSqlError(error) && mark in error,
  "some"
)
