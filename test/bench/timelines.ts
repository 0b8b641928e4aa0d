import { Policy } from "@reprise/core"
import { Script, Timeline } from "@reprise/testing"
import { Data, Effect } from "effect"
import { performance } from "node:perf_hooks"
import type { Measurement } from "./Measurement.ts"
import { alone, atMost } from "./Row.ts"

class Unavailable extends Data.TaggedError("Unavailable")<{}> {}

const attempts = 5

const policy = Policy.exponential("200 millis").pipe(
  Policy.capped("5 seconds"),
  Policy.jittered,
  Policy.attempts(attempts)
)

const record = Timeline.record(
  Script.make([...Script.times(attempts - 1, Script.fail(new Unavailable())), Script.succeed("done")]),
  policy
)

const recordMany = Effect.fnUntraced(function* (timelines: number) {
  let recorded = 0
  for (let i = 0; i < timelines; i++) recorded += (yield* record).attempts.length
  return recorded
})

const seconds = async (timelines: number): Promise<number> => {
  const start = performance.now()
  const recorded = await Effect.runPromise(recordMany(timelines))
  if (recorded !== timelines * attempts) throw new Error(`${recorded} attempts in ${timelines} timelines`)
  return (performance.now() - start) / 1_000
}

export const timelines: Measurement = {
  title: "Timelines of five attempts in virtual time",
  async measure({ many }) {
    const runs = many(10_000, 1_000)
    const rounds = many(7, 3)
    await seconds(Math.ceil(runs / 10))
    const samples: Array<number> = []
    for (let round = 0; round < rounds; round++) samples.push(await seconds(runs) * 10_000 / runs)
    return [alone("10,000 timelines", "s", samples, atMost(5, "ours"))]
  }
}
