/** Properties: seeded, so that a run can be had again, and few enough tries for the time that a test may take. */
import * as fc from "fast-check"

// `LAWS_SEED=random` looks for what nobody has seen yet; the report of a failure names the seed.
const chosen = process.env["LAWS_SEED"]
const seed = chosen === "random" ? Date.now() | 0 : Number(chosen ?? 20_261_130)

/** Fails unless the check passes for values of the arbitraries. */
export const forAll = <Values extends [unknown, ...Array<unknown>]>(
  arbitraries: { readonly [Index in keyof Values]: fc.Arbitrary<Values[Index]> },
  check: (...values: Values) => void,
  numRuns: number = 300
): void => fc.assert(fc.property(...arbitraries, check), { seed, numRuns })

/** Values of an arbitrary, the same at every run of the tests. */
export const samples = <A>(arbitrary: fc.Arbitrary<A>, numRuns: number): ReadonlyArray<A> =>
  fc.sample(arbitrary, { seed, numRuns })
