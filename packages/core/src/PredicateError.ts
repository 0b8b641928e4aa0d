/**
 * The defect of a policy whose predicate threw.
 */
import * as Predicate from "effect/Predicate"

/**
 * A policy's predicate threw, or returned something other than a boolean, while it looked at an error. A run dies
 * with it: the program is wrong, and a guess would either lose the error or retry what it must not.
 *
 * - `predicate`: the name of the predicate, as the policy's notation shows it
 * - `failure`: the error that it was asked about
 * - `cause`: what it threw
 *
 * @category errors
 */
export class PredicateError extends Error {
  readonly _tag = "PredicateError"
  readonly predicate: string
  readonly failure: unknown

  constructor(predicate: string, failure: unknown, rule: string, options?: ErrorOptions) {
    super(`The predicate "${predicate}" of a retry policy ${rule}`, options)
    this.name = "PredicateError"
    this.predicate = predicate
    this.failure = failure
  }
}

/**
 * Whether a value is a {@link PredicateError}.
 *
 * @category guards
 */
export const is = (u: unknown): u is PredicateError => Predicate.isTagged(u, "PredicateError")
