/**
 * Whether an error is worth another attempt, and whether the failed one may have taken effect.
 *
 * Decided by class, tag, code or status, never by matching a message; of a reply of Redis the word that it begins with,
 * such as `LOADING`, is the code. An error may describe itself ({@link TypeId}, {@link annotate}); the built-in readers
 * know Effect's own errors, Redis, Node.js, SQLSTATE, HTTP and gRPC; {@link make} puts rules of your own before them.
 */
import type * as DateTime from "effect/DateTime"
import type * as Duration from "effect/Duration"
import { dual } from "effect/Function"
import * as classifiers from "./internal/transience/classifier.ts"
import * as rules from "./internal/transience/rule.ts"
import * as selfDescription from "./internal/transience/selfDescription.ts"

// ---------------------------------------------------------------------------------------------------------------------
// Verdicts
// ---------------------------------------------------------------------------------------------------------------------

/**
 * What a retry would make of an error: worth another attempt, never worth one, or nothing classified it.
 *
 * An unknown error is treated as terminal, and can be reported apart from one.
 *
 * @category models
 */
export type Transience = "transient" | "terminal" | "unknown"

/**
 * Whether the failed attempt may have taken effect. After `"maybe"` only work that is idempotent, deduplicated by a key
 * or rolled back as a transaction may be repeated.
 *
 * @category models
 */
export type Applied = "no" | "maybe" | "yes"

/**
 * What the failing system said of the wait: so long from now, until a moment, or not at all.
 *
 * `millis` is never negative, and `Infinity` when it was longer than 1e15 milliseconds; `epochMillis` is kept as it was
 * given, past or future.
 *
 * @category models
 */
export type Hint =
  | { readonly _tag: "After"; readonly millis: number }
  | { readonly _tag: "At"; readonly epochMillis: number }
  | { readonly _tag: "DoNotRetry" }

/**
 * A wait as an error may carry it in `retryAfter`: a duration from now (a number is milliseconds, as everywhere in
 * Effect), a moment, or the wish not to be tried again.
 *
 * Zero, negative or past means no wait. A value that cannot be read (`NaN`, another string, another object) counts as
 * absent.
 *
 * @category models
 */
export type RetryAfter =
  | Duration.Duration
  | Extract<Duration.Input, number | bigint | string>
  | Date
  | DateTime.DateTime
  | "do not retry"

/**
 * Who decided: the error itself, a rule of {@link make}, one of the built-in readers, or none.
 *
 * @category models
 */
export type Reader = "self" | "rule" | "effect" | "redis" | "node" | "sqlstate" | "http" | "grpc" | "none"

/**
 * What is known of an error. Use it to decide on a retry, and to log why.
 *
 * @category models
 */
export interface Verdict {
  /** Whether another attempt is worth it. */
  readonly transience: Transience
  /** Whether the failed attempt may have taken effect; `"maybe"` where nothing is known. */
  readonly applied: Applied
  /** The failing system sheds load: back off more slowly. */
  readonly throttled: boolean
  /** The first readable hint of the error and what it wraps. */
  readonly hint: Hint | undefined
  /** Who decided. */
  readonly reader: Reader
  /** The code, status, tag, name or class by which it was decided. */
  readonly code: string | undefined
}

// ---------------------------------------------------------------------------------------------------------------------
// Errors that describe themselves
// ---------------------------------------------------------------------------------------------------------------------

/**
 * The key under which an error describes itself: a string, so that two copies of the package agree.
 *
 * Use it in a class of your own, as a getter (it stays out of logs).
 *
 * ```ts
 * import { Transience } from "@reprise/core"
 * import * as Data from "effect/Data"
 *
 * class QueueFull extends Data.TaggedError("QueueFull")<{ readonly queue: string }> {
 *   get [Transience.TypeId](): Transience.SelfDescription {
 *     return { transience: "transient", applied: "no", throttled: true, retryAfter: "2 seconds" }
 *   }
 * }
 *
 * console.log(Transience.isTransient(new QueueFull({ queue: "mail" }))) // => true
 * ```
 *
 * @category self-description
 */
