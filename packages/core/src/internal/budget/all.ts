/**
 * Several meters of which each must agree.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { RetryBudget } from "../../RetryBudget.ts"
import { type Answer, isToCome } from "./answer.ts"
import type { Failure, Meter, Withdrawal } from "./meter.ts"
import * as time from "../time.ts"
import { isPaced, type PacedMeter } from "./pacing.ts"
import * as resolve from "./resolve.ts"

interface Parts {
  /** What each meter gave, in their order. */
  readonly taken: ReadonlyArray<Withdrawal>
  /** How many of them have counted the start. */
  started: number
}

const partsOf = (withdrawal: Withdrawal): Parts =>
  // The driver hands back to a meter only what that meter gave it.
  withdrawal as Parts

// What had to be asked over a wire has taken time.
const now = Effect.map(Clock.Clock, time.now)

/** What the meters have under a name, or `undefined` where none has it. */
const each = <F>(meters: ReadonlyArray<Meter>, of: (meter: Meter) => F | undefined): ReadonlyArray<F> | undefined => {
  const found = meters.flatMap((meter) => of(meter) ?? [])
  return found.length === 0 ? undefined : found
}

interface Together extends PacedMeter {
  readonly members: ReadonlyArray<Meter>
}

const membersOf = (meter: Meter): ReadonlyArray<Meter> =>
  // Under this name only `together` has something.
  "members" in meter ? (meter as Together).members : [meter]

const together = (asked: ReadonlyArray<Meter>): Together => {
  // Asked twice, one meter would take twice, also where it is inside of another `all`.
  const meters = [...new Set(asked.flatMap(membersOf))]
  const least = (of: (meter: Meter) => number): number =>
    meters.reduce((sum, meter) => Math.min(sum, of(meter)), Infinity)
  const giveBack = (now: number, { started, taken }: Parts): void =>
    taken.forEach((withdrawal, index) => {
      const meter = meters[index]!
      if (index < started) meter.undo?.(now, withdrawal)
      else meter.refund(now, withdrawal)
    })

  /** Asks the meters one after another, from the one behind those that have agreed. */
  const ask = (
    now: number,
    failure: Failure,
    taken: Array<Withdrawal>
  ): Answer => {
    while (taken.length < meters.length) {
      const answer = meters[taken.length]!.withdraw(now, failure)
      if (isToCome(answer)) return later(failure, taken, answer)
      if (answer === undefined) {
        giveBack(now, { taken, started: 0 })
        return undefined
      }
      taken.push(answer)
    }
    return { taken, started: 0 }
  }
  const later = (
    failure: Failure,
    taken: Array<Withdrawal>,
    answer: Effect.Effect<Withdrawal | undefined>
  ): Effect.Effect<Withdrawal | undefined> =>
    Effect.flatMap(
      // An interruption while one of them takes its time leaves nothing with the others.
      Effect.onExit(answer, (exit) =>
        Exit.isSuccess(exit) && exit.value !== undefined
          ? Effect.void
          : Effect.map(now, (now) => giveBack(now, { taken, started: 0 }))),
      (withdrawal) => {
        if (withdrawal === undefined) return Effect.succeed(undefined)
        taken.push(withdrawal)
        return Effect.flatMap(now, (now) => {
          const rest = ask(now, failure, taken)
          return isToCome(rest) ? rest : Effect.succeed(rest)
        })
      }
    )
  /** Until all are ready, none counts a start. One that has started would be sent away by its own start. */
  const ready = (now: number, withdrawal: Withdrawal): number => {
    const { started, taken } = partsOf(withdrawal)
    let wait = 0
    for (let index = started; index < meters.length; index++) {
      const meter = meters[index]!
      if (isPaced(meter)) wait = Math.max(wait, meter.ready(now, taken[index]!))
    }
    return wait
  }

  const settles = meters.some((meter) => meter.settle !== undefined)
  const failures = each(meters, (meter) => meter.failure)
  const succeeds = meters.some((meter) => meter.success !== undefined)
  const enters = each(meters, (meter) => meter.enter)
  const exits = each(meters, (meter) => meter.exit)
  return {
    members: meters,
    request: (now) => meters.forEach((meter) => meter.request(now)),
    balance: (now) => least((meter) => meter.balance(now)),
    ceiling: (now) => least((meter) => meter.ceiling(now)),
    withdraw: (now, failure) => ask(now, failure, []),
    refund: (now, withdrawal) => giveBack(now, partsOf(withdrawal)),
    ready,
    start: (now, withdrawal) => {
      const wait = ready(now, withdrawal)
      if (wait > 0) return wait
      const parts = partsOf(withdrawal)
      // One may say only now that it is not ready, as where one pace is asked twice, by itself and inside of `holding`.
      // It is asked again, and those before it are not: with one start a second they would never be ready together.
      for (; parts.started < meters.length; parts.started++) {
        const more = meters[parts.started]!.start(now, parts.taken[parts.started]!)
        if (more > 0) return more
      }
      return 0
    },
    heldFor: (now) => meters.reduce((most, meter) => Math.max(most, meter.heldFor?.(now) ?? 0), 0),
    undo: (now, withdrawal) => giveBack(now, partsOf(withdrawal)),
    settle: settles
      ? (withdrawal) => partsOf(withdrawal).taken.forEach((part, index) => meters[index]!.settle?.(part))
      : undefined,
    failure: failures && ((now) => failures.forEach((fail) => fail(now))),
    success: succeeds
      ? (now, last) => {
        const taken = last === undefined ? undefined : partsOf(last).taken
        meters.forEach((meter, index) => meter.success?.(now, taken?.[index]))
      }
      : undefined,
    enter: enters && (() => enters.forEach((enter) => enter())),
    exit: exits && (() => exits.forEach((exit) => exit())),
    idle: (now) => meters.every((meter) => meter.idle(now))
  }
}

/** Two meters of which each must agree. */
export const both = (one: Meter, other: Meter): Meter => together([one, other])

export const make = (budgets: ReadonlyArray<RetryBudget>): RetryBudget => {
  let meter: Meter | undefined
  let of: ReadonlyArray<Meter> = []
  return resolve.make({
    at: (context) => {
      const meters = budgets.map((budget) => resolve.meterOf(budget, context))
      // Most budgets have the same meter for everybody. What is made here holds nothing of its own.
      if (meter === undefined || meters.some((one, index) => one !== of[index])) {
        of = meters
        meter = together(meters)
      }
      return meter
    },
    idle: (now) => budgets.every((budget) => resolve.internalsOf(budget).idle(now))
  })
}
