/** Parameters: how many a text takes, and the values that SQLite can hold. */
import { isDate } from "effect/Predicate"
import type { SQLInputValue } from "node:sqlite"
import * as Failure from "./failure.ts"

// What may hide a question mark is one token: literals, quoted names, comments and names. A doubled quote inside a
// literal reads as two literals side by side, which comes to the same.
const token =
  /'[^']*'?|"[^"]*"?|`[^`]*`?|\[[^\]]*\]?|--[^\n]*|\/\*[^]*?(?:\*\/|$)|[\w\u0080-\uffff][\w$\u0080-\uffff]*|\?\d*|[:@$][\w$\u0080-\uffff]+/g

/**
 * How many parameters the text takes. `node:sqlite` does not tell, and takes NULL for those that were not given.
 *
 * @throws `SqlError` for named and numbered parameters: an array has no names
 */
export const count = (sql: string): number => {
  if (!/[?:@$]/.test(sql)) return 0
  let found = 0
  for (const [text] of sql.matchAll(token)) {
    if (text === "?") found++
    else if (/^[?:@$]/.test(text)) {
      throw Failure.refusedText(`the parameter ${text} has a name; write ? and give the values in order`)
    }
  }
  return found
}

const describe = (value: unknown): string => {
  if (typeof value === "bigint") return "a bigint of more than 64 bits"
  if (value instanceof ArrayBuffer) return "an ArrayBuffer; bind a view of it, new Uint8Array(buffer)"
  if (isDate(value)) return "a Date; bind its getTime() or its toISOString()"
  if (Array.isArray(value)) return "an array; sql.in(values) makes a list, JSON.stringify(values) a text"
  if (typeof value === "object") return "an object; bind its fields one by one, or JSON.stringify it"
  return `a ${typeof value}`
}

const storable = (value: unknown): value is SQLInputValue =>
  typeof value === "string" || typeof value === "number" || value === null || ArrayBuffer.isView(value) ||
  (typeof value === "bigint" && BigInt.asIntN(64, value) === value)

const allStorable = (values: ReadonlyArray<unknown>): values is ReadonlyArray<SQLInputValue> => {
  // Twice as fast as `every`, which a batch of thousands of values feels.
  for (let index = 0; index < values.length; index++) if (!storable(values[index])) return false
  return true
}

const convert = (value: unknown, index: number): SQLInputValue => {
  if (storable(value)) return value
  // As a number it would be a REAL, and "1.0" in a column of texts.
  if (typeof value === "boolean") return value ? 1n : 0n
  if (value === undefined) return null
  throw Failure.refusal(`parameter ${index + 1} is ${describe(value)}`, "bind")
}

/**
 * The values as SQLite holds them: `true` is 1, `false` is 0 and `undefined` is NULL.
 *
 * @throws `SqlError` for any other value, and for too many or too few of them. It names the place, never the value
 */
export const bind = (values: ReadonlyArray<unknown>, expected: number): ReadonlyArray<SQLInputValue> => {
  if (values.length !== expected) {
    throw Failure.refusal(`the statement takes ${expected} parameters, and ${values.length} were given`, "bind")
  }
  // Most often there is nothing to convert, and a copy would be the greater part of the work.
  return allStorable(values) ? values : values.map(convert)
}
