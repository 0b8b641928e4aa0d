const units: ReadonlyArray<readonly [name: string, millis: number]> = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1_000]
]

/**
 * Milliseconds in the notation: the largest unit from a second upwards in which the number is whole, else seconds with
 * a few decimals, else milliseconds. Reading it back gives the same number.
 */
export const write = (millis: number): string => {
  for (const [name, size] of units) {
    const amount = millis / size
    if (amount >= 1 && Number.isSafeInteger(amount) && amount * size === millis) return `${amount}${name}`
  }
  const seconds = millis / 1000
  return seconds >= 1 && seconds * 1000 === millis && String(seconds).length <= 6 ? `${seconds}s` : `${millis}ms`
}

/** The same for sentences: with a space before the unit, and minutes that nobody takes for metres. */
export const spell = (millis: number): string => write(millis).replace(/[a-z]+$/, " $&").replace(/ m$/, " min")
