/**
 * Operations that run once for each key.
 *
 * The first caller with a key runs the operation. Later ones with the same key and payload get the outcome that was
 * recorded, success or typed failure.
 *
 * ```ts
 * import { Idempotency, IdempotencyStore } from "@reprise/idempotency"
 * import { Effect, Schema } from "effect"
 *
 * let charges = 0
 * const charge = (key: string, amount: number) =>
 *   Effect.sync(() => `charge ${++charges} of ${amount}`).pipe(
 *     Idempotency.once({ key, scope: "tenant-7", payload: { amount }, success: Schema.String })
 *   )
 *
 * const program = Effect.gen(function* () {
 *   const first = yield* charge("order-1017", 20)
 *   const again = yield* charge("order-1017", 20)
 *   const other = yield* Effect.flip(charge("order-1017", 30))
 *   return [first, again, other._tag]
 * })
 *
 * console.log(await Effect.runPromise(Effect.provide(program, IdempotencyStore.layerMemory())))
 * // => [ 'charge 1 of 20', 'charge 1 of 20', 'KeyReused' ]
 * ```
 *
 * What is promised depends on where it runs:
 *
 * - **Inside a transaction of the store's own database** (`once` within `sql.withTransaction`, of the client that
 *   `IdempotencyStore.layerSql` was given): the record and what the operation writes there are committed together.
 *   Exactly once.
 * - **Anywhere else**: at most once, and a typed answer where that is not enough. A holder that died, and an operation
 *   that may have taken effect although it has no outcome (a timeout after sending, a defect, an interruption), leave the
 *   record in doubt, and callers get `InDoubt`. It is run again only where you say that it is harmless
 *   (`onAbandoned: "rerun"`), or after your `reconcile` effect has asked the outside world.
 */
import type { InvalidIdempotencyKey } from "@reprise/core/IdempotencyKey"
import type * as Transience from "@reprise/core/Transience"
import type * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Function from "effect/Function"
import * as Layer from "effect/Layer"
import type * as Schema from "effect/Schema"
import type { IdempotencyError, StoreFailed } from "./IdempotencyError.ts"
import { IdempotencyStore } from "./IdempotencyStore.ts"
import * as check from "./internal/check.ts"
import * as claims from "./internal/claim.ts"
import * as internal from "./internal/once.ts"
import * as settings from "./internal/settings.ts"
import * as sweeper from "./internal/sweeper.ts"

// ---------------------------------------------------------------------------------------------------------------------
// Options
// ---------------------------------------------------------------------------------------------------------------------

/**
 * How operations are run that belong together: all but the key and the payload of one call.
 *
 * @category models
 */
export interface GeneralOptions<A, F = never, E2 = never, R = never> {
  /** The schema of a success, by which it is recorded as JSON. */
  readonly success: Schema.ConstraintCodec<A, unknown, R, R>
  /**
   * The schema of the failures that are an outcome, as "card declined": they are recorded, and later callers get them.
   * Default: none is.
   *
   * Whatever its schema, a transient failure (`transience`) is no outcome, as another attempt may end in another way: it
   * frees the key where it is known that nothing took effect, and leaves it in doubt otherwise. So does a failure that
   * the schema does not know.
   */
  readonly failure?: Schema.ConstraintCodec<F, unknown, R, R> | undefined
  /**
   * For how long a claim holds by the clock of the store. It is renewed after a third of that; where that has not
   * succeeded after nine tenths, the operation is interrupted. At least 100 ms and at most 100 years. Default: 30 seconds.
   */
  readonly lease?: Duration.Input | undefined
  /**
   * For how long an outcome, and a doubt, is kept. After that the key is as new: the operation runs again. Longer than
   * clients go on with one key. At least 1 ms and at most 100 years. Default: 24 hours.
   */
  readonly retention?: Duration.Input | undefined
  /**
   * For how long to wait for the outcome of another caller, at most 100 years. Default: not at all, which is `InProgress`.
   */
  readonly wait?: Duration.Input | undefined
  /**
   * What to do where the record is in doubt. `"rerun"` says that a second execution of the operation is harmless.
   * Default: `"doubt"`, to fail with `InDoubt`.
   */
  readonly onAbandoned?: "doubt" | "rerun" | undefined
  /**
   * Asks the outside world what came of an operation that is in doubt; runs under a claim of its own. Takes precedence
   * over `onAbandoned`. A failure leaves the doubt, and is what the caller gets.
   */
  readonly reconcile?: Effect.Effect<Reconciled<NoInfer<A>, NoInfer<F>>, E2, R> | undefined
  /** What knows whether a failure is transient, and whether it took effect. Default: `Transience.standard`. */
  readonly transience?: Transience.Classifier | undefined
  /**
   * The most characters of texts, digits of a `bigint`, bytes of binary data and elements. At least 1. Default:
   * 1,048,576.
   */
  readonly maxPayloadBytes?: number | undefined
}

