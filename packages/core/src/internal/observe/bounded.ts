import { other } from "./names.ts"

/** No name that a program gives is longer, and one that is would be data. */
const longest = 256

/**
 * At most `most` different names; those that come later, or are too long, are `_OTHER`, for good. A name never changes
 * sides: what was added under it can be taken away again.
 */
export const bounded = (most: number): (name: string) => string => {
  const known = new Set<string>()
  return (name) => {
    if (known.has(name)) return name
    if (known.size === most || name.length > longest || name === other) return other
    known.add(name)
    return name
  }
}
