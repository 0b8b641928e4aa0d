import type * as Spec from "../../Spec.ts"

/** The spec with other specs directly inside it. */
const withChildren = (spec: Spec.Spec, change: (child: Spec.Spec) => Spec.Spec): Spec.Spec => {
  if ("self" in spec) return { ...spec, self: change(spec.self) }
  switch (spec._tag) {
    case "Concat":
      return { ...spec, members: [change(spec.members[0]), change(spec.members[1])] }
    case "Max":
    case "Min":
      return { ...spec, members: spec.members.map(change) }
    case "ByInput":
      return {
        ...spec,
        cases: spec.cases.map(({ name, policy }) => ({ name, policy: change(policy) })),
        otherwise: change(spec.otherwise)
      }
    default:
      return spec
  }
}

/** Whether a stop inside ends the whole: in a pipe and under "and", but not where another policy takes over. */
const passesStops = (spec: Spec.Spec): boolean => "self" in spec || spec._tag === "Max"

/**
 * The spec without the elapsed limits that end the whole run. Those inside `concat`, `min` and `byInput` stay: there
 * they choose what comes next.
 */
export const timeless = (spec: Spec.Spec): Spec.Spec =>
  spec._tag === "Within" ? timeless(spec.self) : passesStops(spec) ? withChildren(spec, timeless) : spec

/**
 * The spec with every question about the error open: what would end the whole run is answered with yes and gone, and
 * what chooses between policies is a predicate of its own.
 */
export const open = (spec: Spec.Spec, outer = true): Spec.Spec => {
  switch (spec._tag) {
    case "While":
    case "Until":
    case "WhileTag": {
      const self = open(spec.self, outer)
      return outer ? self : { _tag: "While", self, predicate: "error" }
    }
    case "Within": {
      // Where time chooses what comes next, it may do so earlier than in the run with the longest waits.
      const self = { ...spec, self: open(spec.self, outer) }
      return outer ? self : { _tag: "While", self, predicate: "time" }
    }
    default:
      return withChildren(spec, (child) => open(child, outer && passesStops(spec)))
  }
}
