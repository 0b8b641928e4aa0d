import type * as Cause from "effect/Cause"
import type * as Fiber from "effect/Fiber"
import * as RetryExhausted from "../../RetryExhausted.ts"
import type * as Stepper from "../../Stepper.ts"
import type { Meter, Withdrawal } from "../budget/meter.ts"
import { millisOf, millisSince } from "../time.ts"
import type { Owner } from "./attempt.ts"
import type { AnyEffect, Settings } from "./settings.ts"
import type { Site } from "./site.ts"
import type { Watch } from "./watch.ts"

/** One failed attempt, in milliseconds. */
export interface Entry {
  readonly attempt: number
  readonly error: unknown
  readonly elapsed: number
  readonly delay: number | undefined
}

/** What a run finds when it starts. */
export interface Found {
  readonly settings: Settings
  readonly site: Site
  readonly operation: AnyEffect
  readonly owner: Owner | undefined
  readonly fiber: Fiber.Fiber<unknown, unknown>
  readonly startedAt: bigint
  /** Milliseconds after the start at which the caller's deadline is; `Infinity` without one. */
  readonly deadline: number
  readonly watch: Watch | undefined
}

/** A withdrawal, and where it was made: a switch may have changed since. */
interface Paid {
  readonly by: Meter
  readonly withdrawal: Withdrawal
  /** Its retry has started. */
  started: boolean
}

/** A run as those see it who are told of it. */
export interface Seen extends Pick<Stepper.Failure, "attempt" | "elapsed"> {
  readonly found: Found
  elapsed: number
  readonly spent: Paid | undefined
}

/** A run that ends with its first attempt. */
export const firstOf = (found: Found): Seen => ({ found, attempt: 1, elapsed: 0, spent: undefined })

/** A run after its first failure; the success path makes none. It is the `Failure` that the stepper reads. */
export interface Run extends Stepper.Failure {
  readonly found: Found
  readonly state: Stepper.State
  attempt: number
  elapsed: number
  now: number
  timedOut: boolean
  waits: number
  waited: number
  lastCause: Cause.Cause<unknown>
  /** The last failures, the newest last; `undefined` before the first is remembered, as an empty list is not small. */
  history: Array<Entry> | undefined
  /** What pays for the retry that comes, or is under way. */
  paid: Paid | undefined
  /** What paid for the last retry that started: a success gives it back where a budget does so. */
  spent: Paid | undefined
  /** The budget of the switch that was asked; one that is there since has not been. */
  switched: Meter | undefined
  taken: number
  /** The longest wait that the run's own time leaves, where a hint of another run was too long for it. */
  allowed: number | undefined
  /** An end was told. */
  told: boolean
  ceiling: number
}

export const start = (found: Found, lastCause: Cause.Cause<unknown>): Run => ({
  found,
  state: found.settings.stepper.start(),
  attempt: 1,
  elapsed: 0,
  now: 0,
  timedOut: false,
  waits: 0,
  waited: 0,
  lastCause,
  history: undefined,
  paid: undefined,
  spent: undefined,
  switched: undefined,
  taken: 0,
  allowed: undefined,
  told: false,
  ceiling: Infinity
})

/** Looks at the clock: milliseconds since the start of attempt 1. */
export const tick = (run: Seen): number => run.elapsed = millisSince(run.found.site.clock, run.found.startedAt)

/** Milliseconds on the monotonic clock, as budgets count them, of a run whose clock has been looked at. */
export const monotonic = (run: Seen): number => millisOf(run.found.startedAt) + run.elapsed

export const remember = (run: Run, error: unknown, delay: number | undefined): void => {
  const entry = { attempt: run.attempt, error, elapsed: run.elapsed, delay }
  const { history } = run
  if (history === undefined) {
    run.history = [entry]
  } else {
    if (history.length === RetryExhausted.mostHistory) history.shift()
    history.push(entry)
  }
}

export const lastErrorOf = ({ history }: Run): unknown => history?.[history.length - 1]?.error
