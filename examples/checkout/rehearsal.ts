/**
 * The policy of the checkout in virtual time: many runs of minutes, in a moment, and whether every wait lies between
 * the shortest and the longest that the policy can give.
 */
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

const operation = Script.make([...errors.map((error) => Script.fail(error)), Script.succeed("charged")])

const waits = (conditions: Timeline.Conditions): Effect.Effect<ReadonlyArray<number>> =>
  Effect.map(Timeline.record(operation, policy, conditions), (timeline) => timeline.waits)

interface Retry {
  readonly after: string
  /** The bounds of its wait, with chance nailed to either end. */
  readonly lowest: number
  readonly highest: number
  /** Its wait in each run. */
  readonly waits: ReadonlyArray<number>
}

export interface Rehearsal {
  readonly runs: number
  readonly retries: ReadonlyArray<Retry>
  /** Milliseconds that it took. */
  readonly took: number
}

export const rehearse: Effect.Effect<Rehearsal> = Effect.gen(function* () {
  const start = yield* Clock.currentTimeMillis
  const drawn = yield* Effect.forEach(Array.from({ length: runs }, (_, seed) => seed), (seed) => waits({ seed }))
  const end = yield* Clock.currentTimeMillis
  const lowest = yield* waits({ random: "lowest" })
  const highest = yield* waits({ random: "highest" })
  const retries = errors.map((error, index) => ({
    after: error._tag,
    lowest: lowest[index]!,
    highest: highest[index]!,
    waits: drawn.map((waits) => waits[index]!)
  }))
  return { runs, retries, took: end - start }
})
