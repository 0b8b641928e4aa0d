import { Policy } from "@reprise/core"
import { Duration, Effect, Random, Schedule } from "effect"

/** exponential(200ms) | cap(5s) | jitter | attempts(3) */
export const policy = Policy.standard

/** The same waits and the same end as {@link policy}, of Effect's own parts. Its `jittered` is ±20 %, so not used. */
export const schedule = Schedule.min([Schedule.exponential("200 millis"), Schedule.spaced("5 seconds")]).pipe(
  Schedule.modifyDelay(({ duration }) =>
    Effect.map(Random.next, (drawn) => Duration.millis(Duration.toMillis(duration) * drawn))
  ),
  Schedule.upTo({ times: 2 })
)
