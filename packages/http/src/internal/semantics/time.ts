/** Time, as runs measure it. */
import * as Deadline from "@reprise/core/Deadline"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"

export const monotonicMillisOf = (clock: Clock.Clock): number => Number(clock.monotonicTimeNanosUnsafe()) / 1e6

export const monotonicMillis: Effect.Effect<number> = /* @__PURE__ */ Effect.map(
  Clock.monotonicTimeNanos,
  (nanos) => Number(nanos) / 1e6
)

/** What comes within so many milliseconds; undefined where it does not. */
export const inTime = <A>(self: Effect.Effect<A>, limit: Effect.Effect<number>): Effect.Effect<A | undefined> =>
  Effect.map(Effect.flatMap(limit, (millis) => Effect.timeoutOption(self, millis)), Option.getOrUndefined)

/** So many milliseconds, or what is left until the caller's deadline. */
export const beforeDeadline = (millis: number): Effect.Effect<number> =>
  Effect.map(
    Deadline.remaining,
    (left) => Option.isNone(left) ? millis : Math.min(millis, Duration.toMillis(left.value))
  )
