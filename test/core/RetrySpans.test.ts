import { describe, expect, it } from "@effect/vitest"
import * as RetrySpans from "@reprise/core/RetrySpans"
import type * as RetryEvents from "@reprise/core/RetryEvents"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Tracer from "effect/Tracer"
import * as events from "../observability/events.ts"
import { tell } from "../observability/observing.ts"

/** What a span has of these events. */
const spanOf = (...told: ReadonlyArray<RetryEvents.RetryEvent>) =>
  Effect.gen(function* () {
    const span = yield* Effect.currentSpan
    yield* tell(yield* RetrySpans.observer, ...told)
    // Effect's own spans are of this class; the interface leaves out what was written.
    const { attributes, events: written } = span as Tracer.NativeSpan
    return { attributes: Object.fromEntries(attributes), events: written.map(([name, , more]) => [name, more]) }
  }).pipe(Effect.withSpan("charge"))

describe("RetrySpans", () => {
  it.effect("an event for each retry, with the wait in seconds and the type of the error", () =>
    Effect.gen(function* () {
      const span = yield* spanOf(
        events.scheduled("charge", { delay: 250, error: new Cause.TimeoutError("secret") }),
        events.scheduled("charge", { attempt: 2, delay: 0 })
      )
      expect(span).toEqual({
        attributes: {},
        events: [
          ["retry", { "reprise.attempt": 1, "reprise.retry.delay": 0.25, "error.type": "TimeoutError" }],
          ["retry", { "reprise.attempt": 2, "reprise.retry.delay": 0, "error.type": "string" }]
        ]
      })
    }))

  it.effect("attributes for how the run ended", () =>
    Effect.gen(function* () {
      const ended = [events.succeeded("a", 3), events.terminal("a", "no", { attempt: 2 }), events.interrupted("a", 4)]
      const attributes = yield* Effect.forEach(
        [...ended, events.exhausted("a", { attempt: 5, reason: "Elapsed" })],
        (_) => Effect.map(spanOf(_), (span) => span.attributes)
      )
      expect(attributes).toEqual([
        { "reprise.attempts": 3 },
        { "reprise.attempts": 2 },
        { "reprise.attempts": 4 },
        { "reprise.attempts": 5, "reprise.reason": "Elapsed" }
      ])
    }))

  it.effect("does nothing where there is no span, where it has ended, and where it is another process's", () =>
    Effect.gen(function* () {
      const observer = yield* RetrySpans.observer
      const exhausted = tell(observer, events.exhausted("a"))
      yield* exhausted
      yield* exhausted.pipe(Effect.withParentSpan(Tracer.externalSpan({ spanId: "1", traceId: "2" })))
      const written: Array<string> = []
      const span = Object.assign(yield* Effect.withSpan(Effect.currentSpan, "over"), {
        attribute: (key: string) => written.push(key)
      })
      yield* Effect.withParentSpan(exhausted, span)
      expect(written).toEqual([])
    }))

  it.effect("a tracer that throws does not reach the run", () =>
    Effect.gen(function* () {
      const hostile = Tracer.make({
        span: (options) =>
          Object.assign(new Tracer.NativeSpan(options), {
            attribute: () => {
              throw new Error("tracer")
            }
          })
      })
      yield* tell(yield* RetrySpans.observer, events.exhausted("a")).pipe(
        Effect.withSpan("charge"),
        Effect.withTracer(hostile)
      )
    }))
})
