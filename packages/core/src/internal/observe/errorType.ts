import { get, isObject } from "../causeChain.ts"
import { other } from "./names.ts"

// What a program calls its classes and tags. Anything else may be data, and data may be secret.
const identifier = /^[\w$.:@/~-]{1,100}$/

// The name of an error is set by whoever likes, so it must look like that of a class.
const plain = /^[a-z_$][\w$]{0,63}$/i

// Longer numbers are those of cards, accounts and orders.
const shortNumber = /^-?\d{1,5}$/

// What says no more than that it is an error.
const bare = /^(?:error|object)$/i

const read = (error: object, key: string): string | undefined => {
  const value = get(error, key)
  return typeof value === "string" && value !== "" ? value : undefined
}

const telling = (text: string | undefined): string | undefined =>
  text === undefined || bare.test(text) ? undefined : text

const className = (error: object): string | undefined => {
  const made = get(error, "constructor")
  return typeof made === "function" ? read(made, "name") : undefined
}

/** The code of an error: a short word such as `ECONNREFUSED`, or a number of at most five digits, such as `40001`. */
export const errorCode = (error: unknown): string | undefined => {
  const code = isObject(error) ? get(error, "code") : undefined
  if (typeof code !== "number" && typeof code !== "string") return undefined
  const text = String(code)
  return shortNumber.test(text) || (typeof code === "string" && identifier.test(text) && /[a-z]/i.test(text))
    ? text
    : undefined
}

/** The tag of an error, where it has one. */
export const errorTag = (error: unknown): string | undefined => {
  const tag = isObject(error) ? read(error, "_tag") : undefined
  return tag !== undefined && identifier.test(tag) ? tag : undefined
}

/**
 * What kind of error it is: its tag, or else the name that it gives itself, that of its class, its code. Never what it
 * says: a message may hold a secret.
 */
export const errorType = (error: unknown): string => {
  if (!isObject(error)) return error === null ? "null" : typeof error
  const tag = read(error, "_tag")
  const name = read(error, "name")
  if (tag === undefined && name !== undefined && !plain.test(name)) return other
  const type = tag ?? telling(name) ?? telling(className(error)) ?? errorCode(error) ?? name ?? "Object"
  return identifier.test(type) ? type : other
}
