/**
 * A budget for each origin that is called, which also knows of the hint that is in force there.
 */
import * as RetryBudget from "@reprise/core/RetryBudget"
import * as Effect from "effect/Effect"

interface Origin {
  readonly budget: RetryBudget.Holding
  /** Monotonic milliseconds. */
  used: number
}

/** The budgets of a client by origin: a bounded number of them. */
export interface Origins {
  readonly of: (origin: string, now: number) => RetryBudget.Holding
}

// As long as a hint is followed, and longer than any budget remembers: making it anew gives nobody a retry.
const forgottenAfter = 60_000

/** What one origin asks for is not to hold the others, whoever they are. */
const sharing = (budget: RetryBudget.RetryBudget): RetryBudget.Holding => ({
  ...RetryBudget.holding(budget),
  hold: () => Effect.void
})

export const make = (budget: () => RetryBudget.RetryBudget, most: number): Origins => {
  // In the order of their last use.
  const origins = new Map<string, Origin>()
  let other: RetryBudget.Holding | undefined
  const makesRoom = (now: number): boolean => {
    for (const [oldest, { used }] of origins) {
      if (now - used < forgottenAfter) return false
      origins.delete(oldest)
      return true
    }
    return false
  }
  return {
    of: (name, now) => {
      let origin = origins.get(name)
      if (origin === undefined) {
        if (origins.size >= most && !makesRoom(now)) return other ??= sharing(budget())
        origin = { budget: RetryBudget.holding(budget()), used: now }
      } else {
        origins.delete(name)
        origin.used = now
      }
      origins.set(name, origin)
      return origin.budget
    }
  }
}