export const TypeId: "~@reprise/core/Transience" = selfDescription.TypeId

/**
 * What an error says of itself. `applied` defaults to `"maybe"`, `throttled` to `false`.
 *
 * @category self-description
 */
export interface SelfDescription {
  readonly transience: "transient" | "terminal"
  readonly applied?: Applied | undefined
  readonly throttled?: boolean | undefined
  readonly retryAfter?: RetryAfter | undefined
}

/**
 * An error that describes itself.
 *
 * @category self-description
 */
export interface SelfDescribing {
  readonly [TypeId]: SelfDescription
}

/**
 * A verdict as {@link annotate} and the rules take it: one word, or a description.
 *
 * @category self-description
 */
export type Description = "transient" | "terminal" | SelfDescription

/**
 * Attaches a description to an error instance, keeping its class. Use it where an error is caught that knows more than
 * its class says.
 *
 * The description is not enumerable: logs and JSON stay as they are. A second one replaces the first. An error that is
 * frozen is returned as it is, without it.
 *
 * ```ts
 * import { Transience } from "@reprise/core"
 *
 * const error = Transience.annotate(new Error("busy"), { transience: "transient", applied: "no" })
 * console.log(Transience.isTransient(error), Transience.notApplied(error)) // => true true
 * ```
 *
 * @category self-description
 */
export const annotate: {
  (description: Description): <E extends object>(error: E) => E & SelfDescribing
  <E extends object>(error: E, description: Description): E & SelfDescribing
} = /* @__PURE__ */ dual(
  2,
  <E extends object>(error: E, description: Description): E & SelfDescribing =>
    selfDescription.attach(error, rules.toDescription(description))
)

// ---------------------------------------------------------------------------------------------------------------------
// Rules
// ---------------------------------------------------------------------------------------------------------------------

/**
 * A verdict of your own on some errors, for {@link make}.
 *
 * @category rules
 */
export interface Rule {
  /** The code, tag or name by which the rule knows an error; undefined when it does not. */
  readonly match: (error: unknown) => string | undefined
  readonly description: SelfDescription
}

/**
 * A rule for the instances of a class.
 *
 * @category rules
 */
export const whenClass: (
  constructor: abstract new(...args: never) => unknown,
  description: Description
) => Rule = rules.whenClass

/**
 * A rule for errors with one of these `_tag`s.
 *
 * @category rules
 */
export const whenTag: (tag: string | ReadonlyArray<string>, description: Description) => Rule = rules.whenTag

/**
 * A rule for errors with one of these values of `code`, a string or a number.
 *
 * @category rules
 */
export const whenCode: (
  code: string | number | ReadonlyArray<string | number>,
  description: Description
) => Rule = rules.whenCode

/**
 * A rule for errors with one of these HTTP statuses, in `status` or `statusCode`, of their own or of their `response`.
 *
 * @category rules
 */
export const whenStatus: (status: number | ReadonlyArray<number>, description: Description) => Rule = rules.whenStatus

/**
 * A rule for errors with one of these SQLSTATEs (five characters) in `code`, also of the driver's error in a
 * `SqlError`.
 *
 * ```ts
 * import { Transience } from "@reprise/core"
 *
 * const classifier = Transience.make([Transience.whenSqlState("25006", { transience: "transient", applied: "no" })])
 * console.log(classifier.isTransient({ cause: { code: "25006" } })) // => true
 * ```
 *
 * @category rules
 */
export const whenSqlState: (
  state: string | ReadonlyArray<string>,
  description: Description
) => Rule = rules.whenCode

/**
 * A rule for gRPC errors (a numeric `code`, with `details` or `metadata`) with one of these statuses, 0 to 16.
 *
 * @category rules
 */
export const whenGrpcStatus: (
  status: number | ReadonlyArray<number>,
  description: Description
) => Rule = rules.whenGrpcStatus

/**
 * A rule for errors that a predicate or a refinement accepts. It is asked about every error of a chain; one that throws
 * counts as false.
 *
 * @category rules
 */
export const when: (predicate: (error: unknown) => boolean, description: Description) => Rule = rules.when

