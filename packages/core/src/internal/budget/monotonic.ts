import type * as Clock from "effect/Clock"

/** Milliseconds on the monotonic clock, which is the time of all meters. */
export const now = (clock: Clock.Clock): number => Number(clock.monotonicTimeNanosUnsafe()) / 1e6
