/** Waits until a record is no longer in progress. */
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import type { StoreFailed } from "../IdempotencyError.ts"
import type { IdempotencyStore } from "../IdempotencyStore.ts"
import { now } from "./hold.ts"

const first = 5
const longest = 250

/**
 * Looks again and again, until a time on the monotonic clock, at waits that grow from 5 to 250 ms and are drawn from their
 * upper half: of many callers that wait, few look at once.
 */
export const waitFor = (
  store: IdempotencyStore,
  clock: Clock.Clock,
  id: string,
  until: number
): Effect.Effect<void, StoreFailed> =>
  Effect.gen(function* () {
    let pause = first
    while (true) {
      const left = until - now(clock)
      if (left <= 0) return
      yield* Effect.sleep(Math.ceil(Math.min(left, pause * (yield* Random.nextBetween(0.5, 1)))))
      pause = Math.min(longest, pause * 1.5)
      const there = yield* store.read(id)
      if (there?.state !== "running" || there.left <= 0) return
    }
  })
