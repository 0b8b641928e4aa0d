/**
 * As much of Structured Fields (RFC 9651) as the RateLimit fields need: lists and dictionaries of items with their
 * parameters. One pass, no way back.
 */
import { isDigit } from "./text.ts"

/** A value without parameters; only of an integer does anybody ask what it is. */
export type Bare = { readonly type: "integer"; readonly value: number } | {
  readonly type: "string" | "token" | "other"
}

export interface Item {
  readonly value: Bare
  readonly parameters: ReadonlyMap<string, Bare>
}

interface Cursor {
  readonly text: string
  at: number
}

/** The members of a list; undefined when it is malformed or empty. */
export const parseList = (text: string): ReadonlyArray<Item> | undefined => members({ text, at: 0 }, item)

/** The members of a dictionary by their keys, of which the last counts; undefined when it is malformed or empty. */
export const parseDictionary = (text: string): ReadonlyMap<string, Bare> | undefined => {
  const entries = members({ text, at: 0 }, (cursor): readonly [string, Bare] | undefined => {
    const named = entry(cursor)
    return named !== undefined && parameters(cursor) !== undefined ? named : undefined
  })
  return entries && new Map(entries)
}

const members = <A>(cursor: Cursor, one: (cursor: Cursor) => A | undefined): ReadonlyArray<A> | undefined => {
  const all: Array<A> = []
  do {
    skip(cursor, isBlank)
    const member = one(cursor)
    if (member === undefined) return undefined
    all.push(member)
    skip(cursor, isBlank)
  } while (take(cursor, ","))
  return cursor.at === cursor.text.length ? all : undefined
}

const item = (cursor: Cursor): Item | undefined => {
  const value = bare(cursor)
  const found = value && parameters(cursor)
  return value && found && { value, parameters: found }
}

const parameters = (cursor: Cursor): ReadonlyMap<string, Bare> | undefined => {
  const all = new Map<string, Bare>()
  while (take(cursor, ";")) {
    skip(cursor, (code) => code === 32)
    const named = entry(cursor)
    if (named === undefined) return undefined
    all.set(named[0], named[1])
  }
  return all
}

/** A key and what it is equal to; a key alone is true. */
const entry = (cursor: Cursor): readonly [key: string, value: Bare] | undefined => {
  const first = cursor.text.charCodeAt(cursor.at)
  if (!isLower(first) && first !== 42) return undefined
  const key = skip(cursor, (code) => isLower(code) || isDigit(code) || code === 95 || isOneOf("-.*", code))
  const value: Bare | undefined = take(cursor, "=") ? bare(cursor) : { type: "other" }
  return value && [key, value]
}

const bare = (cursor: Cursor): Bare | undefined => {
  const first = cursor.text.charCodeAt(cursor.at)
  if (first === 45 || isDigit(first)) return number(cursor)
  if (isLetter(first) || first === 42) {
    skip(cursor, (code) => isLetter(code) || isDigit(code) || isOneOf("!#$%&'*+-.^_`|~:/", code))
    return { type: "token" }
  }
  if (take(cursor, `"`)) return quoted(cursor) ? { type: "string" } : undefined
  if (take(cursor, ":")) {
    skip(cursor, (code) => isLetter(code) || isDigit(code) || isOneOf("+/=", code))
    return take(cursor, ":") ? { type: "other" } : undefined
  }
  if (take(cursor, "?")) return take(cursor, "0") || take(cursor, "1") ? { type: "other" } : undefined
  if (take(cursor, "@")) return number(cursor)?.type === "integer" ? { type: "other" } : undefined
  return take(cursor, "%") && take(cursor, `"`) && quoted(cursor) ? { type: "other" } : undefined
}

const number = (cursor: Cursor): Bare | undefined => {
  const sign = take(cursor, "-") ? -1 : 1
  const whole = skip(cursor, isDigit)
  if (whole === "") return undefined
  if (take(cursor, ".")) return skip(cursor, isDigit) === "" ? undefined : { type: "other" }
  // Past the 15 digits of the grammar it is read all the same: a wait so long is too long, and not absent.
  return { type: "integer", value: sign * Number(whole) }
}

/** Reads on to the closing quote, which must come. */
const quoted = (cursor: Cursor): boolean => {
  for (;;) {
    skip(cursor, (code) => code >= 32 && code <= 126 && code !== 34 && code !== 92)
    if (take(cursor, `"`)) return true
    if (!take(cursor, "\\") || !(take(cursor, `"`) || take(cursor, "\\"))) return false
  }
}

const take = (cursor: Cursor, character: string): boolean => {
  if (cursor.text[cursor.at] !== character) return false
  cursor.at++
  return true
}

const skip = (cursor: Cursor, accepts: (code: number) => boolean): string => {
  const start = cursor.at
  while (cursor.at < cursor.text.length && accepts(cursor.text.charCodeAt(cursor.at))) cursor.at++
  return cursor.text.slice(start, cursor.at)
}

const isBlank = (code: number): boolean => code === 32 || code === 9
const isLower = (code: number): boolean => code >= 97 && code <= 122
const isLetter = (code: number): boolean => isLower(code) || code >= 65 && code <= 90
const isOneOf = (characters: string, code: number): boolean => characters.includes(String.fromCharCode(code))
