import type * as Spec from "../../Spec.ts"
import { clamp, type Context, draw, end, type Node, rejected, slot, type Step } from "./node.ts"

/** Growth saturates here: about 285,000 years in milliseconds, exact as a double and as a `Duration`. */
export const longest: number = Number.MAX_SAFE_INTEGER

const waits = (step: Step): Node => ({ step, accepts: undefined })

export const exponential = (context: Context, { base, factor }: Spec.Exponential, cap: number): Node => {
  const n = slot(context, 0)
  return waits((state) => clamp(base * Math.pow(factor, state.slots[n]!++), cap))
}

export const linear = (context: Context, { base, increment }: Spec.Linear, cap: number): Node => {
  const n = slot(context, 0)
  return waits((state) => clamp(base + increment * state.slots[n]!++, cap))
}

export const fibonacci = (context: Context, { base }: Spec.Fibonacci, cap: number): Node => {
  const previous = slot(context, 0)
  const current = slot(context, clamp(base, longest))
  return waits((state) => {
    const delay = state.slots[current]!
    state.slots[current] = clamp(delay + state.slots[previous]!, longest)
    state.slots[previous] = delay
    return clamp(delay, cap)
  })
}

export const polynomial = (context: Context, spec: Spec.Polynomial, cap: number): Node => {
  const { base, exponent, offset, spread, start } = spec
  const n = slot(context, 0)
  return waits((state, _, __, random) => {
    const retries = state.slots[n]!++
    const delay = offset + base * Math.pow(start + retries, exponent)
    return clamp(spread > 0 ? delay + spread * draw(random) * (retries + 1) : delay, cap)
  })
}

/** How much longer than the one before it a decorrelated wait may be. */
export const decorrelation = 3

export const decorrelated = (context: Context, spec: Spec.Decorrelated, outerCap: number): Node => {
  const cap = clamp(spec.cap, outerCap)
  const base = clamp(spec.base, cap)
  const previous = slot(context, base)
  return waits((state, _, __, random) => {
    const high = decorrelation * state.slots[previous]!
    return state.slots[previous] = clamp(base + (high - base) * draw(random), cap)
  })
}

export const delays = (context: Context, spec: Spec.Delays, cap: number): Node => {
  const n = slot(context, 0)
  const list = spec.delays.map((delay) => clamp(delay, cap))
  return waits((state) => {
    const index = state.slots[n]!++
    return index < list.length ? list[index]! : end
  })
}

export const constant = (spec: Spec.Constant, cap: number): Node => {
  const delay = clamp(spec.delay, cap)
  return waits(() => delay)
}

export const immediate = (context: Context, { retries }: Spec.Immediate): Node => {
  const n = slot(context, 0)
  return waits((state) => state.slots[n]!++ < retries ? 0 : end)
}

/** It has no reason of its own: beside a policy that stopped, that one's counts. */
export const none: Node = { accepts: () => false, step: () => rejected }
