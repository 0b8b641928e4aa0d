/**
 * The distribution of a sum of independent waits, by its Fourier series: the characteristic function of the sum is
 * the product of those of the waits, each known in closed form. No grid, so a wait of a millisecond and one of a day
 * stand in one sum.
 */
import type { Step } from "./mixture.ts"

const terms = 1024
// A term can be zero by chance; this many in a row are the end.
const enoughNegligible = 8

const sinc = (x: number): number => x === 0 ? 1 : Math.sin(x) / x

/** The mean of a wave over a wait, as its size and its angle, counted from the shortest wait. */
const waveOf = (step: Step, frequency: number): readonly [size: number, angle: number] => {
  const shortest = step[0]!.from
  let real = 0
  let imaginary = 0
  for (const { from, weights, width } of step) {
    const cell = frequency * width / weights.length
    // The cells from the last to the first, each turned by one cell against the one before it.
    const cos = Math.cos(cell)
    const sin = Math.sin(cell)
    let x = 0
    let y = 0
    for (let i = weights.length - 1; i >= 0; i--) {
      const turned = x * cos - y * sin + weights[i]!
      y = x * sin + y * cos
      x = turned
    }
    const size = sinc(cell / 2)
    const angle = frequency * (from - shortest) + cell / 2
    const first = Math.cos(angle) * size
    const second = Math.sin(angle) * size
    real += x * first - y * second
    imaginary += x * second + y * first
  }
  return [Math.hypot(real, imaginary), Math.atan2(imaginary, real)]
}

/** The same of a sum of independent waits; once it is smaller than `negligible`, it does not matter. */
export const wave = (
  steps: ReadonlyArray<Step>,
  frequency: number,
  negligible: number
): readonly [size: number, angle: number] => {
  let size = 1
  let angle = 0
  let found: readonly [number, number] = [1, 0]
  for (let i = 0; i < steps.length && size >= negligible; i++) {
    if (steps[i] !== steps[i - 1]) found = waveOf(steps[i]!, frequency)
    size *= found[0]
    angle += found[1]
  }
  return [size, angle]
}

/** What is known of a sum without its percentiles. */
export const extent = (steps: ReadonlyArray<Step>): { readonly least: number; readonly range: number } => {
  let least = 0
  let range = 0
  for (const step of steps) {
    const last = step[step.length - 1]!
    least += step[0]!.from
    range += last.from + last.width - step[0]!.from
  }
  return { least, range }
}

/** A distribution by its Fourier series. */
export interface Series {
  /** Where it begins and how far it goes. */
  readonly least: number
  readonly range: number
  /** By wave, the first of which turns once in the range and a margin at either end. */
  readonly sizes: ReadonlyArray<number>
  readonly angles: ReadonlyArray<number>
}

// The series repeats itself: the margin keeps what gathers at one end apart from the other.
const margin = 1 / 20

/** How much the first wave turns in a millisecond. */
export const turn = (range: number): number => 2 * Math.PI / (range * (1 + 2 * margin))

/** The series of the sum of independent waits; it ends where waves are smaller than `negligible`. */
export const sum = (steps: ReadonlyArray<Step>, negligible = 1e-7): Series => {
  const { least, range } = extent(steps)
  const varying = steps.filter((step) => step.length > 1 || step[0]!.width > 0)
  const sizes: Array<number> = []
  const angles: Array<number> = []
  let inARow = 0
  for (let m = 1; range > 0 && m <= terms && inARow < enoughNegligible; m++) {
    const [size, angle] = wave(varying, turn(range) * m, negligible * m / terms)
    sizes.push(size)
    angles.push(angle)
    inARow = size < negligible ? inARow + 1 : 0
  }
  return { least, range, sizes, angles }
}

/** The function that gives the share of the sums that are at most so long, in milliseconds. */
export const shares = ({ angles, least, range, sizes }: Series): (x: number) => number => {
  if (range === 0) return (x) => x < least ? 0 : 1
  const once = turn(range)
  const amplitudes = sizes.map((size, m) => size / (Math.PI * (m + 1)))
  const start = amplitudes.reduce(
    (sum, amplitude, m) => sum + amplitude * Math.sin(once * (m + 1) * range * margin + angles[m]!),
    0
  )
  return (x) => {
    let sum = (x - least + range * margin) * once / (2 * Math.PI) + start
    for (let m = 0; m < amplitudes.length; m++) {
      sum += amplitudes[m]! * Math.sin(once * (m + 1) * (x - least) - angles[m]!)
    }
    return sum
  }
}

/** Where a share that rises from one time to another gets to `p`. */
export const inverse =
  (share: (x: number) => number, from: number, to: number, halvings = 24) => (p: number): number => {
    let low = from
    let high = to
    for (let i = 0; i < halvings; i++) {
      const middle = (low + high) / 2
      if (share(middle) < p) low = middle
      else high = middle
    }
    return (low + high) / 2
  }

/** The function that gives percentiles (0 to 1). */
export const percentiles = (series: Series): (p: number) => number =>
  inverse(shares(series), series.least, series.least + series.range)
