import { Policy } from "@reprise/core"
import { Data } from "effect"
import type { Measurement } from "./Measurement.ts"
import { alone, atLeast, compare } from "./Row.ts"
import { type Side, takeTurns } from "./rounds.ts"

class Unavailable extends Data.TaggedError("Unavailable")<{}> {}

const error = new Unavailable()

/** A cheap source of numbers in [0, 1), so that the stepper is measured and not the draws. */
const source = () => {
  let seed = 1
  return {
    nextDoubleUnsafe: () => {
      seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0
      return seed / 4_294_967_296
    }
  }
}

const steps = 4

const policy = Policy.exponential("200 millis").pipe(
  Policy.capped("5 seconds"),
  Policy.jittered,
  Policy.attempts(steps + 1)
)

const ours = (policy: Policy.Any): Side => {
  const { start, step } = Policy.stepper(policy)
  const random = source()
  return (iterations) => {
    const failure = { attempt: 1, elapsed: 0, now: 0, timedOut: false }
    let state = start()
    let granted = 0
    for (let i = 0; i < iterations; i++) {
      const n = i % steps
      if (n === 0) state = start()
      failure.attempt = n + 1
      if (step(state, failure, error, random) >= 0) granted++
    }
    return granted
  }
}

/** The arithmetic alone, as one would write it into a loop. */
const byHand: Side = (iterations) => {
  const random = source()
  let granted = 0
  let state = { attempt: 0 }
  for (let i = 0; i < iterations; i++) {
    if (i % steps === 0) state = { attempt: 0 }
    const delay = Math.min(200 * Math.pow(2, state.attempt++), 5_000) * random.nextDoubleUnsafe()
    if (state.attempt <= steps && delay >= 0) granted++
  }
  return granted
}

const perSecond = (nanos: ReadonlyArray<number>): ReadonlyArray<number> => nanos.map((_) => 1e3 / _)

export const stepper: Measurement = {
  title: "The stepper alone, in millions of steps a second",
  async measure({ many }) {
    const one = await takeTurns(
      { ours: ours(policy), tagged: ours(policy.pipe(Policy.whileTag("Unavailable"))), byHand },
      { rounds: many(15, 7), iterations: many(4_000_000, 1_000_000) }
    )
    return [
      alone("exponential | cap | jitter | attempts", "M/s", perSecond(one.ours), atLeast(20, "ours")),
      alone("… | whileTag", "M/s", perSecond(one.tagged)),
      compare("the stepper ÷ the arithmetic by hand", "ns", one.ours, one.byHand)
    ]
  }
}
