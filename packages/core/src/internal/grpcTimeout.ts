/** The grammar of `grpc-timeout`: `TimeoutValue TimeoutUnit`, a positive integer of at most 8 digits and one letter. */

/** Nanoseconds of each unit, the finest first. */
const units: ReadonlyArray<readonly [string, bigint]> = [
  ["n", 1n],
  ["u", 1_000n],
  ["m", 1_000_000n],
  ["S", 1_000_000_000n],
  ["M", 60_000_000_000n],
  ["H", 3_600_000_000_000n]
]

const most = 99_999_999n

/** In the finest unit that holds it, cut; the longest that the grammar can say where none does. */
export const format = (nanos: bigint): string => {
  for (const [letter, size] of units) {
    const value = nanos / size
    if (value <= most) return `${value}${letter}`
  }
  return `${most}H`
}

export const parse = (header: string): bigint | undefined => {
  const match = /^(\d{1,8})([numSMH])$/.exec(header)
  const size = units.find(([letter]) => letter === match?.[2])?.[1]
  return match?.[1] === undefined || size === undefined ? undefined : BigInt(match[1]) * size
}
