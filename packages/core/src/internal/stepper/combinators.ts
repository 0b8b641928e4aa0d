import * as Spec from "../../Spec.ts"
import { type Accepts, attempts, clamp, type Context, elapsed, type Node, slot } from "./node.ts"

export const jittered = ({ accepts, step }: Node, spec: Spec.Jittered, cap: number): Node => {
  const { max, min } = spec
  const most = clamp(Spec.cap(spec.self), cap)
  return {
    accepts,
    step: (state, failure, input, random) => {
      const delay = step(state, failure, input, random)
      if (delay < 0) return delay
      const spread = delay * (min + (max - min) * random.nextDoubleUnsafe())
      // A broken source of randomness must not turn a wait into NaN or a negative one.
      return spread >= 0 ? clamp(spread, most) : delay
    }
  }
}

export const limited = ({ accepts, step }: Node, most: number): Node => ({
  accepts,
  step: (state, failure, input, random) => failure.attempt >= most ? attempts : step(state, failure, input, random)
})

export const recurs = (context: Context, { accepts, step }: Node, retries: number): Node => {
  const n = slot(context, 0)
  return {
    accepts,
    step: (state, failure, input, random) => {
      if (state.slots[n]! >= retries) return attempts
      const delay = step(state, failure, input, random)
      if (delay >= 0) state.slots[n]!++
      return delay
    }
  }
}

export const within = ({ accepts, step }: Node, duration: number): Node => ({
  accepts,
  step: (state, failure, input, random) => {
    const delay = step(state, failure, input, random)
    if (delay < 0) return delay
    if (failure.elapsed + state.extra + delay > duration) return elapsed
    if (duration < state.limit) state.limit = duration
    return delay
  }
})

/** Only what the predicate accepts is worth a retry. */
export const classified = ({ accepts, step }: Node, predicate: Accepts): Node => ({
  accepts: accepts === undefined ? predicate : (input) => accepts(input) && predicate(input),
  step
})

export const hasTag = (tags: ReadonlyArray<string>): Accepts => {
  const set = new Set<unknown>(tags)
  return (input) => typeof input === "object" && input !== null && "_tag" in input && set.has(input._tag)
}
