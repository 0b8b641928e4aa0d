/**
 * A budget for each origin that is called, which also knows of the hint that is in force there.
 */
import * as RetryBudget from "@reprise/core/RetryBudget"
import * as Effect from "effect/Effect"
import { monotonicMillis } from "./time.ts"

interface Origin {
  readonly budget: RetryBudget.Holding
  /** Monotonic milliseconds. */
  used: number
  /** Until when its hint is in force. */
  held: number
}

/** The budgets of a client by origin: a bounded number of them. */
export interface Origins {
  /** The budget of an origin that is used now, in monotonic milliseconds. */
  readonly of: (origin: string, now: number) => RetryBudget.RetryBudget
  /** From now on retries to an origin wait for so many milliseconds. */
  readonly hold: (origin: string, millis: number) => Effect.Effect<void>
}

// Longer than any budget remembers: making it anew gives nobody a retry.
const forgottenAfter = 60_000

export const make = (budget: () => RetryBudget.RetryBudget, most: number): Origins => {
  // In the order of their last use.
  const origins = new Map<string, Origin>()
  let other: RetryBudget.RetryBudget | undefined
  const makesRoom = (now: number): boolean => {
    for (const [name, origin] of origins) {
      if (now - origin.used < forgottenAfter) return false
      origins.delete(name)
      if (origin.held <= now) return true
      // It stays for its hint, and is looked at again in a minute.
      origin.used = now
      origins.set(name, origin)
    }
    return false
  }
  /** The place of an origin; undefined where all are taken. */
  const placeOf = (name: string, now: number): Origin | undefined => {
    let origin = origins.get(name)
    if (origin === undefined) {
      if (origins.size >= most && !makesRoom(now)) return undefined
      origin = { budget: RetryBudget.holding(budget()), used: now, held: -Infinity }
    } else {
      origins.delete(name)
      origin.used = now
    }
    origins.set(name, origin)
    return origin
  }
  return {
    of: (name, now) => placeOf(name, now)?.budget ?? (other ??= budget()),
    hold: (name, millis) =>
      Effect.flatMap(monotonicMillis, (now) => {
        const origin = placeOf(name, now)
        // What one origin asks for is not to hold the others that share a budget with it, whoever they are.
        if (origin === undefined) return Effect.void
        origin.held = Math.max(origin.held, now + millis)
        return origin.budget.hold(millis)
      })
  }
}

/**
 * The wait that a response from `url` asks for is in force for all. Where that is not known, as of a response that was
 * made by hand, it is the origin that was asked.
 */
export const heed = (origins: Origins, asked: string, url: string, millis: number): Effect.Effect<void> =>
  origins.hold(URL.canParse(url) ? new URL(url).origin : asked, millis)
