/**
 * What surrounds a run: the layers around it and the caller's deadline. One reference rather than one for each, because
 * every run reads it and adds itself to it.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"

/** A retry loop around the present place: a run of ours, or one that was declared. */
export interface Frame {
  readonly name: () => string
  /** The most executions that it makes of what is inside; `Infinity` where nothing bounds them. */
  readonly attempts: number
  /** A run of this library, which a run inside can hand its failures to. */
  readonly ours: boolean
  readonly outer: Frame | undefined
}

export interface Surroundings {
  /** On the monotonic clock, in nanoseconds. */
  readonly deadline: bigint | undefined
  readonly frame: Frame | undefined
  /** What runs here is no original request: it stands inside a retry, or came in as one. */
  readonly derived: boolean
}

const none: Surroundings = { deadline: undefined, frame: undefined, derived: false }

export const Ambient: Context.Reference<Surroundings> = /* @__PURE__ */ Context.Reference("@reprise/core/internal/Ambient", {
  defaultValue: () => none
})

/** An effect in other surroundings; the function is given the present ones each time that it runs. */
export const update = <A, E, R>(
  self: Effect.Effect<A, E, R>,
  f: (ambient: Surroundings) => Surroundings
): Effect.Effect<A, E, R> =>
  Effect.updateContext(self, (context: Context.Context<R>) => {
    const present = Context.get(context, Ambient)
    const next = f(present)
    return next === present ? context : Context.add(context, Ambient, next)
  })

/** The executions that all the layers together may come to. */
export const total = (frame: Frame | undefined): number => {
  let product = 1
  for (let at = frame; at !== undefined; at = at.outer) product *= at.attempts
  return product
}
