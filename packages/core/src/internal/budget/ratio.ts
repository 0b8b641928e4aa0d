/**
 * Finagle's budget: a share of the requests of the last seconds, and a reserve that is always there.
 *
 * Source: twitter/finagle, `RetryBudget.scala`, and twitter/util, `TokenBucket.scala` and `WindowedAdder.scala`.
 */
import * as paced from "./paced.ts"
import type { PacedMeter } from "./pacing.ts"
import * as perRun from "./perRun.ts"
import * as steady from "./steady.ts"

export interface Options {
  readonly ratio: number
  readonly minPerSecond: number
  /** Milliseconds. */
  readonly window: number
  readonly perOperation: number
  readonly maxWaiting: number
}

const slices = 10

export const make = (options: Options): PacedMeter => {
  const { minPerSecond, perOperation, ratio, window } = options
  // Whole units, so that nothing drifts. A retry costs so many of them that no ratio up to 10 is off by more than 1 %.
  // A cost beyond 1e9, a retry in a million requests, would only make the sums inexact.
  const deposit = ratio === 0 ? 0 : 1000
  const cost = ratio === 0 ? 1 : Math.min(Math.floor(1000 / ratio), 1e9)
  const reserve = Math.floor(minPerSecond * window / 1000 * cost)
  const length = window / slices
  const timeOf = steady.make()

  const requests = new Float64Array(slices)
  const taken = new Float64Array(slices)
  let slice = 0
  let rolledAt = Number.NaN
  let requestedAt = -Infinity
  let units = 0
  let withdrawn = 0

  // As published: the slices begin when somebody calls, and so an entry may live for almost twice the window.
  const roll = (now: number): number => {
    const time = timeOf(now)
    const elapsed = time - rolledAt
    if (elapsed < length) return time
    // The first call of all only starts the clock.
    if (!Number.isNaN(elapsed)) {
      const steps = Math.min(Math.floor(elapsed / length), slices)
      for (let step = 0; step < steps; step++) {
        const oldest = ++slice % slices
        units -= requests[oldest]! * deposit - taken[oldest]! * cost
        withdrawn -= taken[oldest]!
        requests[oldest] = taken[oldest] = 0
      }
    }
    rolledAt = time
    return time
  }
  const balance = (now: number): number => {
    roll(now)
    // Adding zero makes a zero of a negative one.
    return Math.trunc((units + reserve) / cost) + 0
  }
  const take = (by: 1 | -1, from: number): void => {
    taken[from % slices]! += by
    withdrawn += by
    units -= by * cost
  }
  const giveBack = (now: number, from: number): void => {
    roll(now)
    if (slice - from < slices) take(-1, from)
  }
  const retries = paced.make(options, timeOf, giveBack)

  return {
    request: (now) => {
      const time = roll(now)
      requests[slice % slices]!++
      requestedAt = time
      units += deposit
      retries.request(time)
    },
    balance,
    ceiling: (now) => perRun.ceiling(perOperation, balance(now)),
    withdraw: (now) => {
      roll(now)
      if (units + reserve < cost || retries.full()) return undefined
      take(1, slice)
      return retries.grant(slice)
    },
    ...retries.after,
    idle: (now) => {
      const time = roll(now)
      // Who asked lately may still be under way, and come back here.
      return time - requestedAt >= window && withdrawn === 0 && retries.quiet(time)
    }
  }
}
