/** Removes records that are past their retention. */
import * as Effect from "effect/Effect"
import type { StoreFailed } from "../IdempotencyError.ts"
import { IdempotencyStore } from "../IdempotencyStore.ts"

export const sweep = (batch: number): Effect.Effect<number, StoreFailed, IdempotencyStore> =>
  Effect.gen(function* () {
    const store = yield* IdempotencyStore
    let all = 0
    while (true) {
      const removed = yield* store.sweep(batch)
      all += removed
      if (removed < batch) return all
    }
  })

export const forever = (batch: number, every: number): Effect.Effect<never, never, IdempotencyStore> =>
  sweep(batch).pipe(
    Effect.catch((error) => Effect.logWarning(`Idempotency records were not swept: ${error.message}`)),
    Effect.andThen(Effect.sleep(every)),
    Effect.forever
  )
