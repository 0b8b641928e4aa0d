import * as Spec from "../../Spec.ts"
import { get, isObject } from "../causeChain.ts"
import { type Accepts, attempts, clamp, type Context, draw, elapsed, type Node, slot } from "./node.ts"

export const jittered = ({ accepts, step }: Node, spec: Spec.Jittered, cap: number): Node => {
  const { max, min } = spec
  const most = clamp(Spec.cap(spec.self), cap)
  return {
    accepts,
    step: (state, failure, input, random) => {
      const delay = step(state, failure, input, random)
      if (delay < 0) return delay
      return clamp(delay * (min + (max - min) * draw(random)), most)
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

/** Notes the limit; {@link timed} holds the wait against it once the whole pipe has had its say. */
export const within = ({ accepts, step }: Node, duration: number): Node => ({
  accepts,
  step: (state, failure, input, random) => {
    const delay = step(state, failure, input, random)
    if (delay >= 0 && duration < state.limit) state.limit = duration
    return delay
  }
})

/** The end of a pipe: no wait leads past the elapsed limits noted inside it, wherever they stand. */
export const timed = ({ accepts, step }: Node): Node => ({
  accepts,
  step: (state, failure, input, random) => {
    const delay = step(state, failure, input, random)
    return delay >= 0 && failure.elapsed + state.extra + delay > state.limit ? elapsed : delay
  }
})

/** Only what the predicate accepts is worth a retry. */
export const classified = ({ accepts, step }: Node, predicate: Accepts): Node => ({
  accepts: accepts === undefined ? predicate : (input) => accepts(input) && predicate(input),
  step
})

/** Total: what has no tag, or throws when it is asked for one, has none of these. */
export const hasTag = (tags: ReadonlyArray<string>): Accepts => {
  const set = new Set<unknown>(tags)
  return (input) => isObject(input) && set.has(get(input, "_tag"))
}
