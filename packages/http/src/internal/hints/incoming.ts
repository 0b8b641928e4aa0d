/**
 * A response as the rules see it: headers by name, whatever they came in, and nothing that throws.
 */
import type { Incoming, Response } from "../../RetryHint.ts"

/** Reads a property of a value that came from anywhere: one that throws counts as absent. */
export const get = (self: unknown, key: PropertyKey): unknown => {
  if (typeof self !== "object" || self === null) return undefined
  try {
    // Every object may be read by any key; the value stays unknown.
    return (self as Record<PropertyKey, unknown>)[key]
  } catch {
    return undefined
  }
}

export const make = (response: Response): Incoming => {
  const status = get(response, "status")
  return {
    status: typeof status === "number" ? status : 0,
    header: lookup(get(response, "headers")),
    body: get(response, "body")
  }
}

const lookup = (headers: unknown): (name: string) => string | undefined => {
  const read = get(headers, "get")
  if (typeof read === "function") {
    return (name) => {
      try {
        const value: unknown = Reflect.apply(read, headers, [name])
        return typeof value === "string" ? value : undefined
      } catch {
        return undefined
      }
    }
  }
  // Made at the first question: most readings ask many.
  let byName: ReadonlyMap<string, string> | undefined
  return (name) => (byName ??= index(headers)).get(name)
}

const index = (headers: unknown): ReadonlyMap<string, string> => {
  const byName = new Map<string, string>()
  for (const key of keysOf(headers)) {
    const value = textOf(get(headers, key))
    if (value === undefined) continue
    const name = key.toLowerCase()
    const other = byName.get(name)
    byName.set(name, other === undefined ? value : `${other}, ${value}`)
  }
  return byName
}

const keysOf = (headers: unknown): ReadonlyArray<string> => {
  try {
    return typeof headers === "object" && headers !== null ? Object.keys(headers) : []
  } catch {
    return []
  }
}

/** Several lines of one name are one value, as fetch joins them (RFC 9110, 5.3). */
const textOf = (value: unknown): string | undefined => {
  if (typeof value === "string") return value
  if (!Array.isArray(value)) return undefined
  const lines: ReadonlyArray<unknown> = value
  return lines.length > 0 && lines.every((line) => typeof line === "string") ? lines.join(", ") : undefined
}
