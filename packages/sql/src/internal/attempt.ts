/** One execution of a transaction. */
import * as Deadline from "@reprise/core/Deadline"
import * as Transience from "@reprise/core/Transience"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as SqlClient from "effect/sql/SqlClient"
import { causeOf } from "./outcome.ts"

export type AnyEffect = Effect.Effect<unknown, unknown, unknown>
export type AnyFiber = Fiber.Fiber<unknown, unknown>

export interface Settings {
  /** The statement that begins it in a dialect; `undefined` for the client's own. */
  readonly begin: ((sql: SqlClient.SqlClient) => string | undefined) | undefined
  readonly timeout: Duration.Duration | undefined
}

export const clientOf = (fiber: AnyFiber): SqlClient.SqlClient => Context.getUnsafe(fiber.context, SqlClient.SqlClient)

/** Whether a transaction of this client is open around. */
export const isInside = (fiber: AnyFiber, sql: SqlClient.SqlClient): boolean =>
  Context.getOrUndefined(fiber.context, sql.transactionService) !== undefined

// What it stopped has been rolled back.
const tooLong = (duration: Duration.Duration): Cause.TimeoutError => {
  // A deadline leaves nanoseconds, which nobody wants to read.
  const shown = Duration.millis(Math.floor(Duration.toMillis(duration)))
  return Transience.annotate(
    new Cause.TimeoutError(`A transaction took longer than ${Duration.format(shown)}`),
    { transience: "transient", applied: "no" }
  )
}

/**
 * Ends a transaction that is not at its end in time. Once COMMIT or ROLLBACK is under way nothing can call it back, so
 * what that comes to counts, late or not.
 */
const limited = (self: AnyEffect, timeout: Duration.Duration, inner: Inner): AnyEffect =>
  Effect.flatMap(Deadline.remaining, (remaining) => {
    const duration = Option.match(remaining, { onNone: () => timeout, onSome: (left) => Duration.min(left, timeout) })
    const timer = Effect.flatMap(
      Effect.sleep(duration),
      () => inner.exit !== undefined ? Effect.never : Effect.fail(tooLong(duration))
    )
    return Effect.raceFirst(self, timer)
  })

/** The statement holds for this transaction, and not for those of other clients inside. */
const begun = (sql: SqlClient.SqlClient, self: AnyEffect, statement: string | undefined): AnyEffect =>
  statement === undefined ? sql.withTransaction(self) : Effect.withFiber((fiber) => {
    const around = fiber.getRef(SqlClient.BeginTransaction)
    return sql.withTransaction(Effect.provideService(self, SqlClient.BeginTransaction, around)).pipe(
      Effect.provideService(SqlClient.BeginTransaction, statement)
    )
  })

/** How the effect inside ended; `undefined` before it has. */
interface Inner {
  exit: Exit.Exit<unknown, unknown> | undefined
}

type Restore = (self: AnyEffect) => AnyEffect

const whole = (
  sql: SqlClient.SqlClient,
  self: AnyEffect,
  begin: Settings["begin"],
  inner: Inner,
  restore: Restore
): AnyEffect => {
  const observed = Effect.onExitPrimitive(self, (exit) => {
    inner.exit = exit
    return undefined
  })
  return Effect.catchCause(
    restore(begun(sql, observed, begin?.(sql))),
    (cause) => Effect.failCause(causeOf(inner.exit, cause))
  )
}

/** A transaction, or a savepoint inside one, whose failure says what it came to. */
export const attempt = (sql: SqlClient.SqlClient, self: AnyEffect, { begin, timeout }: Settings): AnyEffect => {
  // Uninterruptible, or nobody would put right what an interruption comes to.
  if (timeout === undefined) {
    return Effect.uninterruptibleMask((restore) => whole(sql, self, begin, { exit: undefined }, restore))
  }
  return Effect.suspend(() => {
    const inner: Inner = { exit: undefined }
    const transaction = Effect.uninterruptibleMask((restore) => whole(sql, self, begin, inner, restore))
    return limited(transaction, timeout, inner)
  })
}
