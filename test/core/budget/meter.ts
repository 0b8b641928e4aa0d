/** What a run asks of a budget, without a run: the meter under the budget's key, with time as an argument. */
import { RetryBudget } from "@reprise/core"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Random from "effect/Random"

export type Withdrawal = object

export interface Meter {
  readonly request: (now: number) => void
  readonly balance: (now: number) => number
  readonly ceiling: (now: number) => number
  readonly withdraw: (
    now: number,
    failure: { readonly error: unknown; readonly timedOut: boolean }
  ) => Withdrawal | undefined | Effect.Effect<Withdrawal | undefined>
  readonly refund: (now: number, withdrawal: Withdrawal) => void
  readonly start: (now: number, withdrawal: Withdrawal) => number
  readonly settle: ((withdrawal: Withdrawal) => void) | undefined
  readonly failure: ((now: number) => void) | undefined
  readonly success: ((now: number, last: Withdrawal | undefined) => void) | undefined
  readonly enter: (() => void) | undefined
  readonly exit: (() => void) | undefined
  readonly idle: (now: number) => boolean
}

interface Internals {
  readonly at: (context: Context.Context<never>) => Meter
}

/** The meter of a budget in a context. */
export const meterIn = (budget: RetryBudget.RetryBudget, context: Context.Context<never>): Meter =>
  // What lies under the key is the driver's, and this is a driver.
  (budget[RetryBudget.TypeId] as Internals).at(context)

/** The meter of a budget whose draws are all `drawn`. */
export const meterOf = (budget: RetryBudget.RetryBudget, drawn: number = 0): Meter =>
  meterIn(budget, Context.make(Random.Random, { nextDoubleUnsafe: () => drawn, nextIntUnsafe: () => 0 }))

/** An ordinary failure. */
export const failure = { error: "busy", timedOut: false }

/** Asks for a retry; the meters of this package answer at once. */
export const take = (meter: Meter, now: number, of: typeof failure = failure): Withdrawal | undefined =>
  meter.withdraw(now, of)

/** How many of so many retries are granted now. */
export const grantedOf = (meter: Meter, now: number, times: number): number => {
  let granted = 0
  for (let i = 0; i < times; i++) if (take(meter, now) !== undefined) granted++
  return granted
}
