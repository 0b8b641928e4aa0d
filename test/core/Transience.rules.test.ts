import { describe, expect, it } from "@effect/vitest"
import * as Transience from "@reprise/core/Transience"
import * as Data from "effect/Data"
import { inspect } from "node:util"

class Conflict extends Data.TaggedError("Conflict")<{ readonly id: number }> {}
class Refused extends Error {}

describe("an error that describes itself", () => {
  class QueueFull extends Data.TaggedError("QueueFull") {
    get [Transience.TypeId](): Transience.SelfDescription {
      return { transience: "transient", applied: "no", throttled: true, retryAfter: "2 seconds" }
    }
  }

  it("is taken at its word", () => {
    expect(Transience.classify(new QueueFull())).toEqual({
      transience: "transient",
      applied: "no",
      throttled: true,
      hint: { _tag: "After", millis: 2000 },
      reader: "self",
      code: undefined
    })
  })

  it("is known by a string, so that two copies of the package agree", () => {
    const ofAnotherCopy = { "~@reprise/core/Transience": { transience: "terminal" } }
    expect(Transience.classify(ofAnotherCopy)).toMatchObject({ transience: "terminal", applied: "maybe" })
  })

  it("overrules its own codes and what it wraps", () => {
    const error = Object.assign(new Error("", { cause: { code: "ECONNRESET" } }), {
      status: 503,
      [Transience.TypeId]: { transience: "terminal", applied: "yes" }
    })
    expect(Transience.classify(error)).toMatchObject({ transience: "terminal", applied: "yes", reader: "self" })
  })

  it.each([[{ transience: "perhaps" }], [{}], ["transient"], [null]])("%o is no description", (description) => {
    expect(Transience.isUnknown({ [Transience.TypeId]: description })).toBe(true)
  })
})

describe("annotate", () => {
  it("describes an instance and keeps its class, data-first and data-last", () => {
    const first = Transience.annotate(new Refused(), { transience: "transient", applied: "no" })
    const last = Transience.annotate("terminal")(new Refused())
    expect(first).toBeInstanceOf(Refused)
    expect(Transience.classify(first)).toMatchObject({ transience: "transient", applied: "no", reader: "self" })
    expect(Transience.classify(last)).toMatchObject({ transience: "terminal", applied: "maybe", reader: "self" })
  })

  it("stays out of logs and JSON", () => {
    const error = Transience.annotate(new Conflict({ id: 1 }), "transient")
    expect(inspect(error)).not.toContain("Transience")
    expect(JSON.stringify(error)).not.toContain("Transience")
  })

  it("replaces an earlier annotation", () => {
    const error = Transience.annotate(new Error(), "transient")
    expect(Transience.isTerminal(Transience.annotate(error, "terminal"))).toBe(true)
  })

  it("leaves a frozen error as it is", () => {
    const error = Object.freeze({ _tag: "Frozen" })
    expect(Transience.annotate(error, "transient")).toBe(error)
    expect(Transience.isUnknown(error)).toBe(true)
  })
})

describe("rules", () => {
  const isTransientBy = (rule: Transience.Rule, error: unknown): boolean => Transience.make([rule]).isTransient(error)

  it("whenClass takes the instances of a class", () => {
    const rule = Transience.whenClass(Refused, "transient")
    expect(isTransientBy(rule, new Refused())).toBe(true)
    expect(isTransientBy(rule, new Error())).toBe(false)
    expect(Transience.make([rule]).classify(new Refused())).toMatchObject({ reader: "rule", code: "Refused" })
  })

  it("whenTag takes a tag or several", () => {
    expect(isTransientBy(Transience.whenTag("Conflict", "transient"), new Conflict({ id: 1 }))).toBe(true)
    expect(isTransientBy(Transience.whenTag(["A", "B"], "transient"), { _tag: "B" })).toBe(true)
    expect(isTransientBy(Transience.whenTag("A", "transient"), { _tag: "B" })).toBe(false)
  })

  it("whenCode takes strings and numbers, and does not confuse them", () => {
    const rule = Transience.whenCode(["E_FOO", 7], "transient")
    expect(isTransientBy(rule, { code: "E_FOO" })).toBe(true)
    expect(isTransientBy(rule, { code: 7 })).toBe(true)
    expect(isTransientBy(rule, { code: "7" })).toBe(false)
  })

  it("whenStatus takes a status wherever an error carries it", () => {
    const rule = Transience.whenStatus(418, "transient")
    expect([{ status: 418 }, { statusCode: 418 }, { response: { status: 418 } }].map((e) => isTransientBy(rule, e)))
      .toEqual([true, true, true])
  })

  it("whenSqlState and whenGrpcStatus take statuses of theirs", () => {
    expect(isTransientBy(Transience.whenSqlState("23505", "transient"), { code: "23505" })).toBe(true)
    expect(isTransientBy(Transience.whenGrpcStatus([4, 10], "transient"), { code: 10, details: "" })).toBe(true)
    expect(isTransientBy(Transience.whenGrpcStatus(10, "transient"), { code: 10 })).toBe(false)
  })

  it("when takes what a predicate accepts, an object or not", () => {
    const rule = Transience.when((error) => error === "try again", "transient")
    expect(isTransientBy(rule, "try again")).toBe(true)
    expect(isTransientBy(rule, "stop")).toBe(false)
  })

  it("a predicate that throws counts as false", () => {
    const rule = Transience.when(() => {
      throw new Error("no such error expected")
    }, "terminal")
    expect(isTransientBy(rule, { status: 503 })).toBe(true)
  })

  it("see what an error wraps, before any built-in reader sees the error", () => {
    const classifier = Transience.make([Transience.whenCode("E_FOO", "terminal")])
    expect(classifier.isTerminal({ status: 503, cause: { code: "E_FOO" } })).toBe(true)
  })

  it("overrule what an error says of itself", () => {
    const error = Transience.annotate(new Conflict({ id: 1 }), "terminal")
    expect(isTransientBy(Transience.whenTag("Conflict", "transient"), error)).toBe(true)
  })

  it("the first that matches decides", () => {
    const classifier = Transience.make([Transience.whenTag("A", "terminal"), Transience.whenTag("A", "transient")])
    expect(classifier.isTerminal({ _tag: "A" })).toBe(true)
  })

  it("give the whole verdict; an error's own hint goes before theirs", () => {
    const classifier = Transience.make([
      Transience.whenTag("A", { transience: "transient", applied: "no", throttled: true, retryAfter: 100 })
    ])
    expect(classifier.classify({ _tag: "A" })).toEqual({
      transience: "transient",
      applied: "no",
      throttled: true,
      hint: { _tag: "After", millis: 100 },
      reader: "rule",
      code: "A"
    })
    expect(classifier.classify({ _tag: "A", retryAfter: 7 }).hint).toEqual({ _tag: "After", millis: 7 })
  })

  it("what no rule matches goes to the standard classifier, or to the one given", () => {
    const inner = Transience.make([Transience.whenTag("B", "terminal")])
    const outer = Transience.make([Transience.whenTag("A", "transient")], inner)
    expect(outer.isTransient({ _tag: "A" })).toBe(true)
    expect(outer.isTerminal({ _tag: "B" })).toBe(true)
    expect(outer.isTransient({ status: 503 })).toBe(true)
  })
})
