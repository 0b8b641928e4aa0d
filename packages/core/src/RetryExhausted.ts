/**
 * The error of a run that gave up although the failure was worth a retry.
 *
 * ```ts
 * import { Policy, Retry, RetryExhausted } from "@reprise/core"
 * import { Data, Effect } from "effect"
 *
 * class Unavailable extends Data.TaggedError("Unavailable")<{}> {}
 *
 * const program = Effect.fail(new Unavailable()).pipe(
 *   Retry.run(Policy.immediate(2), { name: "charge" }),
 *   Effect.catchIf(RetryExhausted.is, (error) => Effect.succeed(`${error.reason._tag} after ${error.attempts} attempts`))
 * )
 *
 * console.log(await Effect.runPromise(program)) // => End after 3 attempts
 * ```
 */
import type * as Cause from "effect/Cause"
import * as Data from "effect/Data"
import type * as DateTime from "effect/DateTime"
import type * as Duration from "effect/Duration"
import { NodeInspectSymbol } from "effect/Inspectable"
import type * as Schema from "effect/Schema"
import * as summary from "./internal/exhaustedSummary.ts"
import { schema as schemaOf } from "./internal/exhaustedSchema.ts"
import { isExhausted } from "./internal/layer.ts"
import type { SelfDescription } from "./Transience.ts"

/**
 * Why a run gave up.
 *
 * - `Attempts`: a limit on attempts or retries is reached
 * - `End`: a list of waits has run out
 * - `Elapsed`: the next wait would pass, or has passed, the elapsed limit
 * - `Deadline`: it would pass, or has passed, the deadline of the caller (`Deadline`)
 * - `Budget`: the client's retry budget said no (`RetryBudget`)
 * - `Unsafe`: the failed attempt may have taken effect, and the operation may not be executed twice (`repeatable`)
 * - `SwitchedOff`: an operator has switched retries off (`RetryControl`)
 * - `RetryAfterTooLong`: the failing system asked for a longer wait (`hint`) than the policy allows, or, where another run
 *   heard it (`RetryBudget.holding`), than this run has time for (`max`)
 * - `Pushback`: the failing system said not to come back
 * - `Layer`: a run inside was exhausted already, and its error was mapped to this one
 * - `Collapsed`: layers collapse (`RetryLayers.Mode`), and this run leaves its failure to the one around it, which takes
 *   it for its own
 *
 * @category models
 */
export type Reason =
  | {
    readonly _tag:
      | "Attempts"
      | "End"
      | "Elapsed"
      | "Deadline"
      | "Budget"
      | "SwitchedOff"
      | "Unsafe"
      | "Pushback"
      | "Layer"
      | "Collapsed"
  }
  | { readonly _tag: "RetryAfterTooLong"; readonly hint: Duration.Duration; readonly max: Duration.Duration }

/**
 * The tag of a {@link Reason}.
 *
 * @category models
 */
export type ReasonTag = Reason["_tag"]

/**
 * One failed attempt of a run.
 *
 * @category models
 */
export interface Failed<out E = unknown> {
  /** Number of the attempt; the first is 1. */
  readonly attempt: number
  readonly error: E
  /** From the start of attempt 1 to this failure. */
  readonly elapsed: Duration.Duration
  /** The wait that followed; `undefined` after the last failure. */
  readonly delay: Duration.Duration | undefined
}

/**
 * What a {@link RetryExhausted} carries.
 *
 * @category models
 */
export interface Fields<out E = unknown> {
  /** Name of the run, where it was given one. (An error's own `name` says what kind of error it is.) */
  readonly operation: string | undefined
  readonly reason: Reason
  /** Executions of the operation, the first one included. */
  readonly attempts: number
  /** From the start of attempt 1 to the moment of giving up. */
  readonly elapsed: Duration.Duration
  /** The waits that were slept: how many, and their sum, with what a budget held retries back for. */
  readonly waits: { readonly count: number; readonly total: Duration.Duration }
  /** The failed attempts, oldest first; of a long run the last {@link mostHistory}. */
  readonly history: ReadonlyArray<Failed<E>>
  readonly lastError: E
  /** The full cause of the last failure. */
  readonly lastCause: Cause.Cause<E>
  /** The policy in the notation. */
  readonly policy: string
  /** When the failing system asked to come back, where it did and the run could not wait for it. */
  readonly retryAt: DateTime.Utc | undefined
}

