/** What an error means to a transaction. */
import * as Transience from "@reprise/core/Transience"
import { isSqlError, isSqlErrorReason, type SqlError } from "effect/sql/SqlError"
import { wraps } from "./chain.ts"

/** Whether an error comes of a statement, however it was mapped since. */
const comesOfSql = /* @__PURE__ */ wraps((error) => isSqlError(error) || isSqlErrorReason(error), "every")

// A failure of something else, such as a call over HTTP, is not for the transaction to repeat, however transient it is:
// the caller did not ask for that, and knows better.
const classify = (error: unknown): Transience.Verdict => {
  const verdict = Transience.classify(error)
  const isForUs = verdict.transience !== "transient" || verdict.reader === "self" || verdict.reader === "sqlstate" ||
    comesOfSql(error)
  return isForUs
    ? verdict
    : { ...verdict, transience: "unknown", applied: "maybe", throttled: false, reader: "none", code: undefined }
}

/** Made by core, so that a run knows of its predicate what it left unclassified. */
export const classifier: Transience.Classifier = /* @__PURE__ */ Transience.make([], { classify })

// Class 40 and lock_not_available, object_in_use; the reasons of drivers without SQLSTATE.
const conflict = /^(?:40...|55P03|55006|(?:Deadlock|Serialization|LockTimeout)Error)$/
// One statement took too long.
const statementTimeout = /^(?:57014|StatementTimeoutError)$/

/** Whether the database is out of reach or out of resources, and not only in the way of another transaction. */
export const isOutage = (error: unknown): boolean => {
  // What an error says of itself comes without a code.
  const { code, transience } = classifier.classify(error)
  return transience === "transient" && code !== undefined && !conflict.test(code) && !statementTimeout.test(code)
}

// Class 08, the server's shutdowns, and the limits by which it ends a session.
const lost = /^(?:08...|57P..|25P0[34]|ConnectionError)$/

/** Whether a value is a `SqlError` that says that the connection is gone. */
export const isLostConnection = (error: unknown): error is SqlError => {
  if (!isSqlError(error)) return false
  const { code, reader, transience } = classifier.classify(error)
  return reader === "node" || (transience === "transient" && code !== undefined && lost.test(code))
}
