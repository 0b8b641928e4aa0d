import { describe, expect, it } from "@effect/vitest"
import { Presets, type Spec, SpecSchema } from "@reprise/core"
import published from "@reprise/core/spec.schema.json" with { type: "json" }
import { Result, Schema } from "effect"

const read = Schema.decodeUnknownResult(SpecSchema.schema)

describe("SpecSchema", () => {
  it("is published as spec.schema.json: `npm run schema` writes it anew", () => {
    expect(published).toEqual(SpecSchema.toJsonSchema())
  })

  it("describes every case", () => {
    const cases = published.$defs.Spec.anyOf.map((_) => _.$ref.replace("#/$defs/", ""))
    expect(cases).toHaveLength(23)
    expect(Object.keys(published.$defs).toSorted()).toEqual([...cases, "Spec"].toSorted())
  })

  it.each(Object.entries(Presets.all))("reads the spec of %s", (_, { policy }) => {
    expect(Result.getOrThrow(read(JSON.parse(JSON.stringify(policy.spec))))).toEqual(policy.spec)
  })

  const constant: Spec.Spec = { _tag: "Constant", delay: 1 }

  it.each<[spec: unknown, place: string]>([
    [{ _tag: "Constant", delay: 0 }, `["delay"]`],
    [{ _tag: "Constant", delay: "1 second" }, `["delay"]`],
    [{ _tag: "Exponential", base: 1 }, `["factor"]`],
    [{ _tag: "Attempts", self: constant, max: 1.5 }, `["max"]`],
    [{ _tag: "Attempts", self: { _tag: "Constant" }, max: 2 }, `["self"]["delay"]`],
    [{ _tag: "Delays", delays: [] }, `["delays"][0]`],
    [{ _tag: "Concat", members: [constant] }, `["members"][1]`],
    [{ _tag: "ByInput", cases: [{ name: "", policy: constant }], otherwise: constant }, `["cases"][0]["name"]`]
  ])("refuses %j", (spec, place) => {
    const result = read(spec)
    expect(Result.isFailure(result) && String(result.failure)).toContain(`at ${place}`)
  })

  it("refuses what is no spec", () => {
    for (const spec of [null, [], "none", {}, { _tag: "Sometimes" }]) expect(Result.isFailure(read(spec))).toBe(true)
  })
})
