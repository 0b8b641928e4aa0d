import type * as Cause from "effect/Cause"
import * as Data from "effect/Data"
import { format } from "effect/Formatter"
import * as Predicate from "effect/Predicate"
import { spelled } from "../hidden.ts"

interface Fields {
  readonly place: string
  readonly value: unknown
  readonly rule: string
}

// Named with its type because a declaration file cannot infer what a class extends.
const Base: new(fields: Fields & { readonly message: string }) =>
  & Cause.YieldableError
  & { readonly _tag: "InvalidControl" }
  & Readonly<Fields> = Data.TaggedError("InvalidControl")

const longest = 40

/** A value in a message. Of a long text and of what holds other values no more is shown than tells it from others. */
const show = (value: unknown): string => {
  if (Array.isArray(value)) return "a list"
  if (typeof value === "object" && value !== null) return "an object"
  const text = format(value)
  return text.length > longest ? `${text.slice(0, longest)}…` : text
}

/**
 * Says that a state of the switch breaks a rule. The message has the faulty place alone, and nothing else of the text:
 * it goes to logs.
 *
 * - `place`: where, as in `operations["pay"].ratio`
 * - `value`: what stands there
 * - `rule`: what it must be
 *
 * @category errors
 */
export class InvalidControl extends Base {
  constructor(fields: Fields) {
    super({ ...fields, message: spelled(`${fields.place} must be ${fields.rule}, got ${show(fields.value)}`) })
  }
}

/**
 * Whether a value is an {@link InvalidControl}.
 *
 * @category guards
 */
export const isInvalidControl = (u: unknown): u is InvalidControl => Predicate.isTagged(u, "InvalidControl")
