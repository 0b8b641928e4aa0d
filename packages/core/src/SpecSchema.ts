/**
 * A policy's spec as a Schema, and as a JSON Schema.
 *
 * Use it where specs travel as data: `Policy.toJSON` writes one, an editor completes one. The same JSON Schema lies in
 * the package as `@reprise/core/spec.schema.json`. A module of its own, so that a program that reads no specs does not
 * carry it.
 *
 * ```ts
 * import { Policy, SpecSchema } from "@reprise/core"
 * import { Schema } from "effect"
 *
 * const read = Schema.decodeUnknownSync(SpecSchema.schema)
 * const spec = read(JSON.parse(JSON.stringify(Policy.standard.spec)))
 * console.log(spec._tag) // => Attempts
 * ```
 *
 * It knows the bounds of each number (R1), and not those between two of them, such as `min` and `max` of a jitter.
 */
import * as JsonSchema from "effect/JsonSchema"
import * as Schema from "effect/Schema"
import type * as Spec from "./Spec.ts"

type Member<Tag extends Spec.Spec["_tag"]> = Extract<Spec.Spec, { readonly _tag: Tag }>

/** Every case of the union, so that the compiler asks for a new one. */
type Members = { readonly [Tag in Spec.Spec["_tag"]]: Schema.Codec<Member<Tag>> }

const make = (): Schema.Codec<Spec.Spec> => {
  const number = (least: number, description: string) =>
    Schema.Finite.check(Schema.isGreaterThanOrEqualTo(least)).annotate({ description })
  const integer = (least: number, description: string) =>
    Schema.Int.check(Schema.isGreaterThanOrEqualTo(least)).annotate({ description })
  const millis = (least: number) => number(least, "milliseconds")
  const name = Schema.NonEmptyString
  const self = Schema.suspend((): Schema.Codec<Spec.Spec> => schema)
  const member = <const Tag extends Spec.Spec["_tag"], const Fields extends Schema.Struct.Fields>(
    tag: Tag,
    description: string,
    fields: Fields
  ) => Schema.TaggedStruct(tag, fields).annotate({ identifier: tag, description })

  const members: Members = {
    Exponential: member("Exponential", "Waits that grow by a factor", {
      base: millis(1),
      factor: number(1, "what each wait is to the one before")
    }),
    Linear: member("Linear", "Waits that grow by a fixed step", { base: millis(1), increment: millis(0) }),
    Fibonacci: member("Fibonacci", "Waits that grow as the Fibonacci numbers", { base: millis(1) }),
    Polynomial: member("Polynomial", "Waits that grow as a power of the retry's number", {
      base: millis(1),
      exponent: number(0, "the power"),
      start: integer(0, "what the first retry counts as"),
      offset: millis(0),
      spread: millis(0)
    }),
    Constant: member("Constant", "The same wait before every retry", { delay: millis(1) }),
    Decorrelated: member("Decorrelated", "Each wait is drawn from the base to three times the one before", {
      base: millis(1),
      cap: millis(1)
    }),
    Delays: member("Delays", "These waits, then the end", { delays: Schema.NonEmptyArray(millis(0)) }),
    Immediate: member("Immediate", "Retries without any wait, then the end", { retries: integer(1, "retries") }),
    None: member("None", "No retry", {}),
    Jittered: member("Jittered", "Each wait times a factor that is drawn", {
      self,
      min: number(0, "the least factor"),
      max: number(0, "the bound of the factor")
    }),
    Capped: member("Capped", "No wait is longer", { self, max: millis(1) }),
    Attempts: member("Attempts", "At most so many executions in the whole run", {
      self,
      max: integer(1, "executions, the first one included")
    }),
    Recurs: member("Recurs", "At most so many retries through this place", { self, retries: integer(0, "retries") }),
    Within: member("Within", "No retry starts later after the start of attempt 1", { self, duration: millis(1) }),
    While: member("While", "Only errors that the predicate accepts are retried", { self, predicate: name }),
    Until: member("Until", "Errors that the predicate accepts are not retried", { self, predicate: name }),
    WhileTag: member("WhileTag", "Only errors with one of these tags are retried", {
      self,
      tags: Schema.NonEmptyArray(name)
    }),
    HonoringRetryAfter: member("HonoringRetryAfter", "Hints of the failing system are waited for, up to a limit", {
      self,
      max: millis(1)
    }),
    Unlimited: member("Unlimited", "There is no end, on purpose", { self }),
    Concat: member("Concat", "One policy after the other", { members: Schema.Tuple([self, self]) }),
    Max: member("Max", "As long as all go on, the longest wait", { members: Schema.NonEmptyArray(self) }),
    Min: member("Min", "As long as any goes on, the shortest wait", { members: Schema.NonEmptyArray(self) }),
    ByInput: member("ByInput", "Another policy for each kind of error", {
      cases: Schema.NonEmptyArray(Schema.Struct({ name, policy: self })),
      otherwise: self
    })
  }
  return Schema.Union(Object.values(members)).annotate({ identifier: "Spec" })
}

/**
 * What a policy is, as data: decodes and encodes plain objects.
 *
 * @category schemas
 */
export const schema: Schema.Codec<Spec.Spec> = /* @__PURE__ */ make()

/**
 * The JSON Schema (draft 2020-12) of a spec, as in `@reprise/core/spec.schema.json`.
 *
 * @category schemas
 */
export const toJsonSchema = (): JsonSchema.JsonSchema => {
  const { definitions, schema: root } = Schema.toJsonSchemaDocument(schema)
  return { $schema: JsonSchema.META_SCHEMA_URI_DRAFT_2020_12, title: "A retry policy", ...root, $defs: definitions }
}
