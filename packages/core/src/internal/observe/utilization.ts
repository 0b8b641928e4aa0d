import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import type { RetryBudget } from "../../RetryBudget.ts"
import { meterOf } from "../budget/resolve.ts"
import * as time from "../time.ts"

/** Milliseconds in which half of the highest balance is forgotten: traffic changes, and with it what is much. */
const halfLife = 600_000

/** Reads, when it is called, which share of a budget is used up. */
export const reading = (budget: RetryBudget, context: Context.Context<never>): () => number => {
  const clock = Context.get(context, Clock.Clock)
  let highest = 0
  let readAt = 0
  let last = 0
  return () => {
    const now = time.now(clock)
    const left = meterOf(budget, context).balance(now)
    // An exporter must not fail for a balance that is none.
    if (Number.isNaN(left)) return last
    // A budget without an end; nothing can be a share of it.
    if (left === Infinity) return last = 0
    highest = Math.max(left, highest * 2 ** ((readAt - now) / halfLife))
    readAt = now
    // Less than 1 buys no retry.
    return last = left < 1 ? 1 : left >= highest ? 0 : 1 - left / highest
  }
}
