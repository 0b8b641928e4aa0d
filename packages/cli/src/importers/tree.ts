/**
 * Foreign configuration as plain data, read with care: it comes from outside.
 */
import * as Result from "effect/Result"
import { parse as parseDuration } from "../durations.ts"
import type { Imported, Unread } from "./Imported.ts"

export type Fields = Readonly<Record<string, unknown>>

export const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Something in the file is not as it must be. */
export class Unreadable extends Error {}

/** The most places that are looked at, aliases counted each time. */
const mostPlaces = 100_000

interface Place {
  readonly at: string
  readonly key: string
  readonly value: unknown
  readonly parent: Fields | undefined
}

/** Every place of the data, in its order, without recursion. Throws {@link Unreadable}. */
function* places(root: unknown): Generator<Place> {
  const open: Array<Place> = [{ at: "", key: "", value: root, parent: undefined }]
  let seen = 0
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    if (++seen > mostPlaces) throw new Unreadable("is too large")
    if (place.key === "__proto__") throw new Unreadable("has a key __proto__, which is refused")
    yield place
    const { at, value } = place
    if (typeof value !== "object" || value === null) continue
    const inside = Array.isArray(value)
      ? value.map((item, index): Place => ({ at: `${at}[${index}]`, key: "", value: item, parent: undefined }))
      : Object.entries(value).map(([key, item]): Place => ({
        at: at === "" ? key : `${at}.${key}`,
        key,
        value: item,
        parent: isFields(value) ? value : undefined
      }))
    open.push(...inside.reverse())
  }
}

/** `maxInterval` and `max_interval` are one name: a protocol buffer's JSON may have either. */
const snake = (key: string): string => key.replaceAll(/[A-Z]/g, (_) => `_${_.toLowerCase()}`)

const spelledIn = (fields: Fields) => (field: string): string =>
  Object.keys(fields).find((key) => snake(key) === field) ?? field

export interface Found {
  readonly at: string
  readonly fields: Fields
  /** The fields beside it. */
  readonly beside: Fields
  /** A field's name as the file has it. */
  readonly spelled: (field: string) => string
}

/** The names of an object in one spelling. Throws where two spellings of a name meet. */
export const normalized = (fields: Fields): Fields => {
  const result = new Map<string, unknown>()
  for (const [key, value] of Object.entries(fields)) {
    if (result.has(snake(key))) throw new Unreadable(`has ${key} twice`)
    result.set(snake(key), value)
  }
  return Object.fromEntries(result)
}

/** Where something is that is all of the file. */
export const wholeFile = "the file"

/** What stands under a name, and is not read yet. */
export interface Candidate {
  readonly at: string
  /** The object that it is in. */
  readonly parent: Fields
  readonly value: unknown
}

/** What stands under a name, anywhere in the data; the whole of it, when it has that name nowhere. */
export const findAll = (root: unknown, name: string): ReadonlyArray<Candidate> => {
  const found: Array<Candidate> = []
  for (const { at, key, parent, value } of places(root)) {
    if (snake(key) === name && value !== null) found.push({ at, parent: parent ?? {}, value })
  }
  if (found.length > 0) return found
  if (!isFields(root)) throw new Unreadable(`has no ${name}`)
  return [{ at: wholeFile, parent: {}, value: root }]
}

/** Reads the fields of a candidate. Throws where it is none. */
export const fieldsOf = ({ at, parent, value }: Candidate): Found => {
  if (!isFields(value)) throw new Unreadable("has a policy that is no object")
  return { at, fields: normalized(value), beside: normalized(parent), spelled: spelledIn(value) }
}

export const json = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    // What the engine says quotes the file.
    throw new Unreadable("is no JSON")
  }
}

/** A protocol buffer's whole number: its JSON may have it as text. */
const whole = (value: unknown): number =>
  typeof value === "number" || (typeof value === "string" && /^\d{1,15}$/.test(value)) ? Number(value) : NaN

/** Milliseconds of `{ seconds, nanos }`; no number for anything else. */
const millisOf = (value: unknown): number =>
  isFields(value) && Object.keys(value).every((_) => _ === "seconds" || _ === "nanos")
    ? whole(value["seconds"] ?? 0) * 1_000 + whole(value["nanos"] ?? 0) / 1_000_000
    : NaN

/** Whether a duration is none: a protocol buffer does not tell zero from nothing. */
export const isZero = (value: unknown): boolean =>
  millisOf(value) === 0 || (typeof value === "string" && /^\s*0+(\.0+)?\s*[a-z]+\s*$/i.test(value))

/** Milliseconds of `"1.5s"` or `{ seconds, nanos }`, or of another text in the units of the notation. */
export const duration = (field: string, value: unknown): number => {
  const amount = millisOf(value)
  if (amount >= 1) return amount
  try {
    if (typeof value === "string") return parseDuration(value)
  } catch {
    // Said below, with the field.
  }
  throw new Unreadable(`has a ${field} that is no duration of at least 1 ms, such as "1.5s"`)
}

export const number = (field: string, value: unknown): number => {
  if (typeof value === "number" && Number.isFinite(value)) return value
  if (typeof value === "string" && /^\d+(\.\d+)?$/.test(value)) return Number(value)
  throw new Unreadable(`has a ${field} that is no number`)
}

/** Reads each on its own, so that a bad one does not hide the others. */
export const each = <A>(
  items: ReadonlyArray<A>,
  nameOf: (item: A) => string,
  read: (item: A) => Imported
): ReadonlyArray<Imported | Unread> =>
  items.map((item) => {
    const result = reading(() => read(item))
    return Result.isSuccess(result) ? result.success : { at: nameOf(item), problem: result.failure }
  })

/** Runs an importer's reading, and keeps what it throws about the file. */
export const reading = <A>(read: () => A): Result.Result<A, string> =>
  Result.try({
    try: read,
    catch: (error) => {
      if (error instanceof Unreadable) return error.message
      // What the constructors of policies refuse, the file asked for.
      if (error instanceof Error && "_tag" in error && error._tag === "InvalidPolicy") return error.message
      throw error
    }
  })
