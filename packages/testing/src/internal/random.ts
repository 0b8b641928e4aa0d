import type * as Random from "effect/Random"

/** The largest number that a source can draw: the largest double below 1. */
const highest = 1 - Number.EPSILON / 2

const from = (nextDoubleUnsafe: () => number): (typeof Random.Random)["Service"] => ({
  nextDoubleUnsafe,
  nextIntUnsafe: () =>
    Math.floor(nextDoubleUnsafe() * (Number.MAX_SAFE_INTEGER - Number.MIN_SAFE_INTEGER + 1)) + Number.MIN_SAFE_INTEGER
})

/** A source of exactly these draws. */
export const scripted = (
  draws: "lowest" | "highest" | ReadonlyArray<number>
): (typeof Random.Random)["Service"] => {
  if (draws === "lowest") return from(() => 0)
  if (draws === "highest") return from(() => highest)
  let index = 0
  return from(() => {
    const draw = draws[index++]
    if (draw === undefined) throw new RangeError(`The recorded run drew more than the ${draws.length} numbers given`)
    return draw
  })
}
