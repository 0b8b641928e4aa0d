/** Events as the driver makes them, for observers that are called by hand. */
import * as RetryExhausted from "@reprise/core/RetryExhausted"
import type * as RetryEvents from "@reprise/core/RetryEvents"
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"

const base = (operation: string | undefined, attempt: number): RetryEvents.Base => ({
  operation,
  attempt,
  elapsed: Duration.millis(100 * attempt)
})

export const scheduled = (
  operation: string | undefined,
  { attempt = 1, delay = 200, error = "busy" }: { attempt?: number; delay?: number; error?: unknown } = {}
): RetryEvents.RetryScheduled => ({
  _tag: "RetryScheduled",
  ...base(operation, attempt),
  error,
  delay: Duration.millis(delay)
})

export const succeeded = (operation: string | undefined, attempt = 1): RetryEvents.Succeeded => ({
  _tag: "Succeeded",
  ...base(operation, attempt)
})

export const interrupted = (operation: string | undefined, attempt = 1): RetryEvents.Interrupted => ({
  _tag: "Interrupted",
  ...base(operation, attempt)
})

export const terminal = (
  operation: string | undefined,
  error: unknown,
  { attempt = 1, unclassified = true }: { attempt?: number; unclassified?: boolean } = {}
): RetryEvents.Terminal => ({ _tag: "Terminal", ...base(operation, attempt), error, unclassified })

export const denied = (operation: string | undefined): RetryEvents.BudgetDenied => ({
  _tag: "BudgetDenied",
  ...base(operation, 1),
  error: "busy"
})

export const exhausted = (
  operation: string | undefined,
  { attempt = 3, error = "busy", reason = "Attempts" }: {
    attempt?: number
    error?: unknown
    reason?: Exclude<RetryExhausted.ReasonTag, "RetryAfterTooLong">
  } = {}
): RetryEvents.Exhausted => ({
  _tag: "Exhausted",
  ...base(operation, attempt),
  error: new RetryExhausted.RetryExhausted({
    operation,
    reason: { _tag: reason },
    attempts: attempt,
    elapsed: Duration.millis(100 * attempt),
    waits: { count: attempt - 1, total: Duration.zero },
    history: [],
    lastError: error,
    lastCause: Cause.fail(error),
    policy: "immediate(2)",
    retryAt: undefined
  })
})