/**
 * How one operation is run.
 *
 * @category models
 */
export interface Options<A, F = never, E2 = never, R = never> extends GeneralOptions<A, F, E2, R> {
  /** What the caller sent: 1 to 255 characters of printable ASCII, without a space at either end. A secret. */
  readonly key: string
  /** Whose key it is, as the tenant and the operation: keys of two scopes never meet. 1 to 255 characters. */
  readonly scope: string
  /**
   * What the caller wants; the same key with another payload is refused. Plain data, or what has a `toJSON`; not a
   * `Redacted`, which hides what would be compared.
   */
  readonly payload: unknown
  /** Part of the fingerprint, as it is. Default: none. */
  readonly method?: string | undefined
  /** Part of the fingerprint, as it is. Default: none. */
  readonly path?: string | undefined
}

/**
 * What a call fails with besides the failures of the operation.
 *
 * @category models
 */
export type Failure = IdempotencyError | InvalidIdempotencyKey

// ---------------------------------------------------------------------------------------------------------------------
// Running
// ---------------------------------------------------------------------------------------------------------------------

/**
 * An outcome, and where it comes from.
 *
 * @category models
 */
export interface Answer<out A, out E> {
  readonly exit: Exit.Exit<A, E>
  /** Whether it was recorded by an earlier call. */
  readonly replayed: boolean
  /** Whether later calls get it. */
  readonly recorded: boolean
  /** How errors and logs name the record. */
  readonly record: string
}

/**
 * As {@link once}, for who has to tell a replayed outcome from a new one: a server that marks replays.
 *
 * @throws `InvalidPolicy`
 * @category running
 */
export const answer: {
  <A, F = never, E2 = never, RO = never>(options: Options<A, F, E2, RO>): <E, R>(
    operation: Effect.Effect<A, E, R>
  ) => Effect.Effect<Answer<A, E | F | E2>, Failure, R | RO | IdempotencyStore>
  <A, E, R, F = never, E2 = never, RO = never>(
    options: Options<A, F, E2, RO>,
    operation: Effect.Effect<A, E, R>
  ): Effect.Effect<Answer<A, E | F | E2>, Failure, R | RO | IdempotencyStore>
} = (options: settings.AnyOptions, operation?: internal.AnyEffect): never => {
  const checked = settings.settingsOf("answer", options)
  // `never` fits each overload; inside, outcomes are what the schemas say.
  return (operation === undefined
    ? (operation: internal.AnyEffect) => internal.answer(checked, operation)
    : internal.answer(checked, operation)) as never
}

const flat = (options: settings.Settings, operation: internal.AnyEffect): internal.AnyEffect =>
  Effect.flatMap(internal.answer(options, operation), ({ exit }) => exit)

/**
 * Runs an operation once for each key of a scope.
 *
 * | the record                                | what the caller gets                                                   |
 * | ----------------------------------------- | ---------------------------------------------------------------------- |
 * | is not there, is free, or is past `retention` | the outcome of its own run                                         |
 * | has another payload, method or path       | `KeyReused`                                                            |
 * | has an outcome                            | that                                                                   |
 * | is held                                   | `InProgress`; with `wait`, the outcome of the holder                   |
 * | is in doubt, or its lease has ended       | `InDoubt`; with `reconcile` what that finds, with `"rerun"` a new run  |
 *
 * Errors, besides those: `InvalidIdempotencyKey`; `PayloadRefused`; `StoreFailed` where the store cannot be asked, and then
 * nothing was run. The first caller gets the failures, defects and interruptions of its operation as they are; where its
 * success cannot be recorded, it gets `InDoubt`.
 *
 * The holder's operation runs in a fiber of its own. When the lease can no longer be renewed it is interrupted, so an
 * operation that is uninterruptible for longer than a lease may run beside the next holder's; its outcome is not
 * recorded then.
 *
 * @throws `InvalidPolicy`
 * @category running
 */
