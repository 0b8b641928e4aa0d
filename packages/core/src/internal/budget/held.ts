/**
 * A budget whose retries start no earlier than what is called has asked for: one run heard the hint, and all heed it.
 */
import type { RetryBudget } from "../../RetryBudget.ts"
import type { Meter, Withdrawal } from "./meter.ts"
import * as resolve from "./resolve.ts"

interface Held {
  readonly inner: Withdrawal
  /** The hold that it has waited for, or waits for. */
  heeded: number
  /** When that wait is over. */
  from: number
}

const heldOf = (withdrawal: Withdrawal): Held =>
  // The driver hands back to a meter only what that meter gave it.
  withdrawal as Held

// R7: those that were given one date do not come back together.
const longestSpread = 5000

/** Until when, in milliseconds on the monotonic clock. */
export interface Hold {
  until: number
}

export const around = (meter: Meter, hold: Hold, random: () => number): Meter => ({
  ...meter,
  withdraw: (now, failure) => {
    const inner = meter.withdraw(now, failure)
    return resolve.whenAnswered(inner, (given): Withdrawal => ({ inner: given, heeded: -Infinity, from: -Infinity }))
  },
  refund: (now, withdrawal) => meter.refund(now, heldOf(withdrawal).inner),
  start: (now, withdrawal) => {
    const held = heldOf(withdrawal)
    if (hold.until > now && hold.until > held.heeded) {
      held.heeded = hold.until
      held.from = hold.until + random() * Math.min(longestSpread, (hold.until - now) / 10)
    }
    return held.from > now ? held.from - now : meter.start(now, held.inner)
  },
  settle: meter.settle && ((withdrawal) => meter.settle?.(heldOf(withdrawal).inner)),
  success: meter.success && ((now, last) => meter.success?.(now, last && heldOf(last).inner)),
  idle: (now) => hold.until <= now && meter.idle(now)
})

/** The budget, and the hold of all its meters. */
export const make = (budget: RetryBudget): readonly [RetryBudget, Hold] => {
  const hold: Hold = { until: -Infinity }
  const meters = new WeakMap<Meter, Meter>()
  const held = resolve.make({
    at: (context) => {
      const inner = resolve.meterOf(budget, context)
      let outer = meters.get(inner)
      if (outer === undefined) meters.set(inner, outer = around(inner, hold, resolve.randomOf(context)))
      return outer
    },
    idle: (now) => hold.until <= now && resolve.internalsOf(budget).idle(now)
  })
  return [held, hold]
}
