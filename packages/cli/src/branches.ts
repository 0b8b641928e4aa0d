/**
 * The ways that failures of one kind can take through a policy, each as a policy that tells no kinds apart.
 */
import type * as Spec from "@reprise/core/Spec"
import { children } from "@reprise/core/Spec"

export interface Branch {
  readonly spec: Spec.Spec
  /** When it is taken, in words; empty for what happens to a failure that no predicate knows. */
  readonly when: string
}

/** So many at most: ways multiply. */
const most = 64

const early = "after a part that ended early"

const both = (outer: string, inner: string): string => [outer, inner].filter((_) => _ !== "").join(", ")

/** Whether a failure that a predicate does not want ends it. */
const isConditional = (spec: Spec.Spec): boolean =>
  spec._tag === "While" || spec._tag === "Until" || spec._tag === "WhileTag" || children(spec).some(isConditional)

type Ways = ReadonlyArray<Branch>

/** The ways through specs side by side: of one after the other, with the first way of all others. */
const beside = (ways: ReadonlyArray<Ways>, make: (members: ReadonlyArray<Spec.Spec>) => Spec.Spec): Ways => {
  const usual = ways.flatMap(([way]) => way === undefined ? [] : [way.spec])
  const others = ways.flatMap(([, ...rest], index) =>
    rest.map(({ spec, when }) => ({ spec: make(usual.with(index, spec)), when }))
  )
  return [{ spec: make(usual), when: "" }, ...others]
}

/** The ways through what may be left alone, when a member that a predicate ends has ended. */
const left = (members: ReadonlyArray<Spec.Spec>, ways: ReadonlyArray<Ways>, last: number): Ways => {
  const ends = members.map(isConditional)
  return ways
    .filter((_, index) => index >= members.length - last && ends.some((ended, other) => ended && other !== index))
    .flat()
    .map(({ spec, when }) => ({ spec, when: both(early, when) }))
}

/** The ways through a spec; the first is that of a failure that every predicate lets through. */
export const branches = (spec: Spec.Spec): Ways => {
  switch (spec._tag) {
    case "While":
    case "Until":
    case "WhileTag":
      return branches(spec.self)
    case "ByInput":
      return [
        ...branches(spec.otherwise),
        ...spec.cases.flatMap(({ name, policy }) =>
          branches(policy).map((way) => ({ spec: way.spec, when: both(name, way.when) }))
        )
      ].slice(0, most)
    case "Concat": {
      const ways = spec.members.map(branches)
      const whole = beside(
        ways,
        ([first, second]) => first === undefined || second === undefined ? spec : { ...spec, members: [first, second] }
      )
      return [...whole, ...left(spec.members, ways, 1)].slice(0, most)
    }
    case "Min": {
      const ways = spec.members.map(branches)
      const whole = beside(ways, (members) => ({ ...spec, members }))
      return [...whole, ...left(spec.members, ways, ways.length)].slice(0, most)
    }
    case "Max":
      return beside(spec.members.map(branches), (members) => ({ ...spec, members })).slice(0, most)
    default:
      return "self" in spec
        ? branches(spec.self).map(({ spec: self, when }) => ({ spec: { ...spec, self }, when }))
        : [{ spec, when: "" }]
  }
}
