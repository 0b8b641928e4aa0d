/**
 * Whole SQL transactions, tried again when the database asks for it.
 *
 * ```ts
 * import { SqlRetry } from "@reprise/sql"
 * import { SqliteClient } from "@reprise/sqlite"
 * import { Effect } from "effect"
 * import { SqlClient } from "effect/sql"
 *
 * const program = Effect.gen(function* () {
 *   const sql = yield* SqlClient.SqlClient
 *   yield* sql`CREATE TABLE accounts AS SELECT 1 AS id, 100 AS balance UNION SELECT 2, 0`
 *
 *   const transfer = Effect.gen(function* () {
 *     yield* sql`UPDATE accounts SET balance = balance - 30 WHERE id = 1`
 *     yield* sql`UPDATE accounts SET balance = balance + 30 WHERE id = 2`
 *   })
 *   yield* transfer.pipe(SqlRetry.transaction())
 *   return yield* sql<{ balance: number }>`SELECT balance FROM accounts ORDER BY id`
 * })
 *
 * const rows = await Effect.runPromise(Effect.provide(program, SqliteClient.layer({ filename: ":memory:" })))
 * console.log(rows.map(({ balance }) => balance)) // => [ 70, 30 ]
 * ```
 */
import { InvalidPolicy } from "@reprise/core/InvalidPolicy"
import * as Policy from "@reprise/core/Policy"
import * as Retry from "@reprise/core/Retry"
import type { RetryExhausted } from "@reprise/core/RetryExhausted"
import type * as Transience from "@reprise/core/Transience"
import type { TimeoutError } from "effect/Cause"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import * as attempts from "./internal/attempt.ts"
import * as classifiers from "./internal/classifier.ts"
import * as isolations from "./internal/isolation.ts"
import * as settings from "./internal/settings.ts"
import * as commits from "./internal/unknownCommit.ts"

// ---------------------------------------------------------------------------------------------------------------------
// Errors
// ---------------------------------------------------------------------------------------------------------------------

/**
 * What an error means to the transaction that failed with it.
 *
 * It is what `Transience.classify` of `@reprise/core` says of errors of the database, mapped or wrapped ones included,
 * and of errors that describe themselves. Any other transient failure, as of a call over HTTP, is unknown here: it is
 * not for the transaction to repeat.
 *
 * @category classifying
 */
export const classify: (error: unknown) => Transience.Verdict = classifiers.classifier.classify

/**
 * Whether another execution of the whole transaction is worth it, by {@link classify}: deadlocks (40P01), serialization
 * failures (40001), lock timeouts, statements that took too long or were cancelled (57014), lost and refused
 * connections, a server that shuts down (57P0x), too many connections (53300), no disk or memory left (53100, 53200).
 *
 * Use it in policies of your own, around `sql.withTransaction` for one. {@link transaction} adds it by itself.
 *
 * ```ts
 * import { SqlRetry } from "@reprise/sql"
 * import { SqlError } from "effect/sql"
 *
 * const shuttingDown = new SqlError.SqlError({ reason: new SqlError.UnknownError({ cause: { code: "57P01" } }) })
 * console.log(shuttingDown.isRetryable, SqlRetry.isTransient(shuttingDown)) // => false true
 * ```
 *
 * @category classifying
 */
export const isTransient: (error: unknown) => boolean = classifiers.classifier.isTransient

/**
 * Whether a transaction failed because the database is out of reach or out of resources, and not because another
 * transaction was in the way: it wants longer waits. Use it with `Policy.byInput`, as {@link policy} does.
 *
 * @category classifying
 */
export const isOutage: (error: unknown) => boolean = classifiers.isOutage

/**
 * Whether the connection was lost at COMMIT, so that nobody knows whether the transaction was committed; also of the
 * `RetryExhausted` that ended a run on it. Look before you repeat it.
 *
 * @category classifying
 */
export const isUnknownCommit: (error: unknown) => boolean = commits.isUnknownCommit

// ---------------------------------------------------------------------------------------------------------------------
// Transactions
// ---------------------------------------------------------------------------------------------------------------------

/**
 * What {@link transaction} does unless it is given another policy: after a conflict the waits of `Presets.database`,
 * from 10 ms up to 1 s, and after an outage from 200 ms up to 5 s, drawn from zero. Load: 8 executions at most, in at
 * most 1.27 s of waiting where all are conflicts and 16.2 s where all are outages.
 *
 * ```ts
 * import { Policy } from "@reprise/core"
 * import { SqlRetry } from "@reprise/sql"
 *
 * console.log(Policy.format(SqlRetry.policy))
 * // => by(outage: exponential(200ms) | cap(5s); otherwise: exponential(10ms) | cap(1s)) | jitter | attempts(8)
 * ```
 *
 * @category policies
 */
