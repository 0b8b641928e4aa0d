import * as causeChain from "./causeChain.ts"

/** A string and not a symbol or a class, so that two copies of the package know each other's errors. */
const exhaustedKey = "~@reprise/core/RetryExhausted"

// Reading is several times as fast as `in` on the long prototype chain of an error.
export const isExhausted = (u: unknown): boolean =>
  causeChain.isObject(u) && causeChain.get(u, exhaustedKey) === exhaustedKey

const found = (inner: object): true | undefined => isExhausted(inner) ? true : undefined

/** Whether an error was made from a `RetryExhausted`, however deep it lies among its causes. */
export const hidesExhausted = (error: unknown): boolean =>
  causeChain.isObject(error) &&
  (causeChain.get(error, "cause") !== undefined || causeChain.get(error, "reason") !== undefined) &&
  causeChain.find(error, found) === true
