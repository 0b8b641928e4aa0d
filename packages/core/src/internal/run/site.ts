/** What a run finds around it, which is the same for all runs of one configuration in one context. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import type * as Fiber from "effect/Fiber"
import { Ambient, type Frame, frameOf, some, type Surroundings } from "../ambient.ts"
import type { Meter } from "../budget/meter.ts"
import { CurrentBudget, meterOf } from "../budget/resolve.ts"
import { type Control, CurrentControl } from "../control.ts"
import { collapses, nameOf } from "../nesting.ts"
import { type Observer, Observers } from "../observe/observer.ts"
import { Attempt, firstAttempt } from "./attempt.ts"
import type { Settings } from "./settings.ts"

export interface Site {
  readonly outside: Context.Context<never>
  /** Gives the context inside, which knows of the run; for `Effect.updateContext`. */
  readonly enter: () => Context.Context<unknown>
  readonly inside: Context.Context<never>
  /** The layers around the run. */
  readonly frame: Frame | undefined
  readonly ambient: Surroundings
  readonly clock: Clock.Clock
  readonly meter: Meter | undefined
  /** A layer around has the same budget, which has counted the call already. */
  readonly counted: boolean
  readonly control: Control | undefined
  readonly observers: ReadonlyArray<Observer>
  /** The run hands its failures to the run around it instead of trying again. */
  readonly collapsed: boolean
}

/** What a run puts around what it runs, and for which surroundings. */
export interface Inside {
  readonly around: Surroundings
  readonly derived: boolean
  readonly meter: Meter | undefined
  readonly collapsed: boolean
  readonly ambient: Surroundings
}

const insideOf = (
  settings: Settings,
  around: Surroundings,
  derived: boolean,
  meter: Meter | undefined,
  collapsed: boolean
): Surroundings => {
  const last = settings.inside
  if (
    last !== undefined && last.around === around && last.derived === derived && last.meter === meter &&
    last.collapsed === collapsed
  ) return last.ambient
  const layer = {
    name: () => nameOf(settings),
    attempts: collapsed ? 1 : settings.most,
    ours: true,
    meter,
    operation: settings.name,
    origin: settings.origin
  }
  const ambient = { deadline: around.deadline, frame: frameOf(layer, around.frame), derived }
  settings.inside = { around, derived, meter, collapsed, ambient }
  return ambient
}

const make = (settings: Settings, outside: Context.Context<never>): Site => {
  const around = Context.get(outside, Ambient)
  const attempt = Context.get(outside, Attempt)
  const budget = settings.budget ?? Context.get(outside, CurrentBudget)
  const meter = budget === undefined ? undefined : meterOf(budget, outside)
  const collapsed = collapses(settings, outside, around.frame)
  const ambient = insideOf(settings, around, around.derived || attempt.number > 1, meter, collapsed)
  let inside = Context.add(outside, Ambient, ambient)
  // The default is attempt 1, so nothing is provided, unless this run stands inside a later attempt of another.
  if (attempt !== firstAttempt) inside = Context.add(inside, Attempt, firstAttempt)
  return {
    outside,
    enter: () => inside as Context.Context<unknown>, // It holds all that the context around has.
    inside,
    frame: around.frame,
    ambient,
    clock: Context.get(outside, Clock.Clock),
    meter,
    counted: meter !== undefined && some(around.frame, (layer) => layer.meter === meter),
    control: Context.get(outside, CurrentControl),
    observers: Context.get(outside, Observers),
    collapsed
  }
}

// As many runs in a row in one fibre are a loop, for which a site is worth keeping.
const loop = 8

/**
 * A context does not change, so in a loop the site of the last run serves the next one. It is held weakly: a context
 * has all that a request has, and nobody wants that to live on in a constant.
 */
export const siteOf = (settings: Settings, fiber: Fiber.Fiber<unknown, unknown>): Site => {
  const { context, id } = fiber
  if (settings.fiber !== id) {
    settings.fiber = id
    settings.repeated = 0
    settings.site = undefined
  } else if (settings.site !== undefined) {
    const site = settings.site.deref()
    if (site !== undefined && site.outside === context) return site
    settings.repeated = 0
    settings.site = undefined
  }
  const site = make(settings, context)
  if (++settings.repeated === loop) settings.site = new WeakRef(site)
  return site
}
