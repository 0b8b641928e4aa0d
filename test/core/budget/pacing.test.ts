// The pace at which retries start, also when all that were granted in 30 seconds wait for one date.
import { describe, expect, it } from "@effect/vitest"
import { RetryBudget } from "@reprise/core"
import { type Meter, meterOf, take, type Withdrawal } from "./meter.ts"

interface Outage {
  /** When retries started. */
  readonly starts: ReadonlyArray<number>
  /** When requests came. */
  readonly requests: ReadonlyArray<number>
  /** How often a waiting retry asked. */
  readonly asked: number
  readonly granted: number
}

const date = 30_000
// Nobody asks more often than this, in milliseconds.
const step = 4

/** Requests at a steady rate until `until`, of which each fails and is told to come back at one date, or after a second. */
const outage = (meter: Meter, perSecond: number, until: number, end: number): Outage => {
  const starts: Array<number> = []
  const requests: Array<number> = []
  const gap = 1000 / perSecond
  let waiting: Array<{ readonly token: Withdrawal; at: number }> = []
  let asked = 0
  let granted = 0
  for (let now = 0, next = 0; now <= end; now += step) {
    for (; next <= now && next < until; next += gap) {
      requests.push(next)
      meter.request(next)
      const token = take(meter, next)
      if (token === undefined) continue
      granted++
      waiting.push({ token, at: now < date ? date : now + 1000 })
    }
    const before = waiting.length
    for (const one of waiting) {
      if (one.at > now) continue
      asked++
      const wait = meter.start(now, one.token)
      one.at = wait === 0 ? Infinity : now + wait
      if (wait === 0) starts.push(now)
    }
    if (before > 0) waiting = waiting.filter((_) => _.at !== Infinity)
  }
  return { starts, requests, asked, granted }
}

/** The most by which the starts of the second before a start, that start included, are more than they may be. */
const excess = ({ requests, starts }: Outage, ratio: number, minPerSecond: number): number => {
  let worst = -Infinity
  let [first, from, to] = [0, 0, 0]
  starts.forEach((at, index) => {
    while (starts[first]! <= at - 1000) first++
    while (to < requests.length && requests[to]! <= at) to++
    while (from < to && requests[from]! <= at - 1000) from++
    const most = Math.max(1, Math.floor(1.25 * (ratio * (to - from) + minPerSecond)))
    worst = Math.max(worst, index - first + 1 - most)
  })
  return worst
}

const published = RetryBudget.ratio
type Case = readonly [name: string, make: () => RetryBudget.RetryBudget, ratio: number, least: number, rate: number]
const cases: ReadonlyArray<Case> = [
  ["make at 1 request a second", () => RetryBudget.make(), 0.1, 0.3, 1],
  ["make at 70 a second", () => RetryBudget.make(), 0.1, 0.3, 70],
  ["make at 1000 a second", () => RetryBudget.make(), 0.1, 0.3, 1000],
  ["ratio at 70 a second", () => published(), 0.2, 10, 70],
  ["ratio at 1000 a second", () => published(), 0.2, 10, 1000]
]

describe.each(cases)("%s, all told to come back at one date", (_, make, ratio, minPerSecond, perSecond) => {
  let outaged: Outage | undefined
  const lasting = (): Outage => outaged ??= outage(meterOf(make()), perSecond, 45_000, 45_000)

  it("starts in any second a quarter more than that second pays for", () => {
    const result = lasting()
    expect(result.granted).toBeGreaterThan(3)
    expect(excess(result, ratio, minPerSecond)).toBeLessThanOrEqual(0)
  })

  it("does so too where the requests end at the date", () => {
    const result = outage(meterOf(make()), perSecond, date, 60_000)
    expect(excess(result, ratio, minPerSecond)).toBeLessThanOrEqual(0)
  })

  it("uses most of the pace that it has", () => {
    const result = lasting()
    const most = Math.max(1, Math.floor(1.25 * (ratio * perSecond + minPerSecond)))
    const late = result.starts.filter((at) => at >= date && at < date + 5000).length
    // Or everybody has come.
    expect(Math.max(late / (5 * most), result.starts.length / result.granted)).toBeGreaterThan(0.75)
  })

  it("is not asked all the time", () => {
    const { asked, granted, starts } = lasting()
    // Each at most once in 2.5 seconds, beside the time when it starts.
    expect(asked).toBeLessThanOrEqual(2 * starts.length + granted * 6)
  })
})

describe("a thousand that wait where no requests come any more", () => {
  const waiting = () => {
    const meter = meterOf(RetryBudget.make({ initial: 1000 }))
    return { meter, tokens: Array.from({ length: 1000 }, () => take(meter, 0)!) }
  }

  it("are sent away for different times, of at most five seconds", () => {
    const { meter, tokens } = waiting()
    const waits = tokens.map((token) => meter.start(0, token))
    expect(waits[0]).toBe(0)
    expect(Math.min(...waits.slice(1))).toBeGreaterThan(1000)
    expect(Math.max(...waits)).toBeLessThanOrEqual(5000)
    expect(new Set(waits).size).toBeGreaterThan(100)
  })

  it("go on by one a second", () => {
    const { meter, tokens } = waiting()
    const starts: Array<number> = []
    const at = tokens.map(() => 0)
    for (let now = 0; now < 60_000; now += 20) {
      for (const [index, token] of tokens.entries()) {
        if (at[index]! > now) continue
        const wait = meter.start(now, token)
        at[index] = wait === 0 ? Infinity : now + wait
        if (wait === 0) starts.push(now)
      }
    }
    const gaps = starts.slice(1).map((start, index) => start - starts[index]!)
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(1000)
    expect(starts.length).toBeGreaterThan(45)
  })

  it("are asked again when they come too early, and keep their turn", () => {
    const { meter, tokens } = waiting()
    meter.start(0, tokens[0]!)
    const wait = meter.start(0, tokens[1]!)
    expect(meter.start(100, tokens[1]!)).toBe(wait - 100)
    const later = meter.start(100, tokens[2]!)
    expect(meter.start(wait, tokens[2]!)).toBeCloseTo(100 + later - wait, 6)
    expect(meter.start(wait, tokens[1]!)).toBe(0)
  })
})

describe("a retry that comes first while others wait for their turn", () => {
  it("comes behind them", () => {
    const meter = meterOf(RetryBudget.make({ initial: 10 }))
    const tokens = Array.from({ length: 4 }, () => take(meter, 0)!)
    const waits = tokens.map((token) => meter.start(0, token))
    // At 1150 ms the second has room again, but its turn is the second's.
    const [late] = [take(meter, 1150)!]
    expect(1150 + meter.start(1150, late)).toBeGreaterThan(Math.max(...waits))
  })
})

describe.each([
  ["throttle", () => RetryBudget.throttle()],
  ["quota", () => RetryBudget.quota()],
  ["concurrent", () => RetryBudget.concurrent({ minimum: 100 })],
  ["unlimited", () => RetryBudget.unlimited]
])("%s", (_, make) => {
  it("has no pace", () => {
    const meter = meterOf(make())
    const tokens = Array.from({ length: 100 }, () => take(meter, 0)!)
    expect(tokens.map((token) => meter.start(0, token))).toEqual(tokens.map(() => 0))
  })
})
