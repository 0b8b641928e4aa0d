import type * as Spec from "../../Spec.ts"
import * as duration from "./duration.ts"

const several = (words: ReadonlyArray<string>, last: string): string =>
  words.length < 2 ? words.join() : `${words.slice(0, -1).join(", ")} ${last} ${words[words.length - 1]}`

const counted = (n: number, word: string, plural: string): string => `${n} ${n === 1 ? word : plural}`

const growth = (factor: number): string =>
  factor === 1 ? "" : factor === 2 ? ", doubling" : factor === 3 ? ", tripling" : `, times ${factor} each`

const waits = (spec: Spec.Constructor | Spec.Combination): string => {
  switch (spec._tag) {
    case "Exponential":
      return spec.factor === 1
        ? `waits of ${duration.spell(spec.base)}`
        : `waits grow from ${duration.spell(spec.base)}${growth(spec.factor)}`
    case "Linear":
      return spec.increment === 0
        ? `waits of ${duration.spell(spec.base)}`
        : `waits grow from ${duration.spell(spec.base)} by ${duration.spell(spec.increment)} each`
    case "Fibonacci":
      return `waits grow from ${duration.spell(spec.base)} as the Fibonacci numbers`
    case "Constant":
      return `waits of ${duration.spell(spec.delay)}`
    case "Decorrelated":
      return `waits drawn between ${duration.spell(spec.base)} and three times the one before, at most ` +
        duration.spell(spec.cap)
    case "Delays":
      return `waits of ${several(spec.delays.map(duration.spell), "and")}, then the end`
    case "Immediate":
      return `${counted(spec.retries, "retry", "retries")} without delay, then the end`
    case "None":
      return "no retry"
    case "Concat":
      return `first (${inner(spec.members[0])}), then (${inner(spec.members[1])})`
    case "Max":
      return `as long as all of ${several(spec.members.map((_) => `(${inner(_)})`), "and")} go on, the longest wait`
    case "Min":
      return `as long as any of ${several(spec.members.map((_) => `(${inner(_)})`), "and")} goes on, the shortest wait`
    case "ByInput":
      return [
        ...spec.cases.map((_) => `for ${_.name} failures (${inner(_.policy)})`),
        `otherwise (${inner(spec.otherwise)})`
      ].join(", ")
  }
}

const jitter = ({ max, min }: Spec.Jittered): string => {
  if (min === 0 && max === 1) return "each drawn uniformly from zero"
  if (min === 0.5 && max === 1) return "each drawn uniformly from its half"
  return min === max ? `each times ${min}` : `each times a factor drawn from ${min} to ${max}`
}

const inner = (spec: Spec.Spec): string => {
  const stages: Array<Spec.Combinator> = []
  let current = spec
  while ("self" in current) {
    stages.unshift(current)
    current = current.self
  }
  const limits: Array<string> = []
  const shape = [waits(current)]
  const conditions: Array<string> = []
  for (const stage of stages) {
    switch (stage._tag) {
      case "Attempts":
        limits.push(`up to ${counted(stage.max, "attempt", "attempts")}`)
        break
      case "Recurs":
        limits.push(`up to ${counted(stage.retries, "retry", "retries")} of its own`)
        break
      case "Within":
        limits.push(`no retry later than ${duration.spell(stage.duration)} after the start`)
        break
      case "Unlimited":
        limits.push("without an end, on purpose")
        break
      case "Capped":
        shape.push(`at most ${duration.spell(stage.max)}`)
        break
      case "Jittered":
        shape.push(jitter(stage))
        break
      case "HonoringRetryAfter":
        conditions.push(`hints to wait are followed up to ${duration.spell(stage.max)}`)
        break
      case "While":
        conditions.push(`only ${stage.predicate} failures`)
        break
      case "Until":
        conditions.push(`no ${stage.predicate} failures`)
        break
      case "WhileTag":
        conditions.push(`only failures tagged ${several(stage.tags, "or")}`)
    }
  }
  return [...limits, shape.join(", "), ...conditions].join("; ")
}

/** A spec as one English sentence that leaves nothing out. */
export const describe = (spec: Spec.Spec): string => {
  const sentence = inner(spec)
  return `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}.`
}
