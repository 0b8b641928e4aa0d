/** Processes that start together, of a request a second each, in an outage that fails everything at once. */
import type { RetryBudget } from "@reprise/core"
import { seeded } from "../Recording.ts"
import { type Meter, meterOf, take } from "./meter.ts"

/** Full jitter from a base of 200 ms, three attempts. */
const base = 200
const attempts = 3

interface Draw {
  readonly nextDoubleUnsafe: () => number
}

/** When the retries of one process start. */
const retriesOf = (meter: Meter, first: number, seconds: number, draw: Draw): ReadonlyArray<number> => {
  const starts: Array<number> = []
  const events: Array<{ readonly at: number; readonly go: () => void }> = []
  const at = (time: number, go: () => void): void => {
    let index = events.length
    while (index > 0 && events[index - 1]!.at < time) index--
    // Of two at one time, the one that was planned first comes first.
    events.splice(index, 0, { at: time, go })
  }
  const start = (now: number, attempt: number, ceiling: number, token: object): void => {
    const wait = meter.start(now, token)
    if (wait > 0) {
      at(now + wait, () => start(now + wait, attempt, ceiling, token))
    } else {
      starts.push(now)
      fail(now, attempt, ceiling)
    }
  }
  const fail = (now: number, attempt: number, ceiling: number): void => {
    if (attempt === attempts || attempt > ceiling) return
    const token = take(meter, now)
    if (token === undefined) return
    const wake = now + draw.nextDoubleUnsafe() * base * 2 ** (attempt - 1)
    at(wake, () => start(wake, attempt + 1, ceiling, token))
  }
  for (let second = 0; second < seconds; second++) {
    const now = first + second * 1000
    at(now, () => {
      meter.request(now)
      fail(now, 1, meter.ceiling(now))
    })
  }
  for (let next = events.pop(); next !== undefined; next = events.pop()) next.go()
  return starts
}

/** The most starts in any second that begins at `from` or later, wherever it begins. */
const worstSecond = (starts: ReadonlyArray<number>, from: number): number => {
  const sorted = starts.filter((at) => at >= from).sort((a, b) => a - b)
  let worst = 0
  let oldest = 0
  for (let newest = 0; newest < sorted.length; newest++) {
    while (sorted[newest]! - sorted[oldest]! >= 1000) oldest++
    worst = Math.max(worst, newest - oldest + 1)
  }
  return worst
}

export interface Fleet {
  /** When the retries of each process started. */
  readonly each: ReadonlyArray<ReadonlyArray<number>>
  /** When retries started, in no order. */
  readonly starts: ReadonlyArray<number>
  /** How many of them in each whole second. */
  readonly perSecond: ReadonlyArray<number>
  /** The most in any second after the first. */
  readonly worst: number
}

export const fleet = (
  budget: () => RetryBudget.RetryBudget,
  first: (process: number, draw: Draw) => number,
  seed: number,
  count: number,
  seconds: number
): Fleet => {
  const draw = seeded(seed)
  const each = Array.from(
    { length: count },
    (_, process) => retriesOf(meterOf(budget(), draw.nextDoubleUnsafe()), first(process, draw), seconds, draw)
  )
  const starts = each.flat()
  const perSecond = Array.from({ length: seconds + 2 }, () => 0)
  for (const at of starts) perSecond[Math.floor(at / 1000)]!++
  return { each, starts, perSecond, worst: worstSecond(starts, 1000) }
}
