import type { Stepper } from "../../Stepper.ts"
import * as chain from "./chain.ts"
import * as grid from "./grid.ts"
import { choices, isEqual, mean, mixture, mostDraws, type Step, variance } from "./mixture.ts"
import { find, type Retry } from "./retries.ts"
import * as series from "./series.ts"
import type { Kind } from "./walk.ts"
import * as wave from "./waves.ts"
import { decorrelation } from "../stepper/waits.ts"

/** What is known of the waits when chance alone decides on them. */
export interface Law {
  /** The mean of each wait. */
  readonly means: ReadonlyArray<number>
  /** The function that gives percentiles (0 to 1) of their sum. */
  readonly percentiles: () => (p: number) => number
}

/** Points that stand for all of a draw, in so many parts: exact for powers up to the fifth in each (Gauss). */
const pointsOf = (parts: number): ReadonlyArray<{ readonly at: number; readonly weight: number }> =>
  Array.from({ length: parts }, (_, part) =>
    [-Math.sqrt(0.15), 0, Math.sqrt(0.15)].map((off) => ({
      at: (part + 0.5 + off) / parts,
      weight: (off === 0 ? 8 : 5) / 18 / parts
    }))).flat()

/** The retries that draw the remembered wait, for each point that it can be drawn to. */
const addedBy = (retries: ReadonlyArray<Retry>, points: Float64Array): ReadonlyArray<chain.Added> => {
  // Of a few waits, each is to be seen in the sum.
  const draws = pointsOf(Math.ceil(4 / (retries.length - 1) / Math.max(1, ...retries.map((_) => _.draws - 1))))
  let last: chain.Added | undefined
  return retries.map(({ ask, draws: count, remembered }) => {
    const ways = choices(draws, count - 1)
    const waitOf = (way: typeof draws) => {
      const values = way.map((_) => _.at)
      const drawn = [...values.slice(0, remembered), 1, ...values.slice(remembered)]
      return (point: number) => ask(drawn, points[point]!).wait
    }
    // A wait rises with the one that is remembered. What is the same at some points is so at those between them.
    const isSame = last?.waits.length === ways.length && ways.every((way, k) => {
      const wait = waitOf(way)
      return points.every((_, i) => i % 8 > 0 && i < points.length - 1 || wait(i) === last!.waits[k]![i])
    })
    if (last === undefined || !isSame) {
      last = {
        weights: ways.map((way) => way.reduce((product, { weight }) => product * weight, 1)),
        waits: ways.map((way) => {
          const wait = waitOf(way)
          return points.map((_, i) => wait(i))
        })
      }
    }
    return last
  })
}

/** The share of the sums of what is on a grid and of a series. */
const sharesOfBoth = (sums: grid.Sums, rest: series.Series): (x: number) => number => {
  const cells = rest.range > 0 ? 128 : 1
  const shareOfRest = series.shares(rest)
  const share = grid.shares(sums)
  const cell = rest.range / cells
  let before = 0
  const weights = Array.from({ length: cells }, (_, n) => {
    const upTo = n === cells - 1 ? 1 : shareOfRest(rest.least + (n + 1) * cell)
    const weight = upTo - before
    before = upTo
    return weight
  })
  return (x) => weights.reduce((sum, weight, n) => sum + weight * share(x - rest.least - (n + 0.5) * cell), 0)
}

const few = 10

/** See {@link Law}; `undefined` where it cannot be computed. */
export const law = (stepper: Stepper, kind: Kind, most: number): Law | undefined => {
  const found = find(stepper, kind, most)
  if (found === undefined) return undefined
  const { place, retries } = found
  // A remembered wait is as good as forgotten where only one depends on it.
  const linked = retries.filter(({ remembered }) => remembered >= 0)
  const chained = place === undefined || linked.length === 1 ? [] : linked
  let last: Step | undefined
  const own = retries.map(({ ask, draws, remembered }) => {
    if (chained.length > 0 && remembered >= 0) return undefined
    const step = mixture((drawn) => ask(drawn).wait, draws, most)
    // What is the same retry after retry is looked at once.
    if (last === undefined || !isEqual(last, step)) last = step
    return last
  })
  const free = [...own, ...retries.map(({ hint }) => hint)].filter((step) => step !== undefined)
  const hints = retries.map(({ hint }) => hint === undefined ? 0 : mean(hint))
  if (chained.length === 0 || place === undefined) {
    return {
      means: own.map((step, index) => hints[index]! + mean(step!)),
      percentiles: () => series.percentiles(series.sum(free))
    }
  }

  const [first] = chained
  const zeros = Array.from({ length: mostDraws }, () => 0)
  const base = first!.ask(zeros).after.slots[place]!
  const cap = first!.ask(zeros.map(() => 1), Number.MAX_VALUE).after.slots[place]!
  const top = Math.min(cap, base * decorrelation ** chained.length)
  const finest = Math.min(0.015 * chained.length, chained.length < few ? 0.12 : chained.length < 100 ? 0.14 : 0.18)
  const points = chain.geometric(base, top, 1 + Math.max(12, Math.ceil(Math.log(top / base) / finest)))
  const draw = chain.draw(points)
  const added = addedBy(chained, points)
  const moments = chain.moments(points, draw, added)
  const linkedMeans = moments.means.values()
  const means = own.map((step, index) => hints[index]! + (step === undefined ? linkedMeans.next().value! : mean(step)))
  return {
    means,
    percentiles: () => {
      const rest = series.extent(free)
      const total = means.reduce((sum, mean) => sum + mean, 0)
      const deviation = Math.sqrt(moments.variance + free.reduce((sum, step) => sum + variance(step), 0))
      if (chained.length < few || deviation > 1.2 * total) {
        const sums = grid.sum(draw, added, chained.length < few ? 128 : 192)
        const share = sharesOfBoth(sums, series.sum(free, 1e-5))
        const from = rest.least + sums.sums[0]!
        return series.inverse(share, from, rest.least + rest.range + sums.sums[sums.sums.length - 1]!, 48)
      }
      const extreme = (pick: (...values: ReadonlyArray<number>) => number) =>
        added.reduce((sum, { waits }) => sum + pick(...waits.map((wait) => pick(...wait))), 0)
      const least = Math.max(rest.least + extreme(Math.min), total - 8 * deviation)
      const range = Math.min(rest.least + rest.range + extreme(Math.max), total + 10 * deviation) - least
      if (!(range > 0)) return () => total
      // Waves that are finer than a thousandth of the sum are not looked at.
      const waves = Math.min(512, Math.ceil(1000 * range / total))
      const found = wave.sum(draw, added, (of) => series.wave(free, of, 0), least - rest.least, range, waves)
      return series.percentiles({ ...found, least })
    }
  }
}
