import { performance } from "node:perf_hooks"

/** One way to do the work. Runs it that many times, and says how many runs ended well. */
export type Side = (iterations: number) => number | Promise<number>

export interface Options {
  readonly rounds: number
  readonly iterations: number
}

/** Rounds that are run and not counted, for the compiler to settle. */
const warmUp = 3

// The young generation only: a full collection makes what comes next slower, by a fixed time, and so would flatter the
// slower side.
const collectGarbage = (): void => {
  if (globalThis.gc === undefined) throw new Error("Start node with --expose-gc")
  globalThis.gc({ type: "minor" })
}

const sample = async (name: string, side: Side, iterations: number): Promise<number> => {
  // What one side threw away is not for the next to clean up.
  collectGarbage()
  const start = performance.now()
  const done = await side(iterations)
  const elapsed = performance.now() - start
  if (done !== iterations) throw new Error(`${name}: ${done} of ${iterations} ended well`)
  return elapsed * 1e6 / iterations
}

/** Nanoseconds per iteration of every side, in every round. In each round the sides take turns: A B C, A B C, … */
export const takeTurns = async <Name extends string>(
  sides: Readonly<Record<Name, Side>>,
  { iterations, rounds }: Options
): Promise<Readonly<Record<Name, ReadonlyArray<number>>>> => {
  const names = Object.keys(sides) as Array<Name>
  const samples = Object.fromEntries(names.map((name) => [name, [] as Array<number>])) as Record<Name, Array<number>>
  for (let round = -warmUp; round < rounds; round++) {
    for (const name of names) {
      const nanos = await sample(name, sides[name], iterations)
      if (round >= 0) samples[name].push(nanos)
    }
  }
  return samples
}

/** Sample by sample, what is left of one when another is taken off. */
export const net = (samples: ReadonlyArray<number>, off: ReadonlyArray<number>): ReadonlyArray<number> =>
  samples.map((sample, index) => sample - off[index]!)
