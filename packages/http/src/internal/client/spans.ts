/** What OpenTelemetry asks of the span of a send that Effect's client does not say by itself. */
import * as Transience from "@reprise/core/Transience"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Tracer from "effect/Tracer"

/** What kind of failure it was: a system code, or the name of the error. */
const errorType = (exit: Exit.Exit<unknown, unknown>): string | undefined => {
  if (exit._tag === "Success" || Cause.hasInterruptsOnly(exit.cause)) return undefined
  const error = Cause.squash(exit.cause)
  return Transience.classify(error).code ?? (error instanceof Error ? error.name : "_OTHER")
}

// The span is ended inside the client, out of anybody's reach: so it is told of its end before it is handed there. One
// that cannot be changed stays as it is.
const telling = (span: Tracer.Span): Tracer.Span => {
  const end = span.end.bind(span)
  const value: Tracer.Span["end"] = (time, exit) => {
    const type = span.attributes.has("error.type") ? undefined : errorType(exit)
    if (type !== undefined) span.attribute("error.type", type)
    end(time, exit)
  }
  Reflect.defineProperty(span, "end", { value, configurable: true })
  return span
}

const tracers = /* @__PURE__ */ new WeakMap<Tracer.Tracer, Tracer.Tracer>()

const tracerOf = (tracer: Tracer.Tracer): Tracer.Tracer => {
  let ours = tracers.get(tracer)
  if (ours === undefined) {
    ours = {
      span: (options) => options.kind === "client" ? telling(tracer.span(options)) : tracer.span(options),
      ...(tracer.context === undefined ? {} : { context: (primitive, fiber) => tracer.context!(primitive, fiber) })
    }
    tracers.set(tracer, ours)
  }
  return ours
}

/** One send, whose span says the kind of its failure and, from the second on, its number. */
export const described = <A, E, R>(self: Effect.Effect<A, E, R>, resends: number): Effect.Effect<A, E, R> =>
  Effect.updateService(
    resends === 0 ? self : Effect.annotateSpans(self, "http.request.resend_count", resends),
    Tracer.Tracer,
    tracerOf
  )