// ---------------------------------------------------------------------------------------------------------------------
// Classifiers
// ---------------------------------------------------------------------------------------------------------------------

/**
 * A way to classify errors, with the predicates that policies take. The functions need no `this`.
 *
 * @category classifiers
 */
export interface Classifier {
  readonly classify: (error: unknown) => Verdict
  readonly isTransient: (error: unknown) => boolean
  readonly isTerminal: (error: unknown) => boolean
  readonly isUnknown: (error: unknown) => boolean
  readonly isThrottled: (error: unknown) => boolean
  readonly notApplied: (error: unknown) => boolean
}

/**
 * The built-in readers, in this order: the error's own description, Effect's errors and its `RedisError` by what Redis
 * or the client (node-redis) calls it, Node.js and SQLSTATE and gRPC by `code`, `AbortError`, `TimeoutError` and
 * `HTTPParserError` by name, HTTP by status.
 *
 * @category classifiers
 */
export const standard: Classifier = classifiers.standard

/**
 * A classifier that asks rules of your own first, in their order, and `otherwise` (default {@link standard}) after
 * them.
 *
 * The rules are asked about the error and all that it wraps, outermost first, before `otherwise` sees it. So they also
 * overrule what an error says of itself.
 *
 * A policy knows a classifier only by the predicate that it is given, so the `retryAfter` of a rule is in the verdict
 * and is not waited for. An error that is to be waited for carries it: see `Policy.honoringRetryAfter`.
 *
 * ```ts
 * import { Transience } from "@reprise/core"
 *
 * const classifier = Transience.make([
 *   Transience.whenTag("Conflict", "transient"),
 *   Transience.whenStatus(409, { transience: "transient", applied: "no" })
 * ])
 * console.log(classifier.classify({ status: 409 }).reader) // => rule
 * console.log(classifier.isTransient({ status: 503 })) // => true
 * ```
 *
 * @category classifiers
 */
export const make: (rules: ReadonlyArray<Rule>, otherwise?: Pick<Classifier, "classify">) => Classifier =
  classifiers.make

/**
 * The verdict of the {@link standard} classifier on an error. Never throws; reads, and keeps, nothing but properties.
 *
 * Walks what the error wraps (`reason`, `cause`, the members of an `AggregateError`), outermost first, at most 100
 * levels. The first reader that knows something decides; an error that nobody knows is unknown, and maybe applied.
 *
 * ```ts
 * import { Transience } from "@reprise/core"
 *
 * const error = new TypeError("fetch failed", { cause: { code: "ECONNREFUSED", syscall: "connect" } })
 * const { transience, applied, reader, code } = Transience.classify(error)
 * console.log(transience, applied, reader, code) // => transient no node ECONNREFUSED
 * ```
 *
 * @category classifying
 */
export const classify: (error: unknown) => Verdict = classifiers.standard.classify

/**
 * Whether an error is worth another attempt, by the {@link standard} classifier. Use it with `Policy.whileInput`.
 *
 * @category classifying
 */
export const isTransient: (error: unknown) => boolean = classifiers.standard.isTransient

/**
 * Whether an error is known to be never worth another attempt, by the {@link standard} classifier.
 *
 * @category classifying
 */
export const isTerminal: (error: unknown) => boolean = classifiers.standard.isTerminal

/**
 * Whether nothing classified an error, by the {@link standard} classifier. Use it to report what a rule is missing for.
 *
 * @category classifying
 */
export const isUnknown: (error: unknown) => boolean = classifiers.standard.isUnknown

/**
 * Whether the failing system sheds load, by the {@link standard} classifier. Use it with `Policy.byInput` to back off
 * more slowly.
 *
 * @category classifying
 */
export const isThrottled: (error: unknown) => boolean = classifiers.standard.isThrottled

/**
 * Whether the failed attempt is known not to have taken effect, by the {@link standard} classifier. Use it before
 * repeating work that is not idempotent.
 *
 * @category classifying
 */
export const notApplied: (error: unknown) => boolean = classifiers.standard.notApplied
