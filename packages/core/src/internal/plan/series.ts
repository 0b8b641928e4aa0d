/**
 * The distribution of a sum of independent waits, by its Fourier series: the characteristic function of the sum is
 * the product of those of the waits, each known in closed form. No grid, so a wait of a millisecond and one of a day
 * stand in one sum.
 */
import type { Step } from "./steps.ts"

const terms = 1024
const negligible = 1e-7
// A term can be zero by chance; this many in a row are the end.
const enoughNegligible = 8

const sinc = (x: number): number => x === 0 ? 1 : Math.sin(x) / x

/** The function that gives percentiles (0 to 1) of the sum, in milliseconds. */
export const percentiles = (steps: ReadonlyArray<Step>): (p: number) => number => {
  let least = 0
  let range = 0
  const varying: Array<Step> = []
  for (const step of steps) {
    const first = step[0]!
    const last = step[step.length - 1]!
    const own = last.from + last.width - first.from
    least += first.from
    range += own
    if (own > 0) varying.push(step)
  }
  if (range === 0) return () => least

  // The series repeats itself: the margin keeps what gathers at one end apart from the other.
  const margin = range / 20
  const period = range + 2 * margin
  const amplitudes: Array<number> = []
  const phases: Array<number> = []
  let offset = 0
  let inARow = 0
  for (let m = 1; m <= terms && inARow < enoughNegligible; m++) {
    const frequency = 2 * Math.PI * m / period
    let amplitude = 2 / (period * frequency)
    let phase = 0
    for (const step of varying) {
      const from = step[0]!.from
      let real = 0
      let imaginary = 0
      for (const segment of step) {
        const angle = frequency * (segment.from - from + segment.width / 2)
        const size = segment.weight * sinc(frequency * segment.width / 2)
        real += size * Math.cos(angle)
        imaginary += size * Math.sin(angle)
      }
      amplitude *= Math.hypot(real, imaginary)
      phase += Math.atan2(imaginary, real)
      if (amplitude < negligible / terms) break
    }
    amplitudes.push(amplitude)
    phases.push(phase)
    offset += amplitude * Math.sin(frequency * margin + phase)
    inARow = amplitude * m < negligible ? inARow + 1 : 0
  }

  /** The share of sums that are at most `x` above the least. */
  const share = (x: number): number => {
    let sum = (x + margin) / period + offset
    for (let m = 0; m < amplitudes.length; m++) {
      sum += amplitudes[m]! * Math.sin(2 * Math.PI * (m + 1) / period * x - phases[m]!)
    }
    return sum
  }

  return (p) => {
    let low = 0
    let high = range
    for (let i = 0; i < 24; i++) {
      const middle = (low + high) / 2
      if (share(middle) < p) low = middle
      else high = middle
    }
    return least + (low + high) / 2
  }
}