export const once: {
  <A, F = never, E2 = never, RO = never>(options: Options<A, F, E2, RO>): <E, R>(
    operation: Effect.Effect<A, E, R>
  ) => Effect.Effect<A, E | F | E2 | Failure, R | RO | IdempotencyStore>
  <A, E, R, F = never, E2 = never, RO = never>(
    options: Options<A, F, E2, RO>,
    operation: Effect.Effect<A, E, R>
  ): Effect.Effect<A, E | F | E2 | Failure, R | RO | IdempotencyStore>
} = (options: settings.AnyOptions, operation?: internal.AnyEffect): never => {
  const checked = settings.settingsOf("once", options)
  // As above.
  return (operation === undefined
    ? (operation: internal.AnyEffect) => flat(checked, operation)
    : flat(checked, operation)) as never
}

/**
 * How messages are handled.
 *
 * @category models
 */
export interface ConsumerOptions<M, A, F = never, E2 = never, R = never> extends GeneralOptions<A, F, E2, R> {
  /** Whose messages they are, as the name of the queue and the handler. 1 to 255 characters. */
  readonly scope: string | ((message: M) => string)
  /** What is the same each time that the message is delivered, and in no other message: its id. */
  readonly key: (message: M) => string
  /** What must be the same each time. Default: nothing is compared. */
  readonly payload?: ((message: M) => unknown) | undefined
}

/**
 * A handler of messages that are delivered at least once, which handles each once. It fails where a message must not be
 * acknowledged: with `InProgress` (transient) where another consumer is at it, and as {@link once} does.
 *
 * ```ts
 * import { Idempotency, IdempotencyStore } from "@reprise/idempotency"
 * import { Effect, Schema } from "effect"
 *
 * const sent: Array<string> = []
 * const handle = Idempotency.consumer(
 *   { scope: "mail/welcome", key: (message: { id: string; to: string }) => message.id, success: Schema.Void },
 *   (message) => Effect.sync(() => void sent.push(message.to))
 * )
 *
 * const program = Effect.gen(function* () {
 *   yield* handle({ id: "m-1", to: "ada" })
 *   yield* handle({ id: "m-1", to: "ada" })
 *   yield* handle({ id: "m-2", to: "grace" })
 * })
 *
 * await Effect.runPromise(Effect.provide(program, IdempotencyStore.layerMemory()))
 * console.log(sent) // => [ 'ada', 'grace' ]
 * ```
 *
 * A `scope` that depends on the message and breaks the rule for scopes is a defect of the handler's run.
 *
 * @throws `InvalidPolicy`
 * @category running
 */
export const consumer = <M, A, E, R, F = never, E2 = never, RO = never>(
  options: ConsumerOptions<M, A, F, E2, RO>,
  handler: (message: M) => Effect.Effect<A, E, R>
): (message: M) => Effect.Effect<A, E | F | E2 | Failure, R | RO | IdempotencyStore> => {
  const general = settings.general("consumer", options, ["scope", "key", "payload"])
  const { key, payload, scope } = options
  const rule = "a function of the message"
  check.holds("consumer.key", key, typeof key === "function", rule)
  check.holds("consumer.payload", payload, payload === undefined || typeof payload === "function", rule)
  const scopeOf = typeof scope === "function" ? scope : Function.constant(settings.scope("consumer", scope))
  return (message) =>
    Effect.suspend(() => {
      const call = settings.withCall(general, {
        scope: scopeOf(message),
        key: key(message),
        payload: payload?.(message)
      })
      // As above.
      return flat(call, Effect.suspend(() => handler(message))) as never
    })
}

// ---------------------------------------------------------------------------------------------------------------------
// Reconciling
// ---------------------------------------------------------------------------------------------------------------------

