/**
 * The default budget: a share of the requests of the last seconds, topped up where they are few.
 *
 * Finagle's reserve is there at once, again after every window, in every process, and on top of what the requests
 * bring: with many processes, or with little traffic, it alone is a storm. Here it trickles, at a phase drawn by each
 * process, and a stretch of time is worth either what its requests bring or what trickled, whichever is more.
 */
import * as paced from "./paced.ts"
import type { PacedMeter } from "./pacing.ts"
import * as perRun from "./perRun.ts"
import type { Options as RatioOptions } from "./ratio.ts"
import * as steady from "./steady.ts"

export interface Options extends RatioOptions {
  readonly initial: number
}

const slices = 10
// The window ends somewhere in one slice more, of which a part counts that shrinks as time goes on.
const size = slices + 1
/** Balances are counted in millionths of a retry, so that sums are exact and nothing drifts. */
const unit = 1_000_000

export const make = (options: Options, random: () => number): PacedMeter => {
  const { initial, minPerSecond, perOperation, ratio, window } = options
  const deposit = Math.round(ratio * unit)
  const trickle = minPerSecond * unit / 1000
  const length = window / slices
  // Processes that start together do not get their next retry together: the trickle begins by up to a retry late, and the
  // slices lie anywhere. The digits after the first are as good as a draw of their own.
  const drawn = random()
  const delay = minPerSecond === 0 ? 0 : drawn * 1000 / minPerSecond
  const shift = drawn * 10 % 1 * length
  const atStart = initial * unit
  // In the first window, both are kept to what they make in whole retries before it ends; so with one to start with,
  // nobody ever holds more than what trickles in a window.
  const most = atStart + Math.max(0, Math.ceil(Math.round(trickle * window) / unit) - 1) * unit
  const timeOf = steady.make()

  /** Of slices that are over: what they brought. */
  const brought = new Float64Array(size)
  const taken = new Float64Array(size)
  let startedAt = Number.NaN
  let origin = Number.NaN
  let clock = -Infinity
  let slice = 0
  let end = -Infinity
  let requests = 0
  let requestedAt = -Infinity
  let takenAt = -Infinity
  // Sums over the slices that are over and count in full.
  let broughtInFull = 0
  let takenInFull = 0

  /** What slice `n` brought until `until`: the trickle of the time before it begins is taken off either way. */
  const bring = (n: number, until: number): number => {
    const from = Math.max(origin + n * length, startedAt)
    const before = Math.max(0, Math.min(until, startedAt + delay) - from)
    return Math.max(requests * deposit, (until - from) * trickle) - before * trickle
  }
  const advance = (now: number): void => {
    clock = timeOf(now)
    if (clock < end) return
    if (Number.isNaN(origin)) {
      startedAt = clock
      origin = clock - shift
    }
    const current = Math.floor((clock - origin) / length)
    if (current - slice > size) {
      // Nothing that was counted is in the window any more.
      slice = current - size
      requests = 0
      taken.fill(0)
    }
    while (slice < current) {
      brought[slice % size] = Math.round(bring(slice, origin + (slice + 1) * length))
      requests = 0
      slice++
      taken[slice % size] = 0
    }
    end = origin + (current + 1) * length
    broughtInFull = takenInFull = 0
    for (let n = Math.max(0, slice - slices + 1); n < slice; n++) {
      broughtInFull += brought[n % size]!
      takenInFull += taken[n % size]!
    }
  }
  /** The balance now, in units. */
  const read = (now: number): number => {
    advance(now)
    // How much of the oldest slice is still in the window.
    const part = 1 - (clock - origin) / length + slice
    const oldest = slice - slices
    let credit = broughtInFull + bring(slice, clock)
    let debit = takenInFull + taken[slice % size]!
    if (oldest >= 0) {
      credit += brought[oldest % size]! * part
      debit += taken[oldest % size]! * part
    }
    if (oldest <= 0 && credit < most) credit = Math.min(credit + atStart * (oldest < 0 ? 1 : part), most)
    // Adding zero makes a zero of a negative one.
    return Math.round(credit - debit * unit) + 0
  }
  const take = (by: 1 | -1, from: number): void => {
    taken[from % size]! += by
    if (from < slice && from > slice - slices) takenInFull += by
  }
  const giveBack = (now: number, from: number): void => {
    advance(now)
    if (slice - from <= slices) take(-1, from)
  }
  const balance = (now: number): number => read(now) / unit
  const retries = paced.make(options, timeOf, giveBack)

  return {
    request: (now) => {
      advance(now)
      requests++
      requestedAt = clock
      retries.request(clock)
    },
    balance,
    ceiling: (now) => perRun.ceiling(perOperation, balance(now), 2),
    withdraw: (now) => {
      if (read(now) < unit || retries.full()) return undefined
      take(1, slice)
      takenAt = clock
      return retries.grant(slice)
    },
    ...retries.after,
    idle: (now) => {
      // Before it is forgotten, and has what it has at the start once more, at least as much must have trickled in vain.
      // Who asked lately may still be under way, and come back here.
      const unused = window + (atStart === 0 ? 0 : atStart / trickle)
      return read(now) >= atStart && clock - Math.max(requestedAt, takenAt) >= unused && retries.quiet(clock)
    }
  }
}
