import { Effect } from "effect"
import type { Side } from "./rounds.ts"

type Operation = Effect.Effect<number, unknown>

/** What all runs of a side stand in. */
type Around = (all: Effect.Effect<number, unknown>) => Effect.Effect<number, unknown>

const loop = (body: () => Operation, around: Around = (all) => all): Side => (iterations) =>
  Effect.runPromise(around(Effect.suspend(() => {
    let runs = 0
    let sum = 0
    const all = Effect.whileLoop({
      while: () => runs < iterations,
      body,
      step: (value) => {
        runs++
        sum += value
      }
    })
    return Effect.map(all, () => sum)
  })))

/** An effect built once and run again and again in one fibre. Each run must succeed with 1. */
export const again = (effect: Operation, around?: Around): Side => loop(() => effect, around)

/** An effect built for every run, in one fibre. */
export const anew = (build: () => Operation): Side => loop(build)
