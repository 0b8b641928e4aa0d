/** A state of the switch as data: what it is, and a text turned into one. */
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type * as SchemaIssue from "effect/SchemaIssue"
import { isLine } from "../hidden.ts"
import { nearest } from "../notation/nearest.ts"
import { InvalidControl } from "./invalid.ts"
import { twice, wrong } from "./json.ts"

export interface Entry {
  readonly retries?: "on" | "off"
  readonly ratio?: number
}

export interface State extends Entry {
  readonly operations?: { readonly [name: string]: Entry }
  readonly origins?: { readonly [origin: string]: Entry }
  readonly by?: string
  readonly at?: string
  readonly why?: string
}

export const mostCharacters = 65_536

const mostOfName = 256

const isShortLine = (text: string): boolean => text.length <= mostOfName && isLine(text)

// What assigns under this key sets a prototype instead, and then nothing is switched.
const isName = (text: string): boolean => text.length > 0 && isShortLine(text) && text !== "__proto__"

// A path, a slash at the end, a capital: no call ever has such an origin, so it would switch nothing.
const isOrigin = (text: string): boolean =>
  isName(text) && (!/^https?:/i.test(text) || /^https?:\/\/[^/?#A-Z\s]+$/.test(text))

const make = (): Schema.Codec<State> => {
  const entry = {
    retries: Schema.optionalKey(Schema.Literals(["on", "off"])),
    ratio: Schema.optionalKey(Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 })))
  }
  const line = Schema.optionalKey(Schema.String.check(Schema.makeFilter(isShortLine)))
  const entries = (isKey: (text: string) => boolean) =>
    Schema.optionalKey(Schema.Record(Schema.String.check(Schema.makeFilter(isKey)), Schema.Struct(entry)))
  return Schema.Struct({
    ...entry,
    operations: entries(isName),
    origins: entries(isOrigin),
    by: line,
    at: line,
    why: line
  }).annotate({ identifier: "RetryControl" })
}

export const schema: Schema.Codec<State> = /* @__PURE__ */ make()

const entryKeys = ["retries", "ratio"]
const stateKeys = [...entryKeys, "operations", "origins", "by", "at", "why"]

const line = `a line of at most ${mostOfName} characters`
const name = `a name of 1 to ${mostOfName} characters`
const values: { readonly [key: string]: string } = {
  retries: "\"on\" or \"off\"",
  ratio: "a number from 0 to 1",
  operations: "an object of entries by operation",
  origins: "an object of entries by origin",
  by: line,
  at: line,
  why: line
}

/** What a key must be that is not known where it stands. */
const keyRule = (path: ReadonlyArray<string>): string => {
  if (path.length === 2) return path[0] === "origins" ? `an origin such as "https://api.example.com", or ${name}` : name
  const known = path.length === 1 ? stateKeys : entryKeys
  const meant = nearest(path.at(-1)!, known)
  return `one of ${known.join(", ")}${meant === undefined ? "" : ` (did you mean ${meant}?)`}`
}

const valueRule = (path: ReadonlyArray<string>): string =>
  path.length % 2 === 0 ? "an object with retries or ratio" : values[path.at(-1)!] ?? "what the switch knows"

/** The first place that is wrong, and whether its key is. */
const first = (
  issue: SchemaIssue.Issue,
  path: ReadonlyArray<string> = []
): { readonly path: ReadonlyArray<string>; readonly key: boolean } => {
  if (issue._tag === "Pointer") return first(issue.issue, [...path, ...issue.path.map(String)])
  if (issue._tag === "Composite") return first(issue.issues[0], path)
  return { path, key: issue._tag === "UnexpectedKey" }
}

const at = (value: unknown, path: ReadonlyArray<string>): unknown =>
  path.reduce<unknown>((inner, key) => Predicate.isObject(inner) ? Reflect.get(inner, key) : undefined, value)

const written = (path: ReadonlyArray<string>): string =>
  path.map((key, index) => {
    // A key that is wrong may be long, or anything.
    const quoted = JSON.stringify(key.slice(0, 40))
    if (index % 2 === 1) return `[${quoted}]`
    return `${index === 0 ? "" : "."}${/^\w{1,40}$/.test(key) ? key : quoted}`
  }).join("")

// Made at the first use: a compiled parser is nothing that an import should pay for.
let decode: ((value: unknown) => Result.Result<State, Schema.SchemaError>) | undefined

/** A value as a state, or what is wrong with it. */
export const fromUnknown = (value: unknown): Result.Result<State, InvalidControl> => {
  decode ??= Schema.decodeUnknownResult(schema, { onExcessProperty: "error", errors: "first" })
  const decoded = decode(value)
  if (Result.isSuccess(decoded)) return Result.succeed(decoded.success)
  const { path, key } = first(decoded.failure.issue)
  if (!key && path.length === 0) return failure("The state", value, "a JSON object")
  return key
    ? failure(`The key ${written(path)}`, path.at(-1), keyRule(path))
    : failure(written(path), at(value, path), valueRule(path))
}

/** A text as a state, or what is wrong with it. */
export const fromText = (text: string): Result.Result<State, InvalidControl> => {
  if (text.length > mostCharacters) return Result.fail(tooLong(`${text.length} characters`))
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    const { column, line, piece } = wrong(text)
    return failure(`Line ${line}, column ${column}`, piece, "JSON")
  }
  return Result.flatMap(fromUnknown(value), (state) => {
    // An entry is in an object of entries, and that in the state.
    const path = twice(text, 3)
    return path === undefined
      ? Result.succeed(state)
      : failure(`The key ${written(path)}`, path.at(-1), "given once, not twice")
  })
}

const failure = (place: string, value: unknown, rule: string): Result.Result<never, InvalidControl> =>
  Result.fail(new InvalidControl({ place, value, rule }))

/** The error for a text of this size. */
export const tooLong = (size: string): InvalidControl =>
  new InvalidControl({ place: "The text", value: size, rule: `at most ${mostCharacters} characters long` })
