/**
 * The error for a text that is not a policy.
 */
import type * as Cause from "effect/Cause"
import * as Data from "effect/Data"
import * as Predicate from "effect/Predicate"

/**
 * Where a text is not a policy, and why.
 *
 * @category models
 */
export interface Problem {
  /** Where it goes wrong, counted from 1. */
  readonly column: number
  /** What is wrong there, as a sentence without its full stop. */
  readonly problem: string
  /** What was meant, where a word is close to a known one. */
  readonly suggestion: string | undefined
}

// Named with its type because a declaration file cannot infer what a class extends.
const Base: new(fields: Problem & { readonly message: string }) =>
  & Cause.YieldableError
  & { readonly _tag: "InvalidNotation" }
  & Problem = Data.TaggedError("InvalidNotation")

const around = 60

/** The piece of the text around a column, with a caret under it. */
const excerpt = (text: string, column: number): string => {
  const start = Math.max(0, column - 1 - around)
  const piece = text.slice(start, column - 1 + around).replace(/[^\x20-\x7e]/g, "?")
  const before = start > 0 ? "…" : ""
  const after = start + piece.length < text.length ? "…" : ""
  return `${before}${piece}${after}\n${" ".repeat(before.length + column - 1 - start)}^`
}

/**
 * A text is not a policy. The message points at the column with a caret and says what was expected there.
 *
 * @category errors
 */
export class InvalidNotation extends Base {
  constructor(text: string, problem: Problem) {
    const meant = problem.suggestion === undefined ? "" : ` (did you mean ${problem.suggestion}?)`
    super({
      ...problem,
      message: `Column ${problem.column}: ${problem.problem}${meant}\n${excerpt(text, problem.column)}`
    })
  }
}

/**
 * Whether a value is an {@link InvalidNotation}.
 *
 * @category guards
 */
export const is = (u: unknown): u is InvalidNotation => Predicate.isTagged(u, "InvalidNotation")
