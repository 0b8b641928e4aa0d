/**
 * Why an operation was not run, or why nobody knows what came of it.
 *
 * None holds a key or a payload: both are secrets. What tells records apart in a log is `record`, the beginning of a hash
 * of scope and key, which `Idempotency.recordOf` gives for a key that you have.
 *
 * Each describes itself to `Transience` of `@reprise/core`, so that a policy knows which to try again.
 */
import { isTransient, type SelfDescription } from "@reprise/core/Transience"
import type * as Cause from "effect/Cause"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"

/** The constructor of a tagged error: named with its type because a declaration file cannot infer what a class extends. */
type Base<Tag extends string, Fields> = new(fields: Fields & { readonly message: string; readonly cause?: unknown }) =>
  & Cause.YieldableError
  & { readonly _tag: Tag }
  & Readonly<Fields>

const KeyReusedBase: Base<"KeyReused", { readonly record: string }> = Data.TaggedError("KeyReused")

/**
 * The key was used before with another payload, method or path. Terminal; nothing was run for this call.
 *
 * @category errors
 */
export class KeyReused extends KeyReusedBase {
  constructor(fields: { readonly record: string }) {
    super({ ...fields, message: `The key of record ${fields.record} was used before with another payload` })
  }

  /** Another attempt would be refused as well. */
  get "~@reprise/core/Transience"(): SelfDescription {
    return { transience: "terminal", applied: "no" }
  }
}

const InProgressBase: Base<"InProgress", { readonly record: string; readonly left: Duration.Duration }> = Data
  .TaggedError("InProgress")

/**
 * Another caller is at it. Transient, with `left` as the wait: the time until its lease ends, if it does not renew it;
 * it may be done much sooner.
 *
 * @category errors
 */
export class InProgress extends InProgressBase {
  constructor(fields: { readonly record: string; readonly left: Duration.Duration }) {
    super({
      ...fields,
      message: `Record ${fields.record} is in progress; its lease ends in ${Duration.format(fields.left)}`
    })
  }

  /** Nothing was run for this call; later there may be an outcome. */
  get "~@reprise/core/Transience"(): SelfDescription {
    return { transience: "transient", applied: "no", retryAfter: this.left }
  }
}

/**
 * Why nobody knows whether the operation took effect.
 *
 * - `Abandoned`: the holder died, was interrupted, or failed in a way that may have applied; nothing was run for this
 *   call
 * - `LeaseLost`: this call was the holder, could not renew its lease in time, and interrupted itself
 * - `Fenced`: this call was the holder and came too late: the record has been given to another
 * - `NotRecorded`: this call was the holder, its operation came to an end, and the store did not take the outcome
 * - `Unknown`: the `reconcile` effect of this call could not tell either
 *
 * @category models
 */
export type Doubt = "Abandoned" | "LeaseLost" | "Fenced" | "NotRecorded" | "Unknown"

const doubts: Readonly<Record<Doubt, string>> = {
  Abandoned: "its holder died, or its operation ended in a way that is no outcome",
  LeaseLost: "its lease could not be renewed in time, and the operation was interrupted",
  Fenced: "its holder came too late: it has been given to another",
  NotRecorded: "the operation has ended, and the store did not take its outcome",
  Unknown: "reconciling could not tell"
}

const InDoubtBase: Base<"InDoubt", { readonly record: string; readonly reason: Doubt }> = Data.TaggedError("InDoubt")

/**
 * The operation may or may not have taken effect. Terminal: running it again is only for who knows that it is harmless
 * (`onAbandoned: "rerun"`), and for who asks the outside world first (`reconcile`).
 *
 * @category errors
 */
export class InDoubt extends InDoubtBase {
  constructor(fields: { readonly record: string; readonly reason: Doubt; readonly cause?: unknown }) {
    super({
      ...fields,
      message: `It is not known whether the operation of record ${fields.record} took effect: ${doubts[fields.reason]}`
    })
  }

  /** Another attempt gets the same answer. */
  get "~@reprise/core/Transience"(): SelfDescription {
    return { transience: "terminal", applied: "maybe" }
  }
}

const PayloadRefusedBase: Base<
  "PayloadRefused",
  { readonly reason: "TooLarge" | "Unencodable"; readonly rule: string }
> = Data.TaggedError("PayloadRefused")

/**
 * The payload is larger than `maxPayloadBytes`, or holds what has no canonical encoding: a function, a symbol, a cycle, a
 * `Redacted`, an instance of a class without `toJSON`. Terminal; nothing was run. `rule` says what it must be, and never
 * what it was.
 *
 * @category errors
 */
export class PayloadRefused extends PayloadRefusedBase {
  constructor(fields: { readonly reason: "TooLarge" | "Unencodable"; readonly rule: string }) {
    super({ ...fields, message: `A payload must ${fields.rule}` })
  }

  /** Another attempt would be refused as well. */
  get "~@reprise/core/Transience"(): SelfDescription {
    return { transience: "terminal", applied: "no" }
  }
}

/**
 * What was asked of the store.
 *
 * @category models
 */
export type Operation = "claim" | "retake" | "renew" | "finish" | "read" | "sweep" | "savepoint" | "decode" | "open"

const StoreFailedBase: Base<"StoreFailed", { readonly operation: Operation }> = Data.TaggedError("StoreFailed")

/**
 * The store could not be asked, so nothing was run; or what it holds cannot be read any more (`decode`), as after a
 * change of the schema. Transient where `cause`, the store's own error, is.
 *
 * @category errors
 */
export class StoreFailed extends StoreFailedBase {
  constructor(fields: { readonly operation: Operation; readonly cause: unknown }) {
    super({ ...fields, message: `The idempotency store failed (${fields.operation})` })
  }

  /** Nothing was run for this call, or it was rolled back with the transaction around it. */
  get "~@reprise/core/Transience"(): SelfDescription {
    return { transience: isTransient(this.cause) ? "transient" : "terminal", applied: "no" }
  }
}

/**
 * All of them.
 *
 * @category models
 */
export type IdempotencyError = KeyReused | InProgress | InDoubt | PayloadRefused | StoreFailed
