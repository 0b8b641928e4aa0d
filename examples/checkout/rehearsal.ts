/**
 * The policy of the checkout in virtual time: many runs of minutes, in a moment, and whether every wait lies between
 * the shortest and the longest that the policy can give.
 */
import { Policy } from "@reprise/core"
import { Script, Timeline } from "@reprise/testing"
import { Clock, Duration, Effect } from "effect"
import { ConnectionLost, policy, Throttled, Unavailable } from "./client.ts"

const runs = 100

const errors = [
  new ConnectionLost({ message: "rehearsed", cause: undefined }),
  new Throttled({ message: "rehearsed", retryAfter: Duration.seconds(1) }),
  new Unavailable({ message: "rehearsed" }),
  new Unavailable({ message: "rehearsed" })
]

interface Bounds {
  readonly after: string
  readonly lowest: number
  readonly highest: number
}

/** Asks the policy itself, with chance nailed to either end. */
const bounds = (): ReadonlyArray<Bounds> => {
  const stepper = Policy.stepper(policy)
  const waits = (draw: number) => {
    const state = stepper.start()
    return (error: unknown, index: number) =>
      stepper.step(state, { attempt: index + 1, elapsed: 0, now: 0, timedOut: false }, error, {
        nextDoubleUnsafe: () => draw
      })
  }
  const [lowest, highest] = [errors.map(waits(0)), errors.map(waits(1 - Number.EPSILON / 2))]
  return errors.map((error, index) => ({ after: error._tag, lowest: lowest[index]!, highest: highest[index]! }))
}

export interface Rehearsal {
  readonly runs: number
  readonly bounds: ReadonlyArray<Bounds>
  /** The waits of each retry, over all runs. */
  readonly waits: ReadonlyArray<ReadonlyArray<number>>
  /** Milliseconds that it took. */
  readonly took: number
}

export const rehearse: Effect.Effect<Rehearsal> = Effect.gen(function* () {
  const operation = Script.make([...errors.map((error) => Script.fail(error)), Script.succeed("charged")])
  const start = yield* Clock.currentTimeMillis
  const timelines = yield* Effect.forEach(
    Array.from({ length: runs }, (_, seed) => seed),
    (seed) => Timeline.record(operation, policy, { seed })
  )
  const end = yield* Clock.currentTimeMillis
  const waits = errors.map((_, index) => timelines.map((timeline) => timeline.waits[index] ?? Number.NaN))
  return { runs, bounds: bounds(), waits, took: end - start }
})
