/** The driver's way in. */
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type { Meter } from "./budget/meter.ts"
import { meterOf } from "./budget/resolve.ts"
import { nested } from "./nesting.ts"
import { failedFirst, first } from "./run/loop.ts"
import type { AnyEffect, Settings } from "./run/settings.ts"
import { type Site, siteOf } from "./run/site.ts"
import type { Found } from "./run/state.ts"
import * as watch from "./run/watch.ts"

export { Attempt } from "./run/attempt.ts"
export type { Settings } from "./run/settings.ts"

const meterIn = ({ budget, outside }: Site): Meter | undefined =>
  budget === undefined ? undefined : meterOf(budget, outside)

/** Made of a run when there is a first failure, or before it where there is more to do than to wait for one. */
const find = (
  fiber: Fiber.Fiber<unknown, unknown>,
  operation: AnyEffect,
  settings: Settings,
  site: Site,
  startedAt: bigint,
  collapsed: boolean
): Found => {
  const { ambient: { deadline }, observers } = site
  return {
    settings,
    site,
    operation,
    owner: settings.attemptTimeout === undefined ? undefined : { timeout: settings.attemptTimeout },
    fiber,
    startedAt,
    deadline: deadline === undefined ? Infinity : Number(deadline - startedAt) / 1e6,
    meter: meterIn(site),
    watch: observers.length === 0 && settings.onEvent === undefined ? undefined : { observers, settings },
    collapsed
  }
}

/** An original request is counted where it starts, by the budgets that it earns something. */
const request = (settings: Settings, { control }: Site, meter: Meter | undefined, startedAt: bigint): void => {
  const now = Number(startedAt) / 1e6
  meter?.request(now)
  control?.setting(settings.name, settings.origin)?.meter?.request(now)
}

/** Whether there is more to do in a first attempt than to wait for its failure. */
const isBusy = (settings: Settings, meter: Meter | undefined): boolean =>
  settings.attemptTimeout !== undefined || settings.attemptSpans || settings.onEvent !== undefined ||
  (meter !== undefined && (meter.success !== undefined || meter.enter !== undefined))

const begin = (
  fiber: Fiber.Fiber<unknown, unknown>,
  operation: AnyEffect,
  settings: Settings,
  site: Site,
  collapsed: boolean
): AnyEffect => {
  const startedAt = site.clock.monotonicTimeNanosUnsafe()
  const meter = meterIn(site)
  if ((meter !== undefined || site.control !== undefined) && !site.ambient.derived) {
    request(settings, site, meter, startedAt)
  }
  const { observers } = site
  if (observers.length > 0) watch.started(observers, settings.name)
  if (isBusy(settings, meter) || (observers.length > 0 && watch.wantsFirst(observers))) {
    return first(find(fiber, operation, settings, site, startedAt, collapsed))
  }
  // R13: what most runs are, and they make nothing that a success has no use for.
  return Effect.catchCause(
    Effect.updateContext(operation, site.enter),
    (cause) => failedFirst(find(fiber, operation, settings, site, startedAt, collapsed), cause)
  )
}

/** An effect under the settings. */
export const run = (self: AnyEffect, settings: Settings): AnyEffect =>
  Effect.withFiber((fiber) => {
    const site = siteOf(settings, fiber.context)
    const { frame } = site.around
    return frame === undefined || settings.most === 1
      ? begin(fiber, self, settings, site, false)
      : nested(fiber, settings, frame, (collapsed) => begin(fiber, self, settings, site, collapsed))
  })
