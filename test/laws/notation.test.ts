import { describe, expect, it } from "@effect/vitest"
import { Policy, SpecSchema } from "@reprise/core"
import * as Equal from "effect/Equal"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { policy, predicates } from "./generators.ts"
import { forAll } from "./forAll.ts"

describe("a policy that is written and read again is the same", () => {
  it("in the notation", () => {
    forAll([policy], (policy) => {
      const notation = Policy.format(policy)
      const read = Result.getOrThrow(Policy.parse(notation, { predicates }))
      expect([Policy.format(read), Equal.equals(read, policy)]).toEqual([notation, true])
    }, 1500)
  })

  it("its spec as JSON", () => {
    const json = Schema.fromJsonString(SpecSchema.schema)
    forAll([policy], ({ spec }) => {
      expect(Schema.decodeSync(json)(Schema.encodeSync(json)(spec))).toEqual(spec)
    })
  })
})
