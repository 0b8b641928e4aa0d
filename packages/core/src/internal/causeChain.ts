/**
 * The chain of what an error wraps: itself, its `reason`, its `cause`, theirs.
 */

// Deeper than any chain that people build, and an end for one that a Proxy builds while it is read.
const limit = 100

/** Whether a value is an object with properties to read. */
export const isObject = (value: unknown): value is object => typeof value === "object" && value !== null

/**
 * Reads a property of a value that came from anywhere: a getter or a `Proxy` that throws counts as absent.
 */
export const get = (self: object, key: PropertyKey): unknown => {
  try {
    // Every object may be read by any key; the value stays unknown.
    return (self as Record<PropertyKey, unknown>)[key]
  } catch {
    return undefined
  }
}

/**
 * The first answer of `f` to an error and what it wraps through `reason` and `cause`, outermost first.
 *
 * `f` sees every object once, at most 100 of them: cycles and endless chains end. A value that is no object has no
 * chain. When `f` throws, because the object is hostile to being looked at, it has no answer there.
 */
export const find = <A>(error: unknown, f: (error: object) => A | undefined): A | undefined => {
  if (!isObject(error)) return undefined
  // Both the queue and what was seen; an error that wraps nothing, the common one, allocates none.
  let seen: Array<object> | undefined
  let current: object | undefined = error
  for (let index = 1; current !== undefined; index++) {
    const found = ask(f, current)
    if (found !== undefined) return found
    const reason = get(current, "reason")
    const cause = get(current, "cause")
    if (isObject(reason)) push(seen ??= [error], reason)
    if (isObject(cause)) push(seen ??= [error], cause)
    current = seen?.[index]
  }
  return undefined
}

const ask = <A>(f: (error: object) => A | undefined, error: object): A | undefined => {
  try {
    return f(error)
  } catch {
    return undefined
  }
}

const push = (seen: Array<object>, inner: object): void => {
  if (seen.length < limit && !seen.includes(inner)) seen.push(inner)
}
