/**
 * What the driver asks of a retry budget. `now` is always milliseconds on the monotonic clock; all but `withdraw` are
 * synchronous and must not throw.
 */
import type * as Effect from "effect/Effect"

/** What was taken for one retry. Each meter makes its own; the driver only hands it back. */
export type Withdrawal = object

/** What a withdrawal is asked for. */
export interface Failure {
  readonly error: unknown
  /** The run's own attempt timeout ended the attempt. */
  readonly timedOut: boolean
}

export interface Meter {
  /** An original request starts: not a retry, and not one inside another run's retry. */
  readonly request: (now: number) => void
  /** The retries that could be taken now; it may be negative, or a fraction, or `Infinity`. Changes nothing else. */
  readonly balance: (now: number) => number
  /** How many retries a run may take that asks for its first one now; at least 1. */
  readonly ceiling: (now: number) => number
  /** Takes what one retry costs, or says no with `undefined`; an effect where others have to be asked. */
  readonly withdraw: (
    now: number,
    failure: Failure
  ) => Withdrawal | undefined | Effect.Effect<Withdrawal | undefined>
  /** Takes back a withdrawal whose retry never started. */
  readonly refund: (now: number, withdrawal: Withdrawal) => void
  /**
   * A retry wants to start now: 0 says that it does and counts it, another number after how many milliseconds to ask
   * again.
   */
  readonly start: (now: number, withdrawal: Withdrawal) => number
  /**
   * As if a retry that has started never had: others that had to agree to the start have not, and it never will. Absent
   * where there is nothing to take back.
   */
  readonly undo?: ((now: number, withdrawal: Withdrawal) => void) | undefined
  /** For how many milliseconds what is called still wants to be left alone, where `start` heeds that. */
  readonly heldFor?: ((now: number) => number) | undefined
  /** The outcome of a retry that had started is known, or the run was torn down in it. */
  readonly settle: ((withdrawal: Withdrawal) => void) | undefined
  /** An attempt failed in a way that is worth a retry, or that asked for none; before any `withdraw`. */
  readonly failure: ((now: number) => void) | undefined
  /** A run succeeded, and the last retry that it started took `last`. */
  readonly success: ((now: number, last: Withdrawal | undefined) => void) | undefined
  /** An attempt starts, or has ended in whatever way. Both or none. */
  readonly enter: (() => void) | undefined
  readonly exit: (() => void) | undefined
  /** Whether a new meter in its place would be no more generous than this one. */
  readonly idle: (now: number) => boolean
}
