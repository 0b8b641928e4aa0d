/**
 * A clock on which a wait takes no time, for a run in which nothing happens.
 */
import type * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

export const make = (): Clock.Clock => {
  let nanos = 0n
  const millis = () => Number(nanos) / 1_000_000
  return {
    currentTimeMillisUnsafe: millis,
    currentTimeMillis: Effect.sync(millis),
    currentTimeNanosUnsafe: () => nanos,
    currentTimeNanos: Effect.sync(() => nanos),
    monotonicTimeNanosUnsafe: () => nanos,
    monotonicTimeNanos: Effect.sync(() => nanos),
    sleep: (duration) =>
      Effect.sync(() => {
        nanos += BigInt(Math.round(Duration.toMillis(duration) * 1_000_000))
      })
  }
}
