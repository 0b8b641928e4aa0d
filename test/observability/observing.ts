/** The observers of a context, called as the driver calls them. */
import type * as RetryEvents from "@reprise/core/RetryEvents"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"

/** By its key, as the reference itself is internal. */
const Observers: Context.Reference<ReadonlyArray<RetryEvents.Observer>> = Context.Reference(
  "@reprise/core/RetryEvents/Observers",
  { defaultValue: (): ReadonlyArray<RetryEvents.Observer> => [] }
)

/** The observers of the context. */
export const present: Effect.Effect<ReadonlyArray<RetryEvents.Observer>> = Effect.map(Observers, (_) => [..._])

/** Tells an observer of events, on the fiber that runs this. */
export const tell = (
  observer: RetryEvents.Observer,
  ...events: ReadonlyArray<RetryEvents.RetryEvent>
): Effect.Effect<void> =>
  Effect.withFiber((fiber) => {
    for (const event of events) observer.event(event, fiber)
    return Effect.void
  })

/** Tells all the observers of the context. */
export const tellAll = (...events: ReadonlyArray<RetryEvents.RetryEvent>): Effect.Effect<void> =>
  Effect.flatMap(present, Effect.forEach((observer) => tell(observer, ...events), { discard: true }))
