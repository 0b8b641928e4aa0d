/**
 * The pace at which granted retries start. A balance bounds how many are granted, not when: a thousand runs that were
 * all told to come back at one date would come back at that date.
 */
import type { Meter, Withdrawal } from "./meter.ts"
import type { Ticket } from "./waiting.ts"

/** A withdrawal that may have been sent away. */
export interface Paced extends Ticket {
  /** When to come back; `undefined` while it is not in the line. */
  askAt: number | undefined
}

/** A meter that paces: `ready` is its `start` without the counting, so that others can be asked too. */
export interface PacedMeter extends Meter {
  readonly ready: (now: number, withdrawal: Withdrawal) => number
}

export const isPaced = (meter: Meter): meter is PacedMeter => "ready" in meter

export interface Pacing {
  readonly request: (now: number) => void
  /** 0 when a retry may start now, or after how many milliseconds to ask again. */
  readonly ready: (now: number, paced: Paced) => number
  /** Counts a start. What is undone later stays counted: it is forgotten within a second or so. */
  readonly start: (now: number, paced: Paced) => void
  /** It will not come back. */
  readonly leave: (paced: Paced) => void
  /** Whether no retry has started in the last second. */
  readonly quiet: (now: number) => boolean
}

// A second in ten slices. Starts are counted over eleven, at least a second, and requests over ten, at most a second:
// what is not known exactly counts against the retry.
const length = 100
const size = 11
const headroom = 1.25

// Nobody is sent away for longer: when the traffic comes back, so does the pace.
const longest = 5000

/**
 * Lets so many retries start in any second: a quarter more than `ratio` of the requests of that second and `perSecond`,
 * and one at least.
 */
export const make = (ratio: number, perSecond: number): Pacing => {
  const requests = new Float64Array(size)
  const starts = new Float64Array(size)
  let origin = 0
  let slice = -1
  let end = -Infinity
  // How many were sent away and are to come back: who comes for the first time waits behind them.
  let line = 0
  let late = 0

  const advance = (now: number): void => {
    if (now < end) return
    if (slice < 0) origin = now
    const next = Math.floor((now - origin) / length)
    for (let n = Math.max(slice + 1, next - size + 1); n <= next; n++) requests[n % size] = starts[n % size] = 0
    slice = next
    end = origin + (next + 1) * length
  }
  const allowance = (): number => {
    let sum = 0
    for (let n = Math.max(0, slice - size + 2); n <= slice; n++) sum += requests[n % size]!
    return Math.max(1, Math.floor(headroom * (ratio * sum + perSecond)))
  }
  const started = (): number => starts.reduce((sum, n) => sum + n, 0)
  /** When the oldest starts that still count do so no longer. */
  const freeAt = (): number => {
    let n = Math.max(0, slice - size + 1)
    while (n < slice && starts[n % size] === 0) n++
    return origin + (n + size) * length
  }
  const leave = (paced: Paced): void => {
    if (paced.askAt === undefined) return
    paced.askAt = undefined
    line--
  }
  const sendAway = (now: number, paced: Paced, allowed: number): number => {
    const before = paced.askAt === undefined ? line++ : line - 1
    const room = started() < allowed ? now : freeAt()
    // Eleven slices and not ten are counted, so it takes that long for so many to start.
    const at = Math.max(now + 1, room + before * size * length / allowed)
    // Who would come later than the longest time comes by then, spread over half of it.
    late = (late + 1) % 100
    paced.askAt = at - now <= longest ? at : now + longest * (0.5 + late / 200)
    return paced.askAt - now
  }

  return {
    request: (now) => {
      advance(now)
      requests[slice % size]!++
    },
    ready: (now, paced) => {
      advance(now)
      if (paced.askAt !== undefined && now < paced.askAt) return paced.askAt - now
      const allowed = allowance()
      const turn = paced.askAt !== undefined || line === 0
      return turn && started() < allowed ? 0 : sendAway(now, paced, allowed)
    },
    start: (now, paced) => {
      advance(now)
      starts[slice % size]!++
      leave(paced)
    },
    leave,
    quiet: (now) => {
      advance(now)
      return started() === 0
    }
  }
}
