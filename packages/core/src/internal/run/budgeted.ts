/** A run and its budget: from the client's own one, the switch's, or both. */
import * as Effect from "effect/Effect"
import { isToCome } from "../budget/answer.ts"
import type { Meter, Withdrawal } from "../budget/meter.ts"
import type { Setting } from "../control.ts"
import { isRefused } from "../transience/effectError.ts"
import type { AnyEffect } from "./settings.ts"
import { type Found, monotonic, type Run, tick } from "./state.ts"

const settingOf = ({ settings, site: { control } }: Found): Setting | undefined =>
  control?.setting(settings.name, settings.origin)

/** Whether an operator has switched retries off. */
export const isOff = (found: Found): boolean => settingOf(found)?.off === true

/** Who pays for a retry, as the switch stands now. */
export const payerOf = (run: Run): Meter | undefined => {
  const { found: { site: { meter } } } = run
  const switched = settingOf(run.found)
  run.switched = switched?.meter
  if (switched?.meter === undefined) return meter
  return meter === undefined ? switched.meter : switched.beside(meter)
}

/** Whether the switch has been lowered since the retry was paid for. */
export const isLowered = (run: Run): boolean => {
  const lowered = settingOf(run.found)?.meter
  return lowered !== undefined && lowered !== run.switched
}

/** An attempt failed in a way that is worth a retry, whether or not there will be one. */
export const failed = (run: Run, error: unknown): void => {
  const failure = run.found.site.meter?.failure
  if (failure !== undefined && !isRefused(error)) failure(monotonic(run))
}

const take = (run: Run, by: Meter, withdrawal: Withdrawal | undefined): boolean => {
  if (withdrawal === undefined) return false
  run.paid = { by, withdrawal, started: false }
  run.taken++
  return true
}

/** `next` is told whether the retry is paid for; `"late"` when the answer was waited for. */
export const withdraw = (
  run: Run,
  payer: Meter,
  error: unknown,
  next: (yes: boolean | "late") => AnyEffect
): AnyEffect => {
  if (isRefused(error)) return next(true)
  // What the caller does with an event takes time.
  tick(run)
  const now = monotonic(run)
  if (run.taken === 0) run.ceiling = payer.ceiling(now)
  if (run.taken >= run.ceiling) return next(false)
  const answer = payer.withdraw(now, { error, timedOut: run.timedOut })
  if (!isToCome(answer)) return next(take(run, payer, answer))
  return Effect.flatMap(
    // What was taken is known before anything can interrupt the run.
    Effect.uninterruptible(Effect.map(answer, (withdrawal) => take(run, payer, withdrawal))),
    (yes) => next(yes && "late")
  )
}

/** How many milliseconds a retry has to wait yet before it may start; at 0 it has started. */
export const start = (run: Run): number => {
  const { paid } = run
  if (paid === undefined || paid.started) return 0
  const more = paid.by.start(monotonic(run), paid.withdrawal)
  if (more === 0) {
    paid.started = true
    run.spent = paid
  }
  // Clocks count whole milliseconds: one that came back a fraction too early would be sent away for ever.
  return Math.ceil(more)
}

/** For how many milliseconds the retry waits because what is called has asked for it. */
export const heldFor = (run: Run): number => run.paid?.by.heldFor?.(monotonic(run)) ?? 0

/** The outcome of a retry that had started is known. */
export const settle = (run: Run): void => {
  const { paid } = run
  if (paid === undefined || !paid.started) return
  paid.by.settle?.(paid.withdrawal)
  run.paid = undefined
}

/** Gives back what was withdrawn for a retry that has not started. */
export const release = (run: Run): void => {
  const { paid } = run
  if (paid === undefined || paid.started) return
  tick(run)
  paid.by.refund(monotonic(run), paid.withdrawal)
  run.paid = undefined
  run.taken--
}
