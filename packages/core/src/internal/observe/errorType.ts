import { get, isObject } from "../causeChain.ts"
import { other } from "./names.ts"

// What a program calls its classes and tags. Anything else may be data, and data may be secret.
const identifier = /^[\w$.:@/~-]{1,100}$/

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

/** The code of an error: a short word such as `ECONNREFUSED` or `40001`, or a number. */
export const errorCode = (error: unknown): string | undefined => {
  const code = isObject(error) ? get(error, "code") : undefined
  if (typeof code === "number") return String(code)
  return typeof code === "string" && identifier.test(code) ? code : undefined
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
  const type = read(error, "_tag") ?? telling(read(error, "name")) ?? telling(className(error)) ?? errorCode(error) ??
    read(error, "name") ?? "Object"
  return identifier.test(type) ? type : other
}
