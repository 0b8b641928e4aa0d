/** What a run finds around it, which is the same for all runs of one configuration in one context. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import type { RetryBudget } from "../../RetryBudget.ts"
import { Ambient, type Surroundings } from "../ambient.ts"
import { CurrentBudget } from "../budget/resolve.ts"
import { type Control, CurrentControl } from "../control.ts"
import { nameOf } from "../nesting.ts"
import { type Observer, Observers } from "../observe/observer.ts"
import { Attempt, firstAttempt } from "./attempt.ts"
import type { Settings } from "./settings.ts"

export interface Site {
  readonly outside: Context.Context<never>
  /** Gives the context inside, which knows of the run; for `Effect.updateContext`. */
  readonly enter: () => Context.Context<unknown>
  readonly inside: Context.Context<never>
  /** The surroundings of the run, and of what is inside it. */
  readonly around: Surroundings
  readonly ambient: Surroundings
  readonly clock: Clock.Clock
  readonly budget: RetryBudget | undefined
  readonly control: Control | undefined
  readonly observers: ReadonlyArray<Observer>
}

const ambientOf = (settings: Settings, around: Surroundings, derived: boolean): Surroundings => {
  const { site } = settings
  return site !== undefined && site.around === around && site.ambient.derived === derived ? site.ambient : {
    deadline: around.deadline,
    frame: { name: () => nameOf(settings), attempts: settings.most, ours: true, outer: around.frame },
    derived
  }
}

const make = (settings: Settings, outside: Context.Context<never>): Site => {
  const around = Context.get(outside, Ambient)
  const attempt = Context.get(outside, Attempt)
  const ambient = ambientOf(settings, around, around.derived || attempt.number > 1)
  let inside = Context.add(outside, Ambient, ambient)
  // The default is attempt 1, so nothing is provided, unless this run stands inside a later attempt of another.
  if (attempt !== firstAttempt) inside = Context.add(inside, Attempt, firstAttempt)
  return {
    outside,
    enter: () => inside as Context.Context<unknown>, // It holds all that the context around has.
    inside,
    around,
    ambient,
    clock: Context.get(outside, Clock.Clock),
    budget: settings.budget ?? Context.get(outside, CurrentBudget),
    control: Context.get(outside, CurrentControl),
    observers: Context.get(outside, Observers)
  }
}

/** A context does not change, so the site of the last run serves the next one in the same. */
export const siteOf = (settings: Settings, outside: Context.Context<never>): Site => {
  const { site } = settings
  return site !== undefined && site.outside === outside ? site : settings.site = make(settings, outside)
}
