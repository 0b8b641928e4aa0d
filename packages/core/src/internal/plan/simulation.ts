import type * as Plan from "../../Plan.ts"
import type { State, Stepper } from "../../Stepper.ts"
import { decide, type Kind } from "./walk.ts"

/** What runs of which every attempt fails did, in milliseconds. */
export interface Simulation {
  /** For each retry: the share of the runs that reached it, and their waits and starts. */
  readonly retries: ReadonlyArray<Omit<Plan.Delay, "retry">>
  /** The whole wait of each run, in ascending order. */
  readonly totals: ReadonlyArray<number>
}

/** A small generator of its own (mulberry32), so that a plan is the same every time. */
const generator = (seed: number) => {
  let state = seed
  return (): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000
  }
}

interface Run {
  readonly state: State
  elapsed: number
  delay: number
}

const golden = (Math.sqrt(5) - 1) / 2
const second = Math.SQRT2 - 1

/**
 * Runs side by side. At each failure the runs, in the order of their last wait, take their first two draws from
 * sequences that are evenly spread over them, so a few hundred runs tell as much as many times their number of
 * independent ones. Source: L'Ecuyer, Lécot, Tuffin, "A randomized quasi-Monte Carlo simulation method for Markov
 * chains", Operations Research 56 (2008).
 */
export const simulate = (stepper: Stepper, kind: Kind, runs: number, most: number): Simulation => {
  const next = generator(1)
  let rank = 0
  let shift = 0
  let secondShift = 0
  let drawn = 0
  const random = {
    nextDoubleUnsafe: () => {
      switch (drawn++) {
        case 0:
          return (rank * golden + shift) % 1
        case 1:
          return (rank * second + secondShift) % 1
        default:
          return next()
      }
    }
  }
  const all = Array.from({ length: runs }, (): Run => ({ state: stepper.start(), elapsed: 0, delay: 0 }))
  const retries: Array<Simulation["retries"][number]> = []
  let going = all
  for (let attempt = 1; attempt < most && going.length > 0; attempt++) {
    shift = next()
    secondShift = next()
    going.sort((a, b) => a.delay - b.delay)
    let sum = 0
    let min = Infinity
    let max = 0
    let startEarliest = Infinity
    let startLatest = 0
    const granted: Array<Run> = []
    for (rank = 0; rank < going.length; rank++) {
      const run = going[rank]!
      drawn = 0
      const delay = decide(stepper, run.state, attempt, run.elapsed, kind, random)
      if (delay < 0) continue
      run.delay = delay
      run.elapsed += delay
      granted.push(run)
      sum += delay
      min = Math.min(min, delay)
      max = Math.max(max, delay)
      startEarliest = Math.min(startEarliest, run.elapsed)
      startLatest = Math.max(startLatest, run.elapsed)
    }
    going = granted
    const reached = granted.length / runs
    if (reached > 0) retries.push({ reached, min, mean: sum / granted.length, max, startEarliest, startLatest })
  }
  return { retries, totals: all.map((_) => _.elapsed).sort((a, b) => a - b) }
}
