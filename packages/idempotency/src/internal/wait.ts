/** Waits until a record is no longer in progress. */
import * as Policy from "@reprise/core/Policy"
import * as Effect from "effect/Effect"
import type { StoreFailed } from "../IdempotencyError.ts"
import type { Found, IdempotencyStore } from "../IdempotencyStore.ts"

/** Whether a record is held by somebody who is alive, as far as can be told. */
export const isHeld = (there: Found | undefined): boolean => there?.state === "running" && there.left > 0

// From the upper half of each wait: of many callers that wait, few look at once. The time is the caller's.
const looks = Policy.exponential("5 millis", 1.5).pipe(
  Policy.capped("250 millis"),
  Policy.jitteredWith("equal"),
  Policy.whileInput(isHeld),
  Policy.unlimited
)

/** Looks again and again at a record that is held, for so many milliseconds. */
export const waitFor = (
  store: IdempotencyStore,
  id: string,
  there: Found,
  millis: number
): Effect.Effect<unknown, StoreFailed> =>
  Effect.timeoutOption(Effect.scheduleFrom(store.read(id), there, looks), millis)
