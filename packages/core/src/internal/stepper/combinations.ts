import { type Accepts, type Context, type Node, rejected, slot } from "./node.ts"

/** Less than every stop. */
const nothing = -Infinity

export const max = (nodes: ReadonlyArray<Node>): Node => {
  const classifying = nodes.flatMap((_) => _.accepts ?? [])
  return {
    accepts: classifying.length === 0 ? undefined : (input) => classifying.every((accepts) => accepts(input)),
    step: (state, failure, input, random) => {
      let longestWait = 0
      let stop = nothing
      // Every member steps, also past one that stops: the draws and the reason must not depend on their order.
      for (let i = 0; i < nodes.length; i++) {
        const delay = nodes[i]!.step(state, failure, input, random)
        if (delay >= 0) longestWait = delay > longestWait ? delay : longestWait
        else stop = delay > stop ? delay : stop
      }
      return stop === nothing ? longestWait : stop
    }
  }
}

export const min = (context: Context, nodes: ReadonlyArray<Node>): Node => {
  const stopped = nodes.map(() => slot(context, 0))
  const classifying = nodes.flatMap((_) => _.accepts ?? [])
  return {
    accepts: classifying.length < nodes.length
      ? undefined
      : (input) => classifying.some((accepts) => accepts(input)),
    step: (state, failure, input, random) => {
      const outerLimit = state.limit
      let limit = 0
      let shortest = -1
      let stop = rejected
      for (let i = 0; i < nodes.length; i++) {
        const { accepts, step } = nodes[i]!
        // A member that rejects this error is asked again at the next one; a limit once reached stays reached.
        if (accepts !== undefined && !failure.timedOut && !accepts(input)) continue
        let decision = state.slots[stopped[i]!]!
        if (decision === 0) {
          state.limit = Infinity
          decision = step(state, failure, input, random)
          if (decision >= 0) {
            shortest = shortest < 0 || decision < shortest ? decision : shortest
            limit = state.limit > limit ? state.limit : limit
            continue
          }
          state.slots[stopped[i]!] = decision
        }
        stop = decision > stop ? decision : stop
      }
      state.limit = limit > 0 && limit < outerLimit ? limit : outerLimit
      return shortest < 0 ? stop : shortest
    }
  }
}

/** `laterLimit` is the elapsed limit of the second: a wait of the first may be followed by it. */
export const concat = (context: Context, left: Node, right: Node, laterLimit: number): Node => {
  const stopped = slot(context, 0)
  const { accepts: acceptsLeft } = left
  const { accepts: acceptsRight } = right
  return {
    accepts: acceptsLeft === undefined || acceptsRight === undefined
      ? undefined
      : (input) => acceptsLeft(input) || acceptsRight(input),
    step: (state, failure, input, random) => {
      // What another member noted of its own limit is nothing to these two.
      const outerLimit = state.limit
      const granted = (delay: number, limit: number): number => {
        state.limit = limit < outerLimit ? limit : outerLimit
        return delay
      }
      let stop = state.slots[stopped]!
      if (stop === 0) {
        state.limit = Infinity
        stop = acceptsLeft === undefined || failure.timedOut || acceptsLeft(input)
          ? left.step(state, failure, input, random)
          : rejected
        if (stop >= 0) return granted(stop, state.limit > laterLimit ? state.limit : laterLimit)
        state.slots[stopped] = stop
      }
      state.limit = Infinity
      const decision = acceptsRight === undefined || failure.timedOut || acceptsRight(input)
        ? right.step(state, failure, input, random)
        : rejected
      return granted(decision >= 0 || decision > stop ? decision : stop, state.limit)
    }
  }
}

export interface Case {
  readonly matches: Accepts
  readonly node: Node
}

export const byInput = (cases: ReadonlyArray<Case>, otherwise: Node): Node => {
  const choose = (input: unknown): Node => cases.find(({ matches }) => matches(input))?.node ?? otherwise
  const classifies = otherwise.accepts !== undefined || cases.some((_) => _.node.accepts !== undefined)
  return {
    accepts: classifies
      ? (input) => {
        const { accepts } = choose(input)
        return accepts === undefined || accepts(input)
      }
      : undefined,
    step: (state, failure, input, random) =>
      (failure.timedOut ? otherwise : choose(input)).step(state, failure, input, random)
  }
}
