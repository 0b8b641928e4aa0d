/**
 * The loop that people write: every error is tried again, at once, and no key tells the provider that it is a retry.
 */
import { Effect } from "effect"
import { attemptTimeout, type Order, Payments } from "./client.ts"

export const attempts = 4

export const charge = Effect.fn("naive.charge")(function* (order: Order) {
  const payments = yield* Payments
  return yield* payments.send(order).pipe(
    Effect.timeout(attemptTimeout),
    Effect.retry({ times: attempts - 1 })
  )
})
