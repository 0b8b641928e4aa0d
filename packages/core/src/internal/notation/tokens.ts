/**
 * The words of the notation. A text is read once, from left to right, without backtracking.
 */
import type { Problem } from "../../InvalidNotation.ts"

export interface Token {
  readonly kind: "word" | "number" | "text" | "mark" | "end"
  /** The word, the number's digits, the text without quotes, or the mark. */
  readonly value: string
  /** Index of the first character, counted from 0. */
  readonly start: number
  readonly end: number
}

/** Thrown inside the reader only, and caught at its one entrance. */
export class Stopped extends Error {
  readonly problem: Problem

  constructor(start: number, problem: string, suggestion?: string) {
    super(problem)
    this.problem = { column: start + 1, problem, suggestion }
  }
}

// Sticky, so that each token costs its own length and no more.
const blank = /\s*/y
const patterns: ReadonlyArray<readonly [kind: Token["kind"], pattern: RegExp]> = [
  ["word", /[A-Za-z_][\w.-]*/y],
  // A decimal or an exponent belongs to the number; the unit that may follow is a word of its own.
  ["number", /-?\d+(?:\.\d+)?(?:e[+-]?\d+)?/y],
  ["text", /"(?:[^"\\]|\\.)*"/y],
  ["mark", /[|(),;:]/y]
]

const at = (pattern: RegExp, text: string, index: number): string | undefined => {
  pattern.lastIndex = index
  return pattern.exec(text)?.[0]
}

const unquoted = (quoted: string, start: number): string => {
  try {
    return String(JSON.parse(quoted))
  } catch {
    throw new Stopped(start, "a text in quotes is written as in JSON")
  }
}

/** The character at an index, which may be of two code units; what cannot be seen as its number. */
const shown = (text: string, index: number): string => {
  const point = text.codePointAt(index) ?? 0
  const character = String.fromCodePoint(point)
  return /^[^\p{C}\p{Z}]$/u.test(character)
    ? `"${character}"`
    : `U+${point.toString(16).toUpperCase().padStart(4, "0")}`
}

/** The token at or after an index. */
export const next = (text: string, index: number): Token => {
  const start = index + (at(blank, text, index)?.length ?? 0)
  if (start >= text.length) return { kind: "end", value: "", start: text.length, end: text.length }
  for (const [kind, pattern] of patterns) {
    const found = at(pattern, text, start)
    if (found !== undefined) {
      return { kind, value: kind === "text" ? unquoted(found, start) : found, start, end: start + found.length }
    }
  }
  throw new Stopped(
    start,
    text[start] === "\"" ? "this text in quotes has no end" : `nothing begins with ${shown(text, start)}`
  )
}

/** A token as messages show it. */
export const show = ({ kind, value }: Token): string =>
  kind === "end" ? "the end" : JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value)
