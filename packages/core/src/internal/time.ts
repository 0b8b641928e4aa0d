import type * as Clock from "effect/Clock"

/** Milliseconds on the monotonic clock since a reading of it in nanoseconds. */
export const millisSince = (clock: Clock.Clock, startedAt: bigint): number =>
  // A clock that goes back, as a test's may, has not gone on.
  Math.max(0, Number(clock.monotonicTimeNanosUnsafe() - startedAt) / 1e6)
