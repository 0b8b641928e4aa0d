/**
 * A budget whose retries start no earlier than what is called has asked for: one run heard the hint, and all heed it.
 */
import type { RetryBudget } from "../../RetryBudget.ts"
import { spreadOf } from "../stepper/spread.ts"
import { whenAnswered } from "./answer.ts"
import type { Meter, Withdrawal } from "./meter.ts"
import { isPaced, type PacedMeter } from "./pacing.ts"
import * as resolve from "./resolve.ts"
import * as steady from "./steady.ts"

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

/** Until when, in milliseconds of a time of its own. */
export interface Hold {
  until: number
  readonly timeOf: (now: number) => number
}

const around = (meter: Meter, hold: Hold, random: () => number): PacedMeter => {
  /** How long the hold still keeps it. */
  const keeps = (now: number, held: Held): number => {
    const time = hold.timeOf(now)
    if (hold.until > time && hold.until > held.heeded) {
      held.heeded = hold.until
      held.from = hold.until + random() * spreadOf(hold.until - time)
    }
    return Math.max(0, held.from - time)
  }
  // Written out: what takes a withdrawal must hand on the inner one, and a spread would forget what is added later.
  return {
    request: meter.request,
    balance: meter.balance,
    ceiling: meter.ceiling,
    withdraw: (now, failure) =>
      whenAnswered(
        meter.withdraw(now, failure),
        (inner): Held => ({ inner, heeded: -Infinity, from: -Infinity })
      ),
    refund: (now, withdrawal) => meter.refund(now, heldOf(withdrawal).inner),
    ready: (now, withdrawal) => {
      const held = heldOf(withdrawal)
      const wait = keeps(now, held)
      // In the line of a pace is only who could start.
      return wait === 0 && isPaced(meter) ? meter.ready(now, held.inner) : wait
    },
    start: (now, withdrawal) => {
      const held = heldOf(withdrawal)
      const wait = keeps(now, held)
      return wait === 0 ? meter.start(now, held.inner) : wait
    },
    heldFor: (now) => Math.max(0, hold.until - hold.timeOf(now)),
    undo: (now, withdrawal) => meter.undo?.(now, heldOf(withdrawal).inner),
    settle: meter.settle && ((withdrawal) => meter.settle?.(heldOf(withdrawal).inner)),
    failure: meter.failure,
    success: meter.success && ((now, last) => meter.success?.(now, last && heldOf(last).inner)),
    enter: meter.enter,
    exit: meter.exit,
    idle: (now) => hold.until <= hold.timeOf(now) && meter.idle(now)
  }
}

/** The budget, and the hold of all its meters. */
export const make = (budget: RetryBudget): readonly [RetryBudget, Hold] => {
  const hold: Hold = { until: -Infinity, timeOf: steady.make() }
  const meters = new WeakMap<Meter, Meter>()
  const held = resolve.make({
    at: (context) => {
      const inner = resolve.meterOf(budget, context)
      let outer = meters.get(inner)
      if (outer === undefined) meters.set(inner, outer = around(inner, hold, resolve.randomOf(context)))
      return outer
    },
    idle: (now) => hold.until <= hold.timeOf(now) && resolve.internalsOf(budget).idle(now)
  })
  return [held, hold]
}
