/** The driver's way in. */
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import { type Frame, some } from "./ambient.ts"
import { objection } from "./nesting.ts"
import { failedFirst, first } from "./run/loop.ts"
import type { AnyEffect, Settings } from "./run/settings.ts"
import { type Site, siteOf } from "./run/site.ts"
import type { Found } from "./run/state.ts"
import * as watch from "./run/watch.ts"
import { millisOf } from "./time.ts"

export { Attempt } from "./run/attempt.ts"
export type { Settings } from "./run/settings.ts"

/** Made of a run when there is a first failure, or before it where there is more to do than to wait for one. */
const find = (
  fiber: Fiber.Fiber<unknown, unknown>,
  operation: AnyEffect,
  settings: Settings,
  site: Site,
  startedAt: bigint
): Found => {
  const { ambient: { deadline }, observers } = site
  return {
    settings,
    site,
    operation,
    owner: settings.attemptTimeout === undefined ? undefined : { timeout: settings.attemptTimeout },
    fiber,
    startedAt,
    deadline: deadline === undefined ? Infinity : millisOf(deadline - startedAt),
    watch: observers.length === 0 && settings.onEvent === undefined ? undefined : { observers, settings }
  }
}

/** An original request is counted where it starts, once, by the budgets that it earns something. */
const request = (settings: Settings, site: Site, startedAt: bigint): void => {
  const { control, counted, meter } = site
  const now = millisOf(startedAt)
  if (!counted) meter?.request(now)
  const lowered = control?.setting(settings.name, settings.origin)?.meter
  if (lowered === undefined) return
  const hasCounted = (layer: Frame) => layer.ours && control?.setting(layer.operation, layer.origin)?.meter === lowered
  if (!some(site.frame, hasCounted)) lowered.request(now)
}

/** Whether there is more to do in a first attempt than to wait for its failure. */
const isBusy = (settings: Settings, { counted, meter }: Site): boolean =>
  settings.attemptTimeout !== undefined || settings.attemptSpans || settings.onEvent !== undefined ||
  (meter !== undefined && ((meter.success !== undefined && !counted) || meter.enter !== undefined))

const begin = (
  fiber: Fiber.Fiber<unknown, unknown>,
  operation: AnyEffect,
  settings: Settings,
  site: Site
): AnyEffect => {
  const startedAt = site.clock.monotonicTimeNanosUnsafe()
  const { ambient, control, meter, observers } = site
  if ((meter !== undefined || control !== undefined) && !ambient.derived) request(settings, site, startedAt)
  if (observers.length > 0) watch.started(observers, settings.name)
  if (isBusy(settings, site) || (observers.length > 0 && watch.wantsFirst(observers))) {
    return first(find(fiber, operation, settings, site, startedAt))
  }
  // R13: what most runs are, and they make nothing that a success has no use for.
  return Effect.catchCause(
    Effect.updateContext(operation, site.enter),
    (cause) => failedFirst(find(fiber, operation, settings, site, startedAt), cause)
  )
}

/** An effect under the settings. */
export const run = (self: AnyEffect, settings: Settings): AnyEffect =>
  Effect.withFiber((fiber) => {
    const site = siteOf(settings, fiber)
    if (site.frame === undefined || settings.most === 1 || site.collapsed) return begin(fiber, self, settings, site)
    const objected = objection(settings, site.frame, site.outside)
    return objected === undefined
      ? begin(fiber, self, settings, site)
      : Effect.flatMap(objected, () => begin(fiber, self, settings, site))
  })
