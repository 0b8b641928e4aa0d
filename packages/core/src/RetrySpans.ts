/**
 * Says on the caller's span what a run did.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type * as Layer from "effect/Layer"
import type * as Tracer from "effect/Tracer"
import { errorType } from "./internal/observe/errorType.ts"
import * as names from "./internal/observe/names.ts"
import * as RetryEvents from "./RetryEvents.ts"

/** The span that the run stands in, unless it comes from outside of the process or has ended. */
const spanOf = (fiber: Fiber.Fiber<unknown, unknown>): Tracer.Span | undefined => {
  const { span } = fiber.cache
  return span?._tag === "Span" && span.status._tag === "Started" ? span : undefined
}

const annotate = (span: Tracer.Span, event: RetryEvents.RetryEvent, fiber: Fiber.Fiber<unknown, unknown>): void => {
  switch (event._tag) {
    case "RetryScheduled":
      return span.event("retry", fiber.getRef(Clock.Clock).currentTimeNanosUnsafe(), {
        [names.attempt]: event.attempt,
        [names.delay]: Duration.toSeconds(event.delay),
        [names.errorType]: errorType(event.error)
      })
    case "Exhausted":
      span.attribute(names.attempts, event.attempt)
      return span.attribute(names.reason, event.error.reason._tag)
    case "Succeeded":
    case "Terminal":
    case "Interrupted":
      return span.attribute(names.attempts, event.attempt)
    case "AttemptFailed":
    case "BudgetDenied":
      return
  }
}

/**
 * The observer that annotates the span which a run stands in, such as that of `Effect.withSpan` around it.
 *
 * - attribute `reprise.attempts`: executions of the operation, the first one included. A run that succeeds at its first
 *   attempt leaves the span as it is, and costs nothing
 * - attribute `reprise.reason`: why the run gave up, where it did
 * - event `retry`, when a wait begins: `reprise.attempt` (number of the attempt that failed), `reprise.retry.delay`
 *   (seconds) and `error.type` (the tag of the error, or else its name or class; never what it says)
 *
 * Of several runs in one span the last to end has the attributes. A run whose own effect has the span, inside the
 * attempts, gets nothing on it: that one is over when the run learns of it.
 *
 * @category observers
 */
export const observer: Effect.Effect<RetryEvents.Observer> = /* @__PURE__ */ Effect.sync(() =>
  // Guarded, because the span is a tracer's, and may throw.
  RetryEvents.observer({
    event: (event, fiber) => {
      const span = spanOf(fiber)
      if (span !== undefined) annotate(span, event, fiber)
    }
  })
)

/**
 * A layer with {@link observer} for all runs in its context.
 *
 * ```ts
 * import { Policy, Retry, RetrySpans } from "@reprise/core"
 * import { Effect } from "effect"
 *
 * const program = Effect.gen(function*() {
 *   yield* Effect.fail("busy").pipe(Retry.run(Policy.immediate(2)), Effect.ignore)
 *   return Object.fromEntries((yield* Effect.currentSpan).attributes)
 * })
 *
 * console.log(await Effect.runPromise(program.pipe(Effect.withSpan("charge"), Effect.provide(RetrySpans.layer))))
 * // => { 'reprise.attempts': 3, 'reprise.reason': 'End' }
 * ```
 *
 * @category layers
 */
export const layer: Layer.Layer<never> = /* @__PURE__ */ RetryEvents.layer([observer])
