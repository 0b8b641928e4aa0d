import type { State, Stepper } from "../../Stepper.ts"
import { always, clone, decide, type Kind, supremum } from "./walk.ts"

/** A part of a wait's distribution: `weight` of it, spread evenly over `width` from `from` on, in milliseconds. */
interface Segment {
  readonly from: number
  readonly width: number
  readonly weight: number
}

/** A wait as a mixture of segments, which begin where the wait is shortest. */
export type Step = ReadonlyArray<Segment>

const cells = 64

/** Segments of equal density belong together: most waits are one. */
const append = (segments: Array<Segment>, next: Segment): void => {
  const last = segments[segments.length - 1]
  const density = (segment: Segment) => segment.width / segment.weight
  if (last === undefined || Math.abs(density(last) - density(next)) > 1e-9 * Math.abs(density(next))) {
    segments.push(next)
    return
  }
  segments[segments.length - 1] = {
    from: last.from,
    width: next.from + next.width - last.from,
    weight: last.weight + next.weight
  }
}

const same = (a: State, b: State): boolean => a.slots.every((slot, index) => slot === b.slots[index])

/**
 * The distribution of every wait, where one is independent of the others and of time: every draw leads to the same
 * state, and no wait draws more than once. `undefined` where that is not so, or where the run ends before.
 */
export const steps = (stepper: Stepper, kind: Kind, retries: number): ReadonlyArray<Step> | undefined => {
  let draws = 0
  let elapsed = 0
  let state = stepper.start()
  const wait = (after: State, attempt: number, value: number): number => {
    draws = 0
    const source = always(value)
    const random = {
      nextDoubleUnsafe: () => {
        draws++
        return source.nextDoubleUnsafe()
      }
    }
    const decision = decide(stepper, after, attempt, elapsed, kind, random)
    return value === 1 ? supremum(decision) : decision
  }
  const found: Array<Step> = []
  for (let attempt = 1; attempt <= retries; attempt++) {
    const low = clone(state)
    const shortest = wait(low, attempt, 0)
    if (draws > 1 || shortest < 0) return undefined
    if (draws === 0) {
      found.push([{ from: shortest, width: 0, weight: 1 }])
    } else {
      // A wait never falls when its draw rises, so equal steps of the draw give parts of equal weight.
      const segments: Array<Segment> = []
      let from = shortest
      for (let cell = 1; cell <= cells; cell++) {
        const high = clone(state)
        const to = wait(high, attempt, cell / cells)
        if (to < 0 || cell === cells && !same(low, high)) return undefined
        append(segments, { from, width: to - from, weight: 1 / cells })
        from = to
      }
      found.push(segments)
    }
    state = low
    elapsed += shortest
  }
  return found
}

export const mean = (step: Step): number =>
  step.reduce((sum, { from, weight, width }) => sum + weight * (from + width / 2), 0)
