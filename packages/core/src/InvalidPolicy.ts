/**
 * The error for a policy that cannot be built.
 */
import type * as Cause from "effect/Cause"
import * as Data from "effect/Data"
import { format } from "effect/Formatter"
import * as Predicate from "effect/Predicate"

interface Fields {
  readonly argument: string
  readonly value: unknown
  readonly rule: string
}

// Named with its type because a declaration file cannot infer what a class extends.
const Base: new(fields: Fields & { readonly message: string }) =>
  & Cause.YieldableError
  & { readonly _tag: "InvalidPolicy" }
  & Readonly<Fields> = Data.TaggedError("InvalidPolicy")

/** A value in a message: in full where it is short. */
const show = (value: unknown): string => {
  const text = format(value)
  return text.length > 80 ? `${text.slice(0, 80)}…` : text
}

/**
 * Says that an argument of a policy breaks a rule. Constructors and combinators throw it where the policy is built,
 * before any call runs, because a wrong literal is a defect of the program and not of the call.
 *
 * - `argument`: which argument, as `constructor.name`
 * - `value`: what was given
 * - `rule`: what it must be
 *
 * ```ts
 * import { InvalidPolicy, Policy } from "@reprise/core"
 *
 * try {
 *   Policy.attempts(Policy.constant("1 second"), 0)
 * } catch (error) {
 *   console.log(String(error)) // => InvalidPolicy: attempts.n must be an integer of at least 1, got 0
 *   console.log(InvalidPolicy.is(error)) // => true
 * }
 * ```
 *
 * @category errors
 */
export class InvalidPolicy extends Base {
  constructor(fields: Fields) {
    super({ ...fields, message: `${fields.argument} must be ${fields.rule}, got ${show(fields.value)}` })
  }
}

/**
 * Whether a value is an {@link InvalidPolicy}.
 *
 * @category guards
 */
export const is = (u: unknown): u is InvalidPolicy => Predicate.isTagged(u, "InvalidPolicy")
