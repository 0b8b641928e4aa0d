import * as Predicate from "effect/Predicate"
import { PredicateError } from "../../PredicateError.ts"
import type { Decision, Failure, Source, State } from "../../Stepper.ts"

export type Step = (state: State, failure: Failure, input: unknown, random: Source) => Decision
export type Accepts = (input: unknown) => boolean

/** A compiled spec. */
export interface Node {
  readonly step: Step
  /** Classification, a stateless function of the error; `undefined` accepts every error. */
  readonly accepts: Accepts | undefined
}

/** What grows while a spec is compiled. */
export interface Context {
  readonly predicates: ReadonlyArray<(input: never) => boolean>
  predicate: number
  readonly initial: Array<number>
}

// The values of `Stepper.stops`, as constants that the optimiser can see. A test holds the two against each other.
export const attempts = -1
export const end = -2
export const pushback = -3
export const tooLong = -4
export const elapsed = -5
export const layered = -6
export const terminal = -7
/** A member that rejected the error by classification: no reason of its own, so it loses against every other. */
export const rejected = -8

/** A counter in the state of a run, by its index. */
export const slot = (context: Context, initial: number): number => context.initial.push(initial) - 1

/** The largest number below 1. */
export const largestDraw: number = 1 - 2 ** -53

/** A number in `[0, 1)`. From a source that is broken it is the largest, because a long wait is the safer mistake. */
export const draw = (random: Source): number => {
  const drawn = random.nextDoubleUnsafe()
  return drawn >= 0 && drawn < 1 ? drawn : largestDraw
}

export const clamp = (delay: number, cap: number): number => delay < cap ? delay : cap

/** The function that the next name of the spec stands for, guarded. */
export const nextPredicate = (context: Context, name: string): Accepts => {
  // The policy's types have checked the input where the policy meets an effect.
  const predicate = context.predicates[context.predicate++] as Accepts
  return (input) => {
    let answer: boolean
    try {
      answer = predicate(input)
    } catch (cause) {
      throw new PredicateError(name, input, "threw", { cause })
    }
    if (typeof answer === "boolean") return answer
    // What an asynchronous predicate comes to is nobody's, and must not end the process.
    Promise.resolve(answer).catch(() => {})
    const returned = Predicate.isPromiseLike(answer)
      ? "a Promise: a decision that takes time is `when`, an option of the run"
      : typeof answer
    throw new PredicateError(name, input, `must return a boolean, and returned ${returned}`)
  }
}
