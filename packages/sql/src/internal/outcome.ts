/** What a transaction that failed came to, which `withTransaction` does not always tell. */
import * as Transience from "@reprise/core/Transience"
import * as Cause from "effect/Cause"
import type * as Exit from "effect/Exit"
import { isSqlError } from "effect/sql/SqlError"
import { isLostConnection } from "./classifier.ts"
import { unknownCommit } from "./unknownCommit.ts"

type AnyCause = Cause.Cause<unknown>
type AnyReason = Cause.Reason<unknown>

const mapReasons = (cause: AnyCause, f: (reason: AnyReason) => AnyReason): AnyCause => {
  const reasons = cause.reasons.map(f)
  return reasons.every((reason, index) => reason === cause.reasons[index]) ? cause : Cause.fromReasons(reasons)
}

const failing = (error: unknown, reason: AnyReason): AnyReason =>
  Cause.makeFailReason(error).annotate(Cause.reasonAnnotations(reason))

/** The rollback of a savepoint makes a defect of a lost connection: it is a failure, and no fault of the program. */
const undefected = (cause: AnyCause): AnyCause =>
  mapReasons(
    cause,
    (reason) => Cause.isDieReason(reason) && isLostConnection(reason.defect) ? failing(reason.defect, reason) : reason
  )

const contents = (reason: AnyReason): unknown =>
  Cause.isFailReason(reason) ? reason.error : Cause.isDieReason(reason) ? reason.defect : undefined

/**
 * The effect failed. A rollback that fails makes defects of itself and of what it rolls back. On a lost connection there
 * was nothing left to roll back, so the effect's own failure stands; any other defect of a rollback stays beside it.
 */
const rolledBack = (own: AnyCause, told: AnyCause): AnyCause => {
  const known = new Set(own.reasons.map(contents))
  const added = told.reasons.filter((reason) => Cause.isDieReason(reason) && !known.has(reason.defect))
  const faults = added.filter((reason) => !isLostConnection(contents(reason)))
  const cause = undefected(own)
  return faults.length === 0 ? cause : Cause.fromReasons([...cause.reasons, ...faults])
}

// That nothing applied only the database can say: the codes of a socket speak of the connection, over which COMMIT went.
const mayHaveApplied = (error: unknown): boolean => {
  const { applied, reader, transience } = Transience.classify(error)
  return reader === "node" || (transience === "transient" && applied !== "no")
}

/** The effect succeeded, so it is COMMIT that failed: by an answer, after which nothing applied, or without one. */
const uncommitted = (told: AnyCause): AnyCause =>
  mapReasons(told, (reason) =>
    Cause.isFailReason(reason) && isSqlError(reason.error) && mayHaveApplied(reason.error)
      ? failing(unknownCommit(reason.error), reason)
      : reason)

/**
 * The cause that counts.
 *
 * - `effect`: how the effect inside ended; `undefined` where the transaction did not begin
 * - `told`: what `withTransaction` says
 */
export const causeOf = (effect: Exit.Exit<unknown, unknown> | undefined, told: AnyCause): AnyCause => {
  if (effect === undefined) return undefected(told)
  return effect._tag === "Success" ? uncommitted(told) : rolledBack(effect.cause, told)
}
