/**
 * A budget for each key, such as an endpoint or a tenant: a bounded number of them.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import type { Keyed, RetryBudget } from "../../RetryBudget.ts"
import { errorType } from "../observe/errorType.ts"
import { log } from "../observe/log.ts"
import * as names from "../observe/names.ts"
import type { Meter } from "./meter.ts"
import * as time from "../time.ts"
import * as resolve from "./resolve.ts"
import * as unlimited from "./unlimited.ts"

const noRetries = resolve.make({ at: () => unlimited.none, idle: () => true })

// Where no room is left, so many of the oldest are looked at for one that can go: a flood of new keys costs little.
const lookedAt = 8

export const make = (
  makeBudget: (key: string) => RetryBudget,
  key: (context: Context.Context<never>) => string,
  maxKeys: number
): Keyed => {
  const budgets = new Map<string, RetryBudget>()
  let other: RetryBudget | undefined
  let told = false

  /**
   * What one of the two functions returns, where it fits. They are asked before a run's first attempt, which no budget
   * holds back, so what they throw must not end the run; it is said once.
   */
  const safely = <A>(context: Context.Context<never>, f: () => A, fits: (result: A) => boolean): A | undefined => {
    let error: unknown
    try {
      const result = f()
      if (fits(result)) return result
    } catch (thrown) {
      error = thrown
    }
    if (told) return undefined
    told = true
    log(
      context,
      "Warn",
      "RetryBudget.keyed was given a function that threw, or returned no text or no budget: runs share the budget of " +
        "_OTHER, or have no retries where there is none",
      { [names.errorType]: errorType(error) }
    )
    return undefined
  }
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
    const room = name !== names.other &&
      (budgets.size < maxKeys || evicts(time.now(Context.get(context, Clock.Clock))))
    const made = room ? safely(context, () => makeBudget(name), resolve.isRetryBudget) : undefined
    if (made !== undefined) {
      budgets.set(name, made)
      return made
    }
    other ??= safely(context, () => makeBudget(names.other), resolve.isRetryBudget)
    return other ?? noRetries
  }
  const keyOf = (context: Context.Context<never>): string =>
    safely(context, () => key(context), (name) => typeof name === "string") ?? names.other
  const meterOf = (name: string, context: Context.Context<never>): Meter =>
    resolve.meterOf(budgetOf(name, context), context)
  const idle = (now: number): boolean => {
    for (const budget of budgets.values()) if (!resolve.internalsOf(budget).idle(now)) return false
    return other === undefined || resolve.internalsOf(other).idle(now)
  }
  return {
    ...resolve.make({ at: (context) => meterOf(keyOf(context), context), idle }),
    // A view, so that it stays right whatever is made and unmade.
    at: (name) => resolve.make({ at: (context) => meterOf(name, context), idle })
  }
}
