/** Those who watch all runs in their context: metrics, logs, a bus. */
import * as Context from "effect/Context"
import type * as Fiber from "effect/Fiber"
import type { RetryEvent } from "../../RetryEvents.ts"

/** Called on the fiber of the run, synchronously. What it throws would be a defect of the run, so it throws nothing. */
export interface Observer {
  /** An original attempt starts: one a run. It is called on the success path, so it allocates nothing. */
  readonly started: ((operation: string | undefined) => void) | undefined
  /**
   * Whether runs that end without a failure are told too, as events: those that succeed at their first attempt, and
   * those that are interrupted in it. Asked each time.
   */
  readonly wantsFirstSuccess: () => boolean
  /** A retry starts, after its wait. */
  readonly retried: ((operation: string | undefined) => void) | undefined
  /** A wait begins (1) or is over, in whatever way (-1). */
  readonly waiting: ((operation: string | undefined, change: 1 | -1) => void) | undefined
  readonly event: (event: RetryEvent, fiber: Fiber.Fiber<unknown, unknown>) => void
}

/** The observers of the context; none by default. */
export const Observers: Context.Reference<ReadonlyArray<Observer>> = /* @__PURE__ */ Context.Reference(
  "@reprise/core/RetryEvents/Observers",
  { defaultValue: (): ReadonlyArray<Observer> => [] }
)
