import type * as Spec from "../../Spec.ts"
import * as duration from "./duration.ts"
import * as name from "./name.ts"

const call = (head: string, args: ReadonlyArray<string>): string =>
  args.length === 0 ? head : `${head}(${args.join(", ")})`

const group = (head: string, members: ReadonlyArray<string>): string => `${head}(${members.join("; ")})`

const jitter = ({ max, min }: Spec.Jittered): string =>
  min === 0 && max === 1 ? "jitter" : min === 0.5 && max === 1 ? "jitter(equal)" : `jitter(${min}, ${max})`

/** What is not its default stands by its name. */
const polynomial = ({ base, exponent, offset, spread, start }: Spec.Polynomial): string =>
  call("polynomial", [
    duration.write(base),
    ...(exponent === 2 ? [] : [String(exponent)]),
    ...(start === 1 ? [] : [`start: ${start}`]),
    ...(offset === 0 ? [] : [`offset: ${duration.write(offset)}`]),
    ...(spread === 0 ? [] : [`spread: ${duration.write(spread)}`])
  ])

/** The own part of a combinator, without what stands before it in the pipe. */
const stage = (spec: Spec.Combinator): string => {
  switch (spec._tag) {
    case "Jittered":
      return jitter(spec)
    case "Capped":
      return call("cap", [duration.write(spec.max)])
    case "Attempts":
      return call("attempts", [String(spec.max)])
    case "Recurs":
      return call("recurs", [String(spec.retries)])
    case "Within":
      return call("within", [duration.write(spec.duration)])
    case "While":
      return call("while", [name.write(spec.predicate)])
    case "Until":
      return call("until", [name.write(spec.predicate)])
    case "WhileTag":
      return call("whileTag", spec.tags.map(name.write))
    case "HonoringRetryAfter":
      return call("retryAfter", [duration.write(spec.max)])
    case "Unlimited":
      return "unlimited"
  }
}

const head = (spec: Spec.Constructor | Spec.Combination): string => {
  switch (spec._tag) {
    case "Exponential":
      return call("exponential", [duration.write(spec.base), ...(spec.factor === 2 ? [] : [String(spec.factor)])])
    case "Linear":
      return call("linear", [
        duration.write(spec.base),
        ...(spec.increment === spec.base ? [] : [duration.write(spec.increment)])
      ])
    case "Fibonacci":
      return call("fibonacci", [duration.write(spec.base)])
    case "Polynomial":
      return polynomial(spec)
    case "Constant":
      return call("constant", [duration.write(spec.delay)])
    case "Decorrelated":
      return call("decorrelated", [duration.write(spec.base), duration.write(spec.cap)])
    case "Delays":
      return call("delays", spec.delays.map(duration.write))
    case "Immediate":
      return call("immediate", [String(spec.retries)])
    case "None":
      return "none"
    case "Concat":
      return group("concat", spec.members.map(format))
    case "Max":
      return group("max", spec.members.map(format))
    case "Min":
      return group("min", spec.members.map(format))
    case "ByInput":
      return group("by", [
        ...spec.cases.map((_) => `${name.write(_.name)}: ${format(_.policy)}`),
        `otherwise: ${format(spec.otherwise)}`
      ])
  }
}

/** A spec in the notation. */
export const format = (spec: Spec.Spec): string => {
  const stages: Array<string> = []
  let current = spec
  while ("self" in current) {
    stages.push(stage(current))
    current = current.self
  }
  return [head(current), ...stages.reverse()].join(" | ")
}