export const policy: Policy.Unrestricted = /* @__PURE__ */ (() =>
  Policy.byInput(
    [["outage", classifiers.isOutage, Policy.exponential("200 millis").pipe(Policy.capped("5 seconds"))]],
    Policy.exponential("10 millis").pipe(Policy.capped("1 second"))
  ).pipe(Policy.jittered, Policy.attempts(8)))()

/**
 * The isolation of a transaction, in the words of SQL. (PostgreSQL takes `read uncommitted` for `read committed`.)
 *
 * @category models
 */
export type Isolation = isolations.Isolation

/**
 * How a transaction is run.
 *
 * @category models
 */
export interface Options<in E = unknown, out R = never>
  extends Pick<Retry.Options<E, R>, "name" | "budget" | "origin" | "attemptSpans" | "onRetry" | "onEvent">
{
  /**
   * Begins each attempt with this isolation. PostgreSQL takes it; SQLite's transactions are serializable, so there it
   * changes nothing; with another database the run dies with `InvalidPolicy`. Inside another transaction the isolation
   * is that one's. Default: the client's, which is the database's.
   */
  readonly isolation?: Isolation | undefined
  /**
   * Whether a transaction that may have been committed may be executed again: true says that a second execution changes
   * nothing, as where each row has a key of its own and `ON CONFLICT DO NOTHING`. Default: false, so a connection lost
   * at COMMIT ends the run with reason `Unsafe`.
   */
  readonly idempotent?: boolean | undefined
  /**
   * The longest time from the wait for a connection to the end of the effect; then the transaction is rolled back and
   * fails with a `TimeoutError`, which {@link isTransient} accepts. COMMIT and ROLLBACK cannot be called back, and what
   * they come to counts, late or not: only the client's own settings bound a server that does not answer. Shortened to
   * what is left of a `Deadline`. Finite, at least 1 ms. Default: none.
   */
  readonly attemptTimeout?: Duration.Input | undefined
}

/**
 * What a transaction fails with inside, before anything is retried.
 *
 * @category type helpers
 */
export type Inside<E, O> = E | SqlError | Retry.TimeoutOf<O>

/**
 * The errors of {@link transaction}: those inside, as they may be terminal, and the exhaustion of what may be retried.
 *
 * @category type helpers
 */
export type Failure<E, P, O> =
  | Inside<E, O>
  | Retry.Exhausted<Retry.Meet<Exclude<Inside<E, O>, RetryExhausted>, Policy.Retried<Chosen<P>>>>

/**
 * Nothing where a policy can read the errors, and elsewhere something that no effect is, so that it does not compile.
 *
 * @category type helpers
 */
export type Judged<Errors, P> = [Blind<Errors, Chosen<P>>] extends [never] ? unknown
  : { readonly "The policy must be able to read": Errors }

/** Those of the policies that cannot read the errors. */
type Blind<Errors, P> = P extends unknown ? ([Errors] extends [Policy.Input<P>] ? never : P) : never

/**
 * Nothing where the functions of the options can read what is retried, as `Retry.Readable`.
 *
 * @category type helpers
 */
export type Readable<E, P, O> = Retry.Readable<
  Retry.Meet<Exclude<Inside<E, O>, RetryExhausted>, Policy.Retried<Chosen<P>>>,
  O
>

/** What `policy` may be left out for. */
type Choice = Policy.Any | undefined
type Chosen<P> = P extends undefined ? typeof policy : P

/**
 * Runs an effect as a transaction, and the whole of it again when {@link isTransient} accepts the failure and the
 * policy does. What runs again must be nothing but statements: a mail sent inside is sent once an attempt. Send it after
 * the transaction, by `sql.afterCommit`, or from a table that is written in it.
 *
 * - Syntax, constraints, permissions: one attempt. A failure of your own inside rolls back and leaves as it is, also
 *   where the connection died meanwhile; defects stay defects; interruption rolls back, and waits for a COMMIT that is
 *   under way
 * - A connection that dies inside is retried: the server rolled back. Where it dies at COMMIT the transaction may have
 *   been committed: `RetryExhausted` with reason `Unsafe`, for which {@link isUnknownCommit} is true. See `idempotent`
 * - Inside another transaction of the client it is a savepoint and executed once: what failed is the other one, and its
 *   failure goes there as it is
 *
 * `policy` defaults to {@link policy}, and `undefined` leaves it at that: `SqlRetry.transaction(undefined, options)`.
 * `RetryExhausted` says that it gave up.
 *
 * ```ts
 * import { Policy, Presets } from "@reprise/core"
 * import { SqlRetry } from "@reprise/sql"
 * import { SqliteClient } from "@reprise/sqlite"
 * import { Effect } from "effect"
 * import { SqlClient } from "effect/sql"
 *
 * const visit = Effect.gen(function* () {
 *   const sql = yield* SqlClient.SqlClient
 *   yield* sql`CREATE TABLE IF NOT EXISTS visits (at TEXT)`
 *   yield* sql`INSERT INTO visits VALUES ('today')`
 *   return yield* sql<{ n: number }>`SELECT count(*) AS n FROM visits`
 * }).pipe(SqlRetry.transaction(Presets.database.pipe(Policy.within("2 seconds")), {
 *   name: "visit",
 *   isolation: "serializable",
 *   attemptTimeout: "1 second"
 * }))
 *
 * const live = SqliteClient.layer({ filename: ":memory:" })
 * const [row] = await Effect.runPromise(Effect.provide(visit, live))
 * console.log(row?.n) // => 1
 * ```
 *
 * @throws `InvalidPolicy` for a policy without an end that does not say `unlimited`, and for a bad option
 * @category running
 */
