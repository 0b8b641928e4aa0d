/** The sum of many waits that depend on each other, by its Fourier series: for one that is not close to nothing. */
import type { Added, Draw } from "./chain.ts"
import type { Series } from "./series.ts"
import { turn } from "./series.ts"

/** Waves that are carried from retry to retry together. */
const together = 16
const negligible = 1e-3

/** What waves come to at each point, in the mean over what is waited there: real and imaginary parts by turns. */
const wavesOf = ({ waits, weights }: Added, frequencies: Float64Array): Float64Array => {
  const found = new Float64Array(waits[0]!.length * frequencies.length * 2)
  waits.forEach((wait, k) => {
    let at = 0
    for (const millis of wait) {
      for (const frequency of frequencies) {
        found[at++]! += weights[k]! * Math.cos(frequency * millis)
        found[at++]! += weights[k]! * Math.sin(frequency * millis)
      }
    }
  })
  return found
}

/** Adds to every row what is waited there. */
const turned = (masses: Float64Array, waves: Float64Array): void => {
  for (let at = 0; at < masses.length; at += 2) {
    const real = masses[at]!
    const imaginary = masses[at + 1]!
    masses[at] = real * waves[at]! - imaginary * waves[at + 1]!
    masses[at + 1] = real * waves[at + 1]! + imaginary * waves[at]!
  }
}

/**
 * The series of the sum of what is added and of something independent of it, of which `rest` gives the waves: `most` of
 * them at most. Sums outside of `least` and `range` are too rare to count.
 */
export const sum = (
  draw: Draw,
  added: ReadonlyArray<Added>,
  rest: (frequency: number) => readonly [size: number, angle: number],
  least: number,
  range: number,
  most: number
): Series => {
  const sizes: Array<number> = []
  const angles: Array<number> = []
  const columns = 2 * together
  const masses = new Float64Array(added[0]!.waits[0]!.length * columns)
  for (let largest = 1; largest > negligible && sizes.length < most;) {
    const frequencies = Float64Array.from({ length: together }, (_, m) => turn(range) * (sizes.length + m + 1))
    masses.fill(0)
    for (let j = 0; j < columns; j += 2) masses[j] = 1
    let waves: Float64Array = masses
    let rows = 1
    added.forEach((next, index) => {
      rows = draw(masses, columns, rows)
      if (next !== added[index - 1]) waves = wavesOf(next, frequencies)
      turned(masses, waves)
    })
    largest = 0
    for (let j = 0; j < columns; j += 2) {
      let real = 0
      let imaginary = 0
      for (let at = j; at < masses.length; at += columns) {
        real += masses[at]!
        imaginary += masses[at + 1]!
      }
      const frequency = frequencies[j / 2]!
      const [size, angle] = rest(frequency)
      sizes.push(size * Math.hypot(real, imaginary))
      angles.push(angle + Math.atan2(imaginary, real) - frequency * least)
      largest = Math.max(largest, sizes[sizes.length - 1]! / sizes.length)
    }
  }
  return { least, range, sizes, angles }
}
