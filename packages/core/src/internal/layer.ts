import * as causeChain from "./causeChain.ts"

/** A string and not a symbol or a class, so that two copies of the package know each other's errors. */
interface Marked {
  readonly "~@reprise/core/RetryExhausted"?: unknown
}

interface Wrapping {
  readonly cause?: unknown
  readonly errors?: unknown
  readonly reason?: unknown
}

// These run at every failure of every run. A property read by its own name is several times as fast as `in`, or as a
// read by a variable key, on the long prototype chain of an error.

/** Whether a value is a `RetryExhausted`. A hostile one that throws when it is looked at is none. */
export const isExhausted = (u: unknown): boolean => {
  if (!causeChain.isObject(u)) return false
  try {
    return (u as Marked)["~@reprise/core/RetryExhausted"] === "~@reprise/core/RetryExhausted" // Read, not trusted.
  } catch {
    return false
  }
}

const wraps = (error: object): boolean => {
  try {
    const { cause, errors, reason } = error as Wrapping // Read, not trusted.
    return cause !== undefined || reason !== undefined || errors !== undefined || Array.isArray(error)
  } catch {
    return true
  }
}

const longestList = 100

/** The errors that came together: an array of them, or those of an `AggregateError`. */
const together = (error: object): ReadonlyArray<unknown> => {
  const list = Array.isArray(error) ? error : causeChain.get(error, "errors")
  return Array.isArray(list) ? list.slice(0, longestList) : []
}

/** Whether it is the failure that a run inside left to the run around it, where layers collapse. */
const isCollapsed = (exhausted: unknown): boolean => {
  const reason = causeChain.isObject(exhausted) ? causeChain.get(exhausted, "reason") : undefined
  return causeChain.isObject(reason) && causeChain.get(reason, "_tag") === "Collapsed"
}

/** Exhausted, and not left to the run around it, which judges it also under another error. */
const isFinal = (error: unknown): boolean => isExhausted(error) && !isCollapsed(error)

const found = (inner: object): true | undefined =>
  isFinal(inner) || together(inner).some((error) => causeChain.find(error, member) === true)
    ? true
    : undefined

const member = (inner: object): true | undefined => isFinal(inner) ? true : undefined

/** Whether an error ends the run around: a run inside is exhausted, or hides in what it was mapped to. */
export const endsOuter = (error: unknown): boolean => isFinal(error) || hidesExhausted(error)

/** Whether an error was made from a `RetryExhausted`, among its causes or among the errors that it stands for. */
export const hidesExhausted = (error: unknown): boolean =>
  causeChain.isObject(error) && wraps(error) && causeChain.find(error, found) === true

/** The error that a run inside left to this one, or the value itself. */
export const handedOver = (error: unknown): unknown =>
  causeChain.isObject(error) && isExhausted(error) && isCollapsed(error) ? causeChain.get(error, "lastError") : error
