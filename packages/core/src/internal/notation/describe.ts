import * as Spec from "../../Spec.ts"
import * as duration from "./duration.ts"
import * as name from "./name.ts"

const several = (words: ReadonlyArray<string>, last: string): string =>
  words.length < 2 ? words.join() : `${words.slice(0, -1).join(", ")} ${last} ${words[words.length - 1]}`

const counted = (n: number, word: string, plural: string): string => `${n} ${n === 1 ? word : plural}`

const growth = (factor: number): string =>
  factor === 1 ? "" : factor === 2 ? ", doubling" : factor === 3 ? ", tripling" : `, times ${factor} each`

const polynomial = ({ base, exponent, offset, spread, start }: Spec.Polynomial): string => {
  const first = start === 1 ? "" : ` (the first is ${start})`
  const power = exponent === 1 ? "" : ` to the power of ${exponent}`
  return [
    exponent === 0
      ? `waits of ${duration.spell(base)}`
      : `waits grow as ${duration.spell(base)} times the retry's number${first}${power}`,
    ...(offset === 0 ? [] : [`plus ${duration.spell(offset)}`]),
    ...(spread === 0 ? [] : [`plus a draw from zero to ${duration.spell(spread)} for each retry so far`])
  ].join(", ")
}

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
    case "Polynomial":
      return polynomial(spec)
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
        ...spec.cases.map((_) => `for ${name.write(_.name)} failures (${inner(_.policy)})`),
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
  const least = { Attempts: Infinity, Recurs: Infinity, Within: Infinity, Capped: Infinity }
  for (const stage of stages) {
    // Of several limits of a kind the smallest is the one that counts.
    if (stage._tag === "Attempts" || stage._tag === "Capped") least[stage._tag] = Math.min(least[stage._tag], stage.max)
    if (stage._tag === "Recurs") least.Recurs = Math.min(least.Recurs, stage.retries)
    if (stage._tag === "Within") least.Within = Math.min(least.Within, stage.duration)
  }
  if (least.Attempts < Infinity) limits.push(`up to ${counted(least.Attempts, "attempt", "attempts")}`)
  if (least.Recurs < Infinity) limits.push(`up to ${counted(least.Recurs, "retry", "retries")} of its own`)
  if (least.Within < Infinity) limits.push(`no retry later than ${duration.spell(least.Within)} after the start`)
  if (least.Capped < Infinity) shape.push(`at most ${duration.spell(least.Capped)}`)
  for (const stage of stages) {
    switch (stage._tag) {
      case "Unlimited":
        if (!Spec.hasEnd(spec)) limits.push("without an end, on purpose")
        break
      case "Jittered":
        shape.push(jitter(stage))
        break
      case "HonoringRetryAfter":
        conditions.push(`hints to wait are followed up to ${duration.spell(stage.max)}`)
        break
      case "While":
        conditions.push(`only ${name.write(stage.predicate)} failures`)
        break
      case "Until":
        conditions.push(`no ${name.write(stage.predicate)} failures`)
        break
      case "WhileTag":
        conditions.push(`only failures tagged ${several(stage.tags.map(name.write), "or")}`)
    }
  }
  return [...limits, shape.join(", "), ...conditions].join("; ")
}

/** A spec as one English sentence that leaves nothing out. */
export const describe = (spec: Spec.Spec): string => {
  const sentence = inner(spec)
  return `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}.`
}
