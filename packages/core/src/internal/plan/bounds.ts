import type * as Plan from "../../Plan.ts"
import type { Law } from "./law.ts"
import type { Simulation } from "./simulation.ts"
import { last, type Path } from "./walk.ts"

/** What is known of a policy's runs, and the time at which the last retry may start. */
export interface Known {
  /** Every draw 0. */
  readonly low: Path
  /** Every draw 1, without the elapsed limit: beyond it, it says only that a wait can be cut short by the limit. */
  readonly high: Path
  /** The latest start of each retry where more than the draws decides on it, attempts taking no time. */
  readonly latest: ReadonlyArray<number>
  readonly limit: number
  /** The longest that one attempt takes. */
  readonly timeout: number
  /** The distribution of the waits: computed where chance alone decides on them, and drawn where time does, too. */
  readonly waits: Law | Simulation
}

const isDrawn = (waits: Known["waits"]): waits is Simulation => "totals" in waits

/** The earliest start of a retry; `Infinity` where none of the runs gets to it in time. */
const earliest = ({ high, limit, low, waits }: Known, index: number): number => {
  const start = high.starts[index] ?? Infinity
  return Math.min(
    low.starts[index] ?? Infinity,
    start <= limit ? start : Infinity,
    isDrawn(waits) ? waits.retries[index]?.startEarliest ?? Infinity : Infinity
  )
}

/** How many retries some run gets to. */
export const retries = (known: Known): number => {
  let count = 0
  while (earliest(known, count) < Infinity) count++
  return count
}

/** Of a search that stopped past the elapsed limit, what it did not look at may be as late as that. */
const latestAt = ({ latest, limit, timeout }: Known, index: number): number =>
  latest[index] ?? ((latest[latest.length - 1] ?? 0) + latest.length * timeout > limit ? limit : 0)

const delay = (known: Known, index: number): Plan.Delay => {
  const { high, limit, low, timeout, waits } = known
  const drawn = isDrawn(waits) ? waits.retries[index] : undefined
  // A path may have stopped before this retry: then it has nothing to say of it.
  const most = (of: (path: Path) => number | undefined, drawn = 0) => Math.max(of(low) ?? 0, of(high) ?? 0, drawn)
  const longest = (high.starts[index] ?? Infinity) <= limit ? high.delays[index] : undefined
  const min = Math.min(low.delays[index] ?? Infinity, longest ?? Infinity, drawn?.min ?? Infinity)
  const before = index === 0 ? 0 : earliest(known, index - 1)
  return {
    retry: index + 1,
    reached: isDrawn(waits) ? drawn?.reached ?? 0 : 1,
    min,
    // A retry that no run reached is one that only the shortest waits leave time for.
    mean: isDrawn(waits) ? drawn?.mean ?? min : waits.means[index]!,
    max: Math.max(min, Math.min(most((_) => _.delays[index], drawn?.max), limit - before)),
    startEarliest: earliest(known, index),
    startLatest: Math.min(
      most((_) => _.starts[index], Math.max(drawn?.startLatest ?? 0, latestAt(known, index))) + (index + 1) * timeout,
      limit
    )
  }
}

/** The latest start of any retry: a run that makes fewer may make them later. */
export const lastStart = (delays: ReadonlyArray<Plan.Delay>, { latest, limit, timeout }: Known): number =>
  Math.max(
    0,
    ...delays.map((_) => _.startLatest),
    ...latest.map((start, index) => Math.min(start + (index + 1) * timeout, limit))
  )

export const delays = (known: Known, retries: number): ReadonlyArray<Plan.Delay> =>
  Array.from({ length: retries }, (_, index) => delay(known, index))

/** The least that a run sleeps: it may stop as soon as the next wait can pass the limit. */
const leastTotal = ({ high, limit, low }: Known): number =>
  high.starts.reduce(
    (least, start, index) =>
      start > limit ? Math.min(least, Math.max(low.starts[index - 1] ?? 0, limit - high.delays[index]!)) : least,
    last(low.starts)
  )

const micros = (millis: number): number => Math.round(millis * 1000) / 1000

export const total = (known: Known): Plan.Total => {
  const { high, limit, low, waits } = known
  if (!isDrawn(waits)) {
    const [min, max] = [last(low.starts), last(high.starts)]
    const at = waits.percentiles()
    // What is computed may miss by a hair what is known.
    const within = (least: number, p: number) => Math.min(Math.max(least, micros(at(p))), max)
    const p50 = within(min, 0.5)
    const p95 = within(p50, 0.95)
    return {
      min,
      mean: Math.min(Math.max(min, waits.means.reduce((sum, mean) => sum + mean, 0)), max),
      max,
      p50,
      p95,
      p99: within(p95, 0.99),
      precision: min === max ? "exact" : "computed"
    }
  }
  const { totals } = waits
  const at = (p: number) => micros(totals[Math.ceil(p * totals.length) - 1]!)
  return {
    min: Math.min(leastTotal(known), totals[0]!),
    mean: totals.reduce((sum, total) => sum + total, 0) / totals.length,
    max: Math.min(Math.max(last(high.starts), totals[totals.length - 1]!), limit),
    p50: at(0.5),
    p95: at(0.95),
    p99: at(0.99),
    precision: "simulated"
  }
}

/** Executions per operation when every attempt fails, in the mean. */
export const amplification = ({ low, waits }: Known): number =>
  isDrawn(waits) ? waits.retries.reduce((sum, { reached }) => sum + reached, 1) : low.delays.length + 1
