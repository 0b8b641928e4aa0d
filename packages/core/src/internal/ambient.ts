/**
 * What surrounds a run: the layers around it and the caller's deadline. One reference rather than one for each, because
 * every run reads it and adds itself to it.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { Meter } from "./budget/meter.ts"

/** What a frame is made of. */
interface Layer {
  readonly name: () => string
  /** The most executions that it makes of what is inside; `Infinity` where nothing bounds them. */
  readonly attempts: number
  /** A run of this library, which a run inside can hand its failures to. */
  readonly ours: boolean
  /** The budget that has counted the call: it is the same call inside. */
  readonly meter: Meter | undefined
  /** For the switch, whose budgets come and go. */
  readonly operation: string | undefined
  readonly origin: string | undefined
}

/** A retry loop around the present place: a run of ours, or one that was declared. */
export interface Frame extends Layer {
  readonly outer: Frame | undefined
  /** The executions that this and all layers around it may come to. */
  readonly total: number
  /** Whether this or a layer around it is a run of ours that can retry. */
  readonly handing: boolean
  readonly depth: number
}

// A job that starts its own successor inside itself has no end of layers: the outermost are forgotten, not their total.
const deepest = 64

export const frameOf = (layer: Layer, outer: Frame | undefined): Frame => ({
  ...layer,
  outer: outer !== undefined && outer.depth >= deepest ? undefined : outer,
  total: layer.attempts * (outer?.total ?? 1),
  handing: (layer.ours && layer.attempts > 1) || outer?.handing === true,
  depth: outer === undefined || outer.depth >= deepest ? 1 : outer.depth + 1
})

/** Whether a frame, or one around it, is such a one. */
export const some = (frame: Frame | undefined, is: (frame: Frame) => boolean): boolean => {
  for (let at = frame; at !== undefined; at = at.outer) if (is(at)) return true
  return false
}

export interface Surroundings {
  /** On the monotonic clock, in nanoseconds. */
  readonly deadline: bigint | undefined
  readonly frame: Frame | undefined
  /** What runs here is no original request: it stands inside a retry, or came in as one. */
  readonly derived: boolean
}

export const none: Surroundings = { deadline: undefined, frame: undefined, derived: false }

export const Ambient: Context.Reference<Surroundings> = /* @__PURE__ */ Context.Reference(
  "@reprise/core/internal/Ambient",
  { defaultValue: () => none }
)

/** An effect in other surroundings; the function is given the present ones each time that it runs, and the clock. */
export const update = <A, E, R>(
  self: Effect.Effect<A, E, R>,
  f: (ambient: Surroundings, clock: Clock.Clock) => Surroundings
): Effect.Effect<A, E, R> =>
  Effect.updateContext(self, (context: Context.Context<R>) => {
    const present = Context.get(context, Ambient)
    const next = f(present, Context.get(context, Clock.Clock))
    return next === present ? context : Context.add(context, Ambient, next)
  })
