/** What the types of `Retry.run` exclude does not happen: the types in docs/RULES.md, as sets of tags. */
import { describe, expect, it } from "@effect/vitest"
import { RetryExhausted, Spec } from "@reprise/core"
import * as Cause from "effect/Cause"
import * as Exit from "effect/Exit"
import { draws, exhaustedInside, policy, refinements, scriptWithTimeouts, type Tag, tagOf, tags } from "./generators.ts"
import { forAll, samples } from "./forAll.ts"
import { type Run, runByRetry } from "./virtualTime.ts"

type Tags = ReadonlyArray<Tag>

const union = (sets: ReadonlyArray<Tags>): Tags => tags.filter((tag) => sets.some((_) => _.includes(tag)))
const intersection = (sets: ReadonlyArray<Tags>): Tags => tags.filter((tag) => sets.every((_) => _.includes(tag)))

/** What a classification lets pass for certain, as far as types can tell. */
const narrowed = (spec: Spec.While | Spec.WhileTag): ReadonlyArray<string> | undefined =>
  spec._tag === "WhileTag" ? spec.tags : refinements[spec.predicate]

/** At most these are retried. */
const retried = (spec: Spec.Spec): Tags => {
  const inside = Spec.children(spec).map(retried)
  switch (spec._tag) {
    case "None":
      return []
    case "While":
    case "WhileTag":
      return inside[0]!.filter((tag) => narrowed(spec)?.includes(tag) ?? true)
    case "Max":
      return intersection(inside)
    default:
      return inside.length === 0 ? tags : union(inside)
  }
}

/** At least these are never left as they are. */
const handled = (spec: Spec.Spec): Tags => {
  const inside = Spec.children(spec).map(handled)
  switch (spec._tag) {
    case "None":
    case "Until":
      return []
    case "While":
    case "WhileTag":
      return inside[0]!.filter((tag) => narrowed(spec)?.includes(tag) ?? false)
    case "Max":
    case "ByInput":
      return intersection(inside)
    default:
      return inside.length === 0 ? tags : union(inside)
  }
}

interface Outcome {
  /** The error that left as it was. */
  readonly raw: ReadonlyArray<unknown>
  readonly exhausted: ReadonlyArray<RetryExhausted.RetryExhausted>
}

const neither: Outcome = { raw: [], exhausted: [] }

const outcomeOf = ({ exit }: Run): Outcome => {
  if (Exit.isSuccess(exit)) return neither
  const error = Cause.findErrorOption(exit.cause)
  if (error._tag === "None") return expect.fail(Cause.pretty(exit.cause))
  // One of a run inside passes every policy, and every type lets it.
  if (error.value === exhaustedInside) return neither
  return RetryExhausted.is(error.value) ? { raw: [], exhausted: [error.value] } : { raw: [error.value], exhausted: [] }
}

/** The policies that promise something and exclude something. */
const narrow = policy.filter(({ spec }) => {
  const [atMost, atLeast] = [retried(spec).length, handled(spec).length]
  return (atLeast > 0 && atLeast < tags.length) || (atMost > 0 && atMost < tags.length)
})

describe("what the types exclude does not happen", () => {
  it("what is handled never leaves as it is", () => {
    forAll([narrow, scriptWithTimeouts, draws], (policy, script, draws) => {
      const { raw } = outcomeOf(runByRetry(policy, script, draws))
      expect(intersection([handled(policy.spec), raw.map(tagOf)])).toEqual([])
    })
  })

  it("an attempt's own timeout never leaves as it is", () => {
    forAll([policy, scriptWithTimeouts, draws], (policy, script, draws) => {
      const { raw } = outcomeOf(runByRetry(policy, script, draws))
      expect(raw.filter((_) => _ instanceof Cause.TimeoutError)).toEqual([])
    })
  })

  it("RetryExhausted holds nothing but what may be retried, and timeouts", () => {
    forAll([narrow, scriptWithTimeouts, draws], (policy, script, draws) => {
      const { exhausted } = outcomeOf(runByRetry(policy, script, draws))
      const errors = exhausted.flatMap((_) => [_.lastError, ..._.history.map((_) => _.error)])
        .filter((_) => !(_ instanceof Cause.TimeoutError))
      const allowed = retried(policy.spec)
      expect(errors.filter((_) => !allowed.includes(tagOf(_)))).toEqual([])
    })
  })

  it("both outcomes are common among the runs above", () => {
    const policies = samples(narrow, 200)
    const scripts = samples(scriptWithTimeouts, 200)
    const outcomes = policies.map((policy, index) => outcomeOf(runByRetry(policy, scripts[index]!, () => 0.5)))
    expect(outcomes.flatMap((_) => _.raw).length).toBeGreaterThan(30)
    expect(outcomes.flatMap((_) => _.exhausted).length).toBeGreaterThan(30)
  })
})
