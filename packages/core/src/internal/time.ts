import type * as Clock from "effect/Clock"

/** Milliseconds on the monotonic clock since a reading of it in nanoseconds. */
export const millisSince = (clock: Clock.Clock, startedAt: bigint): number =>
  Number(clock.monotonicTimeNanosUnsafe() - startedAt) / 1e6