export const transaction: {
  <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, Failure<E, undefined, {}>, R | SqlClient>
  <A, E, R, P extends Choice>(
    self: Effect.Effect<A, E, R> & Judged<Inside<E, {}>, P>,
    policy: P,
    options?: undefined
  ): Effect.Effect<A, Failure<E, P, {}>, R | SqlClient>
  <
    A,
    E,
    R,
    P extends Choice,
    const O extends Options<
      Retry.Meet<Exclude<E | SqlError | TimeoutError, RetryExhausted>, Policy.Retried<Chosen<P>>>,
      unknown
    >
  >(
    self: Effect.Effect<A, E, R> & Judged<Inside<E, O>, P>,
    policy: P,
    options: Retry.Only<O, Options>
  ): Effect.Effect<A, Failure<E, P, O>, R | SqlClient | Retry.NeededBy<O>>
  (): <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, Failure<E, undefined, {}>, R | SqlClient>
  <P extends Choice>(policy: P, options?: undefined): <A, E, R>(
    self: Effect.Effect<A, E, R> & Judged<Inside<E, {}>, P>
  ) => Effect.Effect<A, Failure<E, P, {}>, R | SqlClient>
  <P extends Choice, const O extends Options<unknown, unknown>>(policy: P, options: Retry.Only<O, Options>): <
    A,
    E,
    R
  >(
    self: Effect.Effect<A, E, R> & Judged<Inside<E, O>, P> & Readable<E, P, O>
  ) => Effect.Effect<A, Failure<E, P, O>, R | SqlClient | Retry.NeededBy<O>>
  <P extends Choice, const O extends Options<never, unknown>>(policy: P, options: Retry.Only<O, Options>): <
    A,
    E,
    R
  >(
    self: Effect.Effect<A, E, R> & Judged<Inside<E, O>, P> & Readable<E, P, O>
  ) => Effect.Effect<A, Failure<E, P, O>, R | SqlClient | Retry.NeededBy<O>>
} = (first?: attempts.AnyEffect | Policy.Any, second?: Policy.Any | AnyOptions, third?: AnyOptions): never => {
  // `never` fits each overload, which say which of the two forms it is. A bad policy throws before there is an effect.
  if (Effect.isEffect(first)) return runner(second as Policy.Any | undefined, third)(first) as never
  return runner(first, second as AnyOptions | undefined) as never
}

type AnyOptions = Options<never, unknown>
type Runner = (self: attempts.AnyEffect) => attempts.AnyEffect

const runner = (given: Policy.Any = policy, options: AnyOptions = {}): Runner => {
  if (!Policy.isPolicy(given)) {
    throw new InvalidPolicy({ argument: "transaction.policy", value: given, rule: "a Policy" })
  }
  const handedOn = settings.handOn(options)
  const once: attempts.Settings = {
    begin: options.isolation === undefined ? undefined : isolations.beginWith(options.isolation),
    timeout: settings.timeout(options.attemptTimeout)
  }
  const retried = Retry.run(Policy.whileInput(given, isTransient), {
    ...handedOn,
    ...(settings.flag("idempotent", options.idempotent) ? {} : { repeatable: isKnown })
  }) as Runner // The types of `transaction` have checked that policy and functions fit the effect.
  return (self) => {
    const prepare = (sql: SqlClient) => {
      const attempt = attempts.attempt(sql, self, once)
      return { sql, attempt, run: retried(attempt) }
    }
    // The same for all runs with one client, which are most.
    let prepared: ReturnType<typeof prepare> | undefined
    return Effect.withFiber((fiber) => {
      const sql = attempts.clientOf(fiber)
      if (prepared?.sql !== sql) prepared = prepare(sql)
      return attempts.isInside(fiber, sql) ? prepared.attempt : prepared.run
    })
  }
}

const isKnown = (error: unknown): boolean => !commits.isUnknownCommit(error)