/**
 * What the outside world says of an operation that is in doubt.
 *
 * @category models
 */
export type Reconciled<A, F = never> =
  | { readonly _tag: "Applied"; readonly exit: Exit.Exit<A, F> }
  | { readonly _tag: "NotApplied" }
  | { readonly _tag: "Unknown" }

/**
 * It took effect, and this was its success, which is recorded now.
 *
 * @category reconciling
 */
export const succeeded = <A>(value: A): Reconciled<A> => ({ _tag: "Applied", exit: Exit.succeed(value) })

/**
 * It came to this failure, which is recorded now.
 *
 * @category reconciling
 */
export const failed = <F>(error: F): Reconciled<never, F> => ({ _tag: "Applied", exit: Exit.fail(error) })

/**
 * It did not take effect, and will not: the caller that asked runs it now. Say so only where what was sent cannot arrive
 * any more.
 *
 * @category reconciling
 */
export const notApplied: Reconciled<never> = { _tag: "NotApplied" }

/**
 * It cannot be told: the record stays in doubt.
 *
 * @category reconciling
 */
export const unknown: Reconciled<never> = { _tag: "Unknown" }

// ---------------------------------------------------------------------------------------------------------------------
// The claim
// ---------------------------------------------------------------------------------------------------------------------

/**
 * The claim under which an operation runs: how errors name its record, and its number, which grows with each claim of the
 * record. A system that remembers the highest number that it has seen can refuse a holder that comes too late.
 *
 * @category models
 */
export type Claim = claims.Claim

/**
 * The claim of the operation that runs; `undefined` outside of one.
 *
 * @category references
 */
export const CurrentClaim: Context.Reference<Claim | undefined> = claims.CurrentClaim

/**
 * How errors and logs name the record of a key: the first 12 digits of a hash. Use it to find what a customer asks about.
 *
 * ```ts
 * import { Idempotency, IdempotencyStore } from "@reprise/idempotency"
 * import { Effect } from "effect"
 *
 * const name = Idempotency.recordOf({ scope: "tenant-7", key: "order-1017" })
 * console.log(await Effect.runPromise(Effect.provide(name, IdempotencyStore.layerMemory()))) // => 969be1f6662b
 * ```
 *
 * @category references
 */
export const recordOf = (
  named: { readonly scope: string; readonly key: string }
): Effect.Effect<string, never, IdempotencyStore> =>
  Effect.flatMap(IdempotencyStore, (store) => Effect.map(store.identify(named.scope, named.key), internal.recordName))

// ---------------------------------------------------------------------------------------------------------------------
// Sweeping
// ---------------------------------------------------------------------------------------------------------------------

/**
 * How records are removed.
 *
 * @category models
 */
export interface SweepOptions {
  /** The most records that are removed at a time. An integer of at least 1. Default: 1,000. */
  readonly batch?: number | undefined
}

/**
 * Removes the records that are past their retention, in batches, and says how many there were. Whether it runs changes no
 * answer, only the space that records take. Redis does it by itself.
 *
 * @throws `InvalidPolicy`
 * @category sweeping
 */
export const sweep = (options: SweepOptions = {}): Effect.Effect<number, StoreFailed, IdempotencyStore> => {
  check.options("sweep", options, ["batch"])
  return sweeper.sweep(check.integer("sweep.batch", options.batch ?? 1_000, 1))
}

/**
 * Sweeps in the background, for as long as the layer lives. Where the store fails, it says so in the log, and tries again
 * the next time.
 *
 * - `every`: from one sweep to the next. At least 1 second. Default: 10 minutes
 *
 * @throws `InvalidPolicy`
 * @category sweeping
 */
export const layerSweeper = (
  options: SweepOptions & { readonly every?: Duration.Input | undefined } = {}
): Layer.Layer<never, never, IdempotencyStore> => {
  check.options("layerSweeper", options, ["batch", "every"])
  const batch = check.integer("layerSweeper.batch", options.batch ?? 1_000, 1)
  return Layer.effectDiscard(
    Effect.forkScoped(sweeper.forever(batch, check.millis("layerSweeper.every", options.every ?? 600_000, 1_000)))
  )
}
