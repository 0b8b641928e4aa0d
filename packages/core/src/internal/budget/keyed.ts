/**
 * A budget for each key, such as an endpoint or a tenant: a bounded number of them.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import type { Keyed, RetryBudget } from "../../RetryBudget.ts"
import type { Meter } from "./meter.ts"
import * as monotonic from "./monotonic.ts"
import * as resolve from "./resolve.ts"

// The name that metrics have for what no longer gets a series of its own.
const otherKey = "_OTHER"

// Where no room is left, so many of the oldest are looked at for one that can go: a flood of new keys costs little.
const lookedAt = 8

export const make = (
  makeBudget: (key: string) => RetryBudget,
  key: (context: Context.Context<never>) => string,
  maxKeys: number
): Keyed => {
  const budgets = new Map<string, RetryBudget>()
  let other: RetryBudget | undefined

  /** Makes room without a gift: who comes back later gets no more than was there. */
  const evicts = (now: number): boolean => {
    let looked = 0
    for (const [oldest, budget] of budgets) {
      if (looked++ === lookedAt) return false
      budgets.delete(oldest)
      if (resolve.internalsOf(budget).idle(now)) return true
      budgets.set(oldest, budget)
    }
    return false
  }
  const budgetOf = (name: string, context: Context.Context<never>): RetryBudget => {
    const known = budgets.get(name)
    if (known !== undefined) return known
    const full = budgets.size >= maxKeys
    if (name === otherKey || (full && !evicts(monotonic.now(Context.get(context, Clock.Clock))))) {
      return other ??= makeBudget(otherKey)
    }
    const made = makeBudget(name)
    budgets.set(name, made)
    return made
  }
  const meterOf = (name: string, context: Context.Context<never>): Meter =>
    resolve.meterOf(budgetOf(name, context), context)
  const idle = (now: number): boolean => {
    for (const budget of budgets.values()) if (!resolve.internalsOf(budget).idle(now)) return false
    return other === undefined || resolve.internalsOf(other).idle(now)
  }
  return {
    ...resolve.make({ at: (context) => meterOf(key(context), context), idle }),
    // A view, so that it stays right whatever is made and unmade.
    at: (name) => resolve.make({ at: (context) => meterOf(name, context), idle })
  }
}
