/**
 * The pure state machine that a policy's spec compiles to.
 *
 * A stepper is synchronous and holds no run: the state of a run, the clock and the randomness come in as arguments.
 * `Retry.run`, the policy as an Effect `Schedule`, and every other reader drive the same stepper, so a policy means
 * one thing.
 */
import type * as RetryExhausted from "./RetryExhausted.ts"
import type * as Spec from "./Spec.ts"
import { compile } from "./internal/stepper/compile.ts"

/**
 * What the stepper draws from: numbers in `[0, 1)`. Effect's `Random` service is one.
 *
 * Order of draws at one failure: first the spread of a hint that is waited for (none when the hint is zero), then the
 * spec from the inside of each pipe to its outside, members of a combination left to right. `decorrelated`, a
 * `polynomial` with a spread and each jitter draw once whenever a wait comes to them. `attempts` and `recurs` are asked
 * before anything inside them draws. Beside the stepper, a `RetryBudget.make` draws once in all, when it is first asked,
 * and a budget that is held once for each retry that it holds.
 *
 * @category models
 */
export interface Source {
  nextDoubleUnsafe(): number
}

/**
 * One failure of a run, as the driver tells it to the stepper.
 *
 * @category models
 */
export interface Failure {
  /** Number of the attempt that failed; the first is 1. */
  readonly attempt: number
  /** Milliseconds from the start of attempt 1 until now, on the monotonic clock. */
  readonly elapsed: number
  /** Wall-clock milliseconds since the epoch, for hints that are dates. Read only when `Stepper.readsHints`. */
  readonly now: number
  /** True when the driver's own attempt timeout ended the attempt: worth a retry whatever the classification says. */
  readonly timedOut: boolean
}

/**
 * The state of one run. Made by `start`, changed by `step`, and never shared between runs.
 *
 * @category models
 */
export interface State {
  /** Counters of the spec's places. */
  readonly slots: Array<number>
  /** Milliseconds that a hint adds to the wait being decided. */
  extra: number
  /** The hint read at the last failure, in milliseconds; `undefined` without one. */
  hint: number | undefined
  /** Milliseconds after the start of attempt 1 past which the retry just granted may not start. */
  limit: number
}

/**
 * The outcome of a step: a wait in milliseconds (finite, at least 0), or one of the negative {@link stops}.
 *
 * @category models
 */
export type Decision = number

/**
 * Why a step granted no retry. Where several places of a policy stop at once, the largest counts, so a reason never
 * depends on who stands first: attempts before the end of a list, before hints, before time.
 *
 * @category models
 */
export const stops = {
  /** A limit on attempts or retries is reached. */
  Attempts: -1,
  /** A list of waits has run out. */
  End: -2,
  /** The failing system said not to come back. */
  Pushback: -3,
  /** The failing system asked for a longer wait than the policy allows. */
  RetryAfterTooLong: -4,
  /** The next wait would pass the elapsed limit. */
  Elapsed: -5,
  /** A run inside was exhausted, and its error was mapped to this one. */
  Layer: -6,
  /** The error is not worth a retry: it leaves unchanged. */
  Terminal: -7
} as const

/**
 * A compiled policy.
 *
 * @category models
 */
export interface Stepper {
  /** Whether hints of the failing system are read, so that `Failure.now` is needed. */
  readonly readsHints: boolean
  /** The longest hint that is waited for, in milliseconds; `undefined` when none is. */
  readonly hintLimit: number | undefined
  /** The state before the first failure. */
  readonly start: () => State
  /** Decides what comes after a failure. Throws only `PredicateError`, when a predicate of the policy throws. */
  readonly step: (state: State, failure: Failure, input: unknown, random: Source) => Decision
}

/**
 * The name of a stop as `RetryExhausted` carries it, or `undefined` for a wait and for a terminal error.
 *
 * @category reading
 */
export const reason = (decision: Decision): RetryExhausted.ReasonTag | undefined => {
  switch (decision) {
    case stops.Attempts:
      return "Attempts"
    case stops.End:
      return "End"
    case stops.Pushback:
      return "Pushback"
    case stops.RetryAfterTooLong:
      return "RetryAfterTooLong"
    case stops.Elapsed:
      return "Elapsed"
    case stops.Layer:
      return "Layer"
    default:
      return undefined
  }
}

/**
 * Compiles a spec with the functions that its names stand for, in the order in which the spec names them. Use
 * `Policy.stepper` for the stepper of a policy: it compiles once.
 *
 * @category constructors
 */
export const make = (
  spec: Spec.Spec,
  predicates: ReadonlyArray<(input: never) => boolean>
): Stepper => compile(spec, predicates)