/**
 * The longest history that an error carries; older failures are dropped.
 *
 * @category models
 */
export const mostHistory = 10

const unprinted = ["elapsed", "history", "lastCause", "lastError", "waits"]

const terminal: SelfDescription = { transience: "terminal" }

// Named with its type because a declaration file cannot infer what a class extends.
const Base: new<E>(
  fields: Fields<E> & { readonly message: string; readonly cause: unknown }
) => Cause.YieldableError & { readonly _tag: "RetryExhausted" } & Readonly<Fields<E>> = class extends Data.TaggedError(
  "RetryExhausted"
)<Fields & { readonly message: string; readonly cause: unknown }> {
  /** As much as an engineer on call needs; the fields have the rest. */
  override [NodeInspectSymbol](): string {
    return summary.report(this)
  }

  override toJSON(): unknown {
    return summary.json(this)
  }
} as never // The fields are those of the type argument, which an expression cannot have.

/**
 * The run gave up although the failure was worth a retry. Its native `cause` is the last error. A run around another
 * never retries it, and never wraps it again.
 *
 * @category errors
 */
export class RetryExhausted<out E = unknown> extends Base<E> {
  /** Marks the error for every copy of this package. */
  get "~@reprise/core/RetryExhausted"(): "~@reprise/core/RetryExhausted" {
    return "~@reprise/core/RetryExhausted"
  }

  constructor(fields: Fields<E>) {
    super({ ...fields, message: summary.sentence(fields), cause: fields.lastError })
    // What an uncaught error prints stays readable: the sentence, its cause, and no frames, which would be the driver's.
    Object.defineProperty(this, "stack", { value: `${this.name}: ${this.message}`, configurable: true, writable: true })
    for (const key of unprinted) Object.defineProperty(this, key, { enumerable: false })
  }

  /** Terminal to whatever classifies it: layers do not multiply. What collapsed is what its cause is. */
  get "~@reprise/core/Transience"(): SelfDescription | undefined {
    return this.reason._tag === "Collapsed" ? undefined : terminal
  }

  /** The last waits, oldest first. */
  get delays(): ReadonlyArray<Duration.Duration> {
    return this.history.flatMap((_) => _.delay ?? [])
  }
}

/**
 * Whether a value is a {@link RetryExhausted}, also one made by another copy of this package. In generic code
 * `Effect.catchIf(RetryExhausted.is, …)` works where `catchTag` cannot.
 *
 * @category guards
 */
export const is = <U>(u: U): u is unknown extends U ? U & RetryExhausted : Extract<U, RetryExhausted> => isExhausted(u)

/**
 * A codec that takes a {@link RetryExhausted} through JSON: over a wire, into a log or a dead letter. The error of the
 * operation travels by the schema given for it; the full `Cause` does not travel, and is a plain failure afterwards.
 *
 * @category schemas
 */
export const schema = <E, Wire, RD, RE>(
  error: Schema.Codec<E, Wire, RD, RE>
): Schema.Codec<RetryExhausted<E>, Encoded<Wire>, RD, RE> => schemaOf(error, (fields) => new RetryExhausted(fields), is)

/**
 * A {@link RetryExhausted} as the codec of {@link schema} writes it; durations are milliseconds. (What `JSON.stringify`
 * and a JSON log show is a summary with `_id`, which cannot be read back.)
 *
 * @category schemas
 */
export interface Encoded<E> {
  readonly _tag: "RetryExhausted"
  readonly operation?: string | undefined
  readonly reason: { readonly _tag: ReasonTag; readonly hint?: number | undefined; readonly max?: number | undefined }
  readonly attempts: number
  readonly elapsed: number
  readonly waits: { readonly count: number; readonly total: number }
  readonly history: ReadonlyArray<{
    readonly attempt: number
    readonly error: E
    readonly elapsed: number
    readonly delay?: number | undefined
  }>
  readonly lastError: E
  readonly policy: string
  readonly retryAt?: string | undefined
}
