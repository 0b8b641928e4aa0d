import { clamp } from "./node.ts"

/** R7: the largest spread that is added to a hint, so that clients that were given one date do not return together. */
export const spreadOf = (wait: number): number => clamp(wait / 10, 5000)
