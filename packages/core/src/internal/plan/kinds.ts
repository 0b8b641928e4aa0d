import * as Spec from "../../Spec.ts"
import * as Stepper from "../../Stepper.ts"
import type { Kind } from "./walk.ts"

/** Up to this many kinds of failure are told apart. */
const mostKinds = 64

interface Answers {
  readonly answers: (predicate: number) => boolean
  readonly retryAfter: number | undefined
}

/** Predicates, by their place in the spec, that answer yes; the others answer no, or are not asked. */
type Yes = ReadonlyArray<number>

/** The ways in which the predicates of an opened spec can answer that make a difference, `first` being its first. */
const ways = (spec: Spec.Spec, first: number): { readonly found: ReadonlyArray<Yes>; readonly next: number } => {
  if (spec._tag === "While") {
    const { found, next } = ways(spec.self, first)
    // What a classification turns away is not asked anything else.
    return { found: [[], ...found.map((yes) => [...yes, next])], next: next + 1 }
  }
  if (spec._tag === "ByInput") {
    let next = first
    const found = spec.cases.flatMap(({ policy }) => {
      const own = next
      const inside = ways(policy, own + 1)
      next = inside.next
      return inside.found.map((yes) => [own, ...yes])
    })
    const otherwise = ways(spec.otherwise, next)
    return { found: [...found, ...otherwise.found], next: otherwise.next }
  }
  let found: ReadonlyArray<Yes> = [[]]
  let next = first
  for (const child of Spec.children(spec)) {
    const inside = ways(child, next)
    next = inside.next
    // More than are followed anyway need no counting.
    if (found.length <= mostKinds) found = found.flatMap((yes) => inside.found.map((more) => [...yes, ...more]))
  }
  return { found, next }
}

/** The waits that failures may ask for, in milliseconds; `undefined` for those that ask for none. */
export type Hints = readonly [number | undefined, ...ReadonlyArray<number>]

/** Every kind of failure that an opened spec can tell apart: by the answers of its predicates, and by hint. */
export const kindsOf = (spec: Spec.Spec, hints: Hints): ReadonlyArray<Kind> => {
  const { found, next } = ways(spec, 0)
  const one = Array.from({ length: Math.min(next, mostKinds) }, (_, n) => n)
  const answers: ReadonlyArray<Answers["answers"]> = found.length <= mostKinds
    ? found.map((yes) => (n) => yes.includes(n))
    : [...one.map((only): Answers["answers"] => (n) => n === only), ...one.map((but) => (n: number) => n !== but)]
  return hints.flatMap((retryAfter): ReadonlyArray<Kind> => [
    { input: { retryAfter }, timedOut: true },
    ...(next === 0 ? [] : answers.map((answers) => ({ input: { answers, retryAfter }, timedOut: false })))
  ])
}

const countPredicates = (spec: Spec.Spec): number => ways(spec, 0).next

/** The stepper of an opened spec, which asks its kinds of failure instead of predicates. */
export const compile = (spec: Spec.Spec): Stepper.Stepper =>
  Stepper.make(
    spec,
    Array.from({ length: countPredicates(spec) }, (_, n) => ({ answers }: Answers) => answers(n))
  )
