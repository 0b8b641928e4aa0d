import type { State, Stepper } from "../../Stepper.ts"
import { mostDraws, type Step } from "./mixture.ts"
import { clone, decide, type Kind, supremum } from "./walk.ts"
import { decorrelation } from "../stepper/waits.ts"
import { largestDraw } from "../stepper/node.ts"

/** One failure, with draws of its own choice: what comes of it. */
interface Answer {
  /** The policy's own wait. */
  readonly wait: number
  readonly after: State
}

/** A retry whose wait, given what is remembered, no other wait has a say in. */
export interface Retry {
  /** The hint, and the range that is drawn from for its spread. */
  readonly hint: Step | undefined
  /** The number of draws of the policy's own. */
  readonly draws: number
  /** Of these the one that the next wait depends on, too: -1 for none. */
  readonly remembered: number
  readonly ask: (draws: ReadonlyArray<number>, point?: number) => Answer
}

/** Where two states differ. */
const differences = (a: State, b: State): ReadonlyArray<number> =>
  a.slots.flatMap((slot, index) => slot === b.slots[index] ? [] : [index])

interface Found {
  readonly retries: ReadonlyArray<Retry>
  /** The place of the remembered wait in a state; `undefined` where each wait is independent of the others. */
  readonly place: number | undefined
}

/**
 * The retries, in their order; `undefined` where the waits decide on more than the waits, such as on the end of the
 * run. A stepper is asked, and not its spec: what remains the same whatever is drawn is independent, and one number
 * that does not is the wait that `decorrelated` remembers.
 */
export const find = (stepper: Stepper, kind: Kind, retries: number): Found | undefined => {
  const found: Array<Retry> = []
  let state = stepper.start()
  let place: number | undefined
  let elapsed = 0
  for (let attempt = 1; attempt <= retries; attempt++) {
    const before = state
    const since = elapsed
    let drawn = 0
    const step = (hintDraw: number, draws: (index: number) => number, point?: number) => {
      const after = clone(before)
      // A draw of the largest number leads from that part of a wait to the wait.
      if (point !== undefined && place !== undefined) after.slots[place] = point / decorrelation
      drawn = 0
      let first = true
      const nextDoubleUnsafe = () => {
        const isHint = first && (after.hint ?? 0) > 0
        first = false
        return Math.min(isHint ? hintDraw : draws(drawn++), largestDraw)
      }
      return { decision: decide(stepper, after, attempt, since, kind, { nextDoubleUnsafe }), after }
    }
    const ask: Retry["ask"] = (draws, point) => {
      const { after, decision } = step(0, (index) => draws[index]!, point)
      const wait = Math.max(0, decision - after.extra)
      return { wait: draws.some((draw) => draw === 1) ? supremum(wait) : wait, after }
    }
    const low = step(0, () => 0)
    const draws = drawn
    const high = step(1, () => 1)
    if (low.decision < 0 || high.decision < 0 || drawn !== draws || draws > mostDraws) return undefined
    const moved = differences(low.after, high.after)
    if (moved.length > 1 || moved.length === 1 && place !== undefined && moved[0] !== place) return undefined
    place ??= moved[0]
    const remembered = Array.from({ length: draws }, (_, n) => n).findIndex((n) =>
      moved.length > 0 && differences(low.after, step(0, (index) => index === n ? 1 : 0).after).length > 0
    )
    // Only together do draws move it.
    if (moved.length > 0 && remembered < 0) return undefined
    const spread = supremum(high.after.extra) - low.after.extra
    found.push({
      hint: low.after.extra > 0 ? [{ from: low.after.extra, width: spread, weights: [1] }] : undefined,
      draws,
      remembered,
      ask
    })
    state = low.after
    elapsed += low.decision
  }
  return { retries: found, place }
}
