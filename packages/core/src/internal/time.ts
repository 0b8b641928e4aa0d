import type * as Clock from "effect/Clock"

/** Milliseconds of nanoseconds. */
export const millisOf = (nanos: bigint): number => Number(nanos) / 1e6

/** Milliseconds on the monotonic clock, which is the time of all meters. */
export const now = (clock: Clock.Clock): number => millisOf(clock.monotonicTimeNanosUnsafe())

/** Milliseconds on the monotonic clock since a reading of it in nanoseconds. */
export const millisSince = (clock: Clock.Clock, startedAt: bigint): number =>
  // A clock that goes back, as a test's may, has not gone on.
  Math.max(0, millisOf(clock.monotonicTimeNanosUnsafe() - startedAt))
