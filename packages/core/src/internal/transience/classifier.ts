/**
 * Classifiers: a way to classify, with the predicates made of it.
 */
import type { Classifier, Rule, Verdict } from "../../Transience.ts"
import { isObject } from "../causeChain.ts"
import * as hints from "../hint.ts"
import * as chain from "./chain.ts"
import type { Decision } from "./decision.ts"
import * as readers from "./readers.ts"
import * as selfDescription from "./selfDescription.ts"
import { remember } from "./unclassified.ts"

// The keys name the functions, also in a minified bundle: a policy shows the name of its predicate.
const fromClassify = (classify: (error: unknown) => Verdict): Classifier => {
  const self: Classifier = {
    classify,
    isTransient: (error) => classify(error).transience === "transient",
    isTerminal: (error) => classify(error).transience === "terminal",
    isUnknown: (error) => classify(error).transience === "unknown",
    isThrottled: (error) => classify(error).throttled,
    notApplied: (error) => classify(error).applied === "no"
  }
  remember(self.isTransient, self.isUnknown)
  return self
}

export const standard: Classifier = /* @__PURE__ */ fromClassify((error) =>
  chain.verdict(error, chain.decide(error, readers.read))
)

export const make = (
  rules: ReadonlyArray<Rule>,
  otherwise: Pick<Classifier, "classify"> = standard
): Classifier => {
  const read = firstOf(rules.map(fromRule))
  return fromClassify((error) => {
    // Whatever can be thrown may have a rule, but only an object wraps something.
    const decided = isObject(error) ? chain.decide(error, read) : read(error)
    return decided === undefined ? otherwise.classify(error) : chain.verdict(error, decided)
  })
}

type Read = (error: unknown) => Decision | undefined

const firstOf = (reads: ReadonlyArray<Read>): Read => (error) => {
  for (const read of reads) {
    const decided = read(error)
    if (decided !== undefined) return decided
  }
  return undefined
}

const fromRule = ({ description, match }: Rule): Read => {
  const outcome = selfDescription.outcome(description)
  const hint = hints.parse(description.retryAfter)
  return (error) => {
    let code: string | undefined
    try {
      code = match(error)
    } catch {
      // A rule is asked about errors that its author never saw: one that throws does not know them.
      return undefined
    }
    return code === undefined ? undefined : { outcome, reader: "rule", code, tentative: false, hint }
  }
}
