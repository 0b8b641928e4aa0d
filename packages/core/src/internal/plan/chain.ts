/**
 * Waits of which each depends on the one before (`decorrelated`): a wait is remembered, and the next is drawn evenly
 * from the base up to longer times as much, and held back at a cap. Its distribution stands as masses on points that
 * are evenly apart in their logarithms, so a wait of a millisecond and one of a day are on one grid, and an integral
 * over them is exact for cubics. What the cap holds back stays together, at the last point.
 */
import { decorrelation } from "../stepper/waits.ts"

/** What one retry adds to the sum of the waits, after the next remembered wait is drawn. */
export interface Added {
  /** What is waited at each point that the remembered wait is drawn to, in as many ways as there are weights. */
  readonly waits: ReadonlyArray<Float64Array>
  readonly weights: ReadonlyArray<number>
}

/** Points from one to another, evenly apart in their logarithms. */
export const geometric = (low: number, high: number, count: number): Float64Array => {
  const ratio = Math.pow(high / low, 1 / (count - 1))
  const points = new Float64Array(count).fill(low)
  for (let i = 1; i < count; i++) points[i] = points[i - 1]! * ratio
  points[count - 1] = high
  return points
}

/** Weights of the outermost points of a sum that stands for an integral (Gregory's rule); those inside count 1. */
const ends = [3 / 8, 7 / 6, 23 / 24]

/** What points at -2, -1, 0 and 1 count for in the integral from 0 to `x` of a cubic through them. */
const beyond = (x: number): readonly [number, number, number, number] => {
  const [x2, x3, x4] = [x ** 2 / 2, x ** 3 / 3, x ** 4 / 4]
  return [(x2 - x4) / 6, (x4 + x3 - 2 * x2) / 2, x - x4 / 2 - x3 + x2 / 2, (x4 + 3 * x3 + 2 * x2) / 6]
}

/**
 * Draws the next remembered wait: changes masses by remembered wait (a row for each point) and anything else (so many
 * columns). It takes a sum per cell, because a draw is as likely to come to one place as to another. So many rows are
 * in use, and it answers how many are then.
 */
export type Draw = (masses: Float64Array, columns: number, rows: number) => number

export const draw = (points: Float64Array): Draw => {
  const last = points.length - 1
  const longer = Math.log(decorrelation) * last / Math.log(points[last]! / points[0]!)
  // A draw ends so many points above the one that it starts from, and a part of the way to the next.
  const reach = Math.floor(longer)
  const past = beyond(longer - reach)
  const tail = [ends[2]! + past[0], ends[1]! + past[1], ends[0]! + past[2], past[3]] as const
  // From here on, draws come to the last point.
  const full = Math.max(0, Math.ceil(last - longer))
  const to = points.map((point, i) => point * (ends[i] ?? 1))
  const upTo = new Float64Array(last + 2)
  for (let i = 0; i <= last; i++) upTo[i + 1] = upTo[i]! + to[i]!
  const ended = (first: number, weights: ReadonlyArray<number>) =>
    weights.reduce((sum, weight, k) => sum + weight * to[first + k]!, upTo[first]!)
  const whole = ended(last - 2, ends.toReversed())
  const held = points.map((point, i) =>
    i < full ? 0 : Math.max(0, decorrelation * point - points[last]!) / (decorrelation * point - points[0]!)
  )
  const from = points.map((_, i) => i < full ? 1 / ended(i + reach - 2, tail) : (1 - held[i]!) / whole)

  return (masses, columns, rows) => {
    const used = Math.min(last + 1, rows + reach + 2)
    const all = new Float64Array(columns)
    const capped = new Float64Array(columns)
    const sum = new Float64Array(columns)
    // With empty rows around, so that none has to be asked for: point i is row i + reach + 1.
    const started = new Float64Array((last + 5 + reach) * columns)
    for (let i = 0, at = 0, start = (reach + 1) * columns; i < rows; i++) {
      const share = from[i]!
      if (i < full) {
        for (let j = 0; j < columns; j++) started[start++] = masses[at++]! * share
        continue
      }
      const stays = held[i]!
      for (let j = 0; j < columns; j++) {
        const mass = masses[at++]!
        all[j]! += mass * share
        capped[j]! += mass * stays
      }
    }
    const [first, second, third, fourth] = tail
    for (let i = used - 1; i >= 0; i--) {
      const end = ends[last - i] ?? 1
      const weight = to[i]!
      for (let j = 0, at = i * columns; j < columns; j++, at++) {
        const below = sum[j]! += started[at + 4 * columns]!
        masses[at] = weight * (end * all[j]! + below + first * started[at + 3 * columns]! +
          second * started[at + 2 * columns]! + third * started[at + columns]! + fourth * started[at]!)
      }
    }
    for (let j = 0, at = last * columns; j < columns; j++) masses[at++]! += capped[j]!
    return used
  }
}

export interface Moments {
  /** Of what each retry adds. */
  readonly means: ReadonlyArray<number>
  /** Of the sum. */
  readonly mean: number
  readonly variance: number
}

/** The remembered wait is the first point in the beginning. */
export const moments = (points: Float64Array, draw: Draw, added: ReadonlyArray<Added>): Moments => {
  // By row: a share of the runs, that share times the sum of their waits, and times its square.
  const masses = new Float64Array(points.length * 3)
  masses[0] = 1
  let rows = 1
  const means = added.map(({ waits, weights }) => {
    rows = draw(masses, 3, rows)
    let mean = 0
    for (let i = 0; i < rows; i++) {
      let first = 0
      let second = 0
      for (let k = 0; k < weights.length; k++) {
        const wait = waits[k]![i]!
        first += weights[k]! * wait
        second += weights[k]! * wait * wait
      }
      const share = masses[3 * i]!
      masses[3 * i + 2]! += 2 * first * masses[3 * i + 1]! + second * share
      masses[3 * i + 1]! += first * share
      mean += first * share
    }
    return mean
  })
  const mean = means.reduce((sum, mean) => sum + mean, 0)
  let square = 0
  for (let i = 0; i < points.length; i++) square += masses[3 * i + 2]!
  return { means, mean, variance: Math.max(0, square - mean * mean) }
}
