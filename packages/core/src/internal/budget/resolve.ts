/**
 * From a budget to the meter that a run asks.
 */
import * as Context from "effect/Context"
import * as Random from "effect/Random"
import type { RetryBudget } from "../../RetryBudget.ts"
import type { Meter } from "./meter.ts"

export const TypeId = "~@reprise/core/RetryBudget"

/** See `RetryBudget.Current`. */
export const CurrentBudget: Context.Reference<RetryBudget | undefined> = /* @__PURE__ */ Context.Reference(
  "@reprise/core/RetryBudget/Current",
  { defaultValue: (): RetryBudget | undefined => undefined }
)

/** What a budget holds. It lies under the string key, so that another copy of the package finds it. */
export interface Internals {
  /** The meter for a run in this context. */
  readonly at: (context: Context.Context<never>) => Meter
  /** Whether a new budget in its place would be no more generous. */
  readonly idle: (now: number) => boolean
}

export const isRetryBudget = (u: unknown): u is RetryBudget => typeof u === "object" && u !== null && TypeId in u

export const internalsOf = (budget: RetryBudget): Internals =>
  // The interface hides what is there; `make` puts it there.
  budget[TypeId] as Internals

/** The meter that a run asks which has this context. Ask once per run: a keyed budget looks for the run's key. */
export const meterOf = (budget: RetryBudget, context: Context.Context<never>): Meter => internalsOf(budget).at(context)

export const make = (internals: Internals): RetryBudget => ({ [TypeId]: internals })

/** Chance as the context has it. */
export const randomOf = (context: Context.Context<never>) => (): number =>
  Context.get(context, Random.Random).nextDoubleUnsafe()

/** A budget with one meter, which is made when it is asked for first, because chance comes with the context. */
export const single = (create: (random: () => number) => Meter): RetryBudget => {
  let meter: Meter | undefined
  return make({
    at: (context) => meter ??= create(randomOf(context)),
    idle: (now) => meter === undefined || meter.idle(now)
  })
}
