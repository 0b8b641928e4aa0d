/** What an error wraps: itself, its `reason`, its `cause`, theirs, and the members of an `AggregateError`. */
import * as Transience from "@reprise/core/Transience"

/**
 * Whether an error or what it wraps is what the predicate accepts; of an `AggregateError`, whether `every` member is or
 * `some` are.
 */
export const wraps = (
  predicate: (error: unknown) => boolean,
  members: "every" | "some"
): (error: unknown) => boolean => {
  // The walk is core's. There, one member that is terminal decides for all, and a transient one only with the others.
  const rule = Transience.when(predicate, members === "some" ? "terminal" : "transient")
  const { classify } = Transience.make([rule])
  return (error) => classify(error).reader === "rule"
}
