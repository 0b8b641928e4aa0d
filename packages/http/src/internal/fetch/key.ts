/** Whether a request carries an idempotency key. */

// An empty value, as of a variable that was not set, tells no two requests apart.
const isKey = (value: string | null): boolean => value !== null && !/^\s*(?:""\s*)?$/.test(value)

/** Whether one of these headers is a key. */
export const hasKey = (headers: Headers, names: ReadonlyArray<string>): boolean =>
  names.some((name) => isKey(headers.get(name)))
