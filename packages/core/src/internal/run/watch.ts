/** Telling those who watch a run what happens in it. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type { Base, RetryEvent } from "../../RetryEvents.ts"
import { oneLine } from "../oneLine.ts"
import type { Observer } from "../observe/observer.ts"
import { called } from "./called.ts"
import type { Settings } from "./settings.ts"
import type { Seen } from "./state.ts"

export interface Watch {
  readonly observers: ReadonlyArray<Observer>
  readonly settings: Settings
}

type Told = Effect.Effect<void, never, unknown> | undefined

/**
 * Observers are told at once, of the end of a run without a failure (`first`) those that want it. The caller's `onEvent`
 * is an effect, to be run before the run goes on; what goes wrong in it is not the run's.
 */
const tell = (
  { observers, settings }: Watch,
  fiber: Fiber.Fiber<unknown, unknown>,
  event: RetryEvent,
  first = false
): Told => {
  for (const observer of observers) if (!first || observer.wantsFirstSuccess()) observer.event(event, fiber)
  const { onEvent } = settings
  if (onEvent === undefined) return undefined
  return Effect.catchDefect(
    Effect.suspend(() => called("onEvent", settings.name, () => onEvent(event))),
    // What a defect says may be a secret; what kind it is helps to find it.
    (defect) =>
      Effect.logWarning(
        `The option "onEvent" of ${oneLine(settings.name ?? "a run")} failed: ${
          defect instanceof Error ? oneLine(defect.name) : typeof defect
        }`
      )
  )
}

type Without<Event> = Event extends unknown ? Omit<Event, keyof Base> : never

/** What an event says beside what all say. */
export type Particulars = Without<RetryEvent>

/** Tells of a run as it stands, where somebody watches it. */
export const tellOf = ({ attempt, elapsed, found }: Seen, event: Particulars, first?: boolean): Told =>
  found.watch === undefined ? undefined : tell(
    found.watch,
    found.fiber,
    { ...event, operation: found.settings.name, attempt, elapsed: Duration.millis(elapsed) },
    first
  )

/** Whether an observer wants to hear of a run that succeeds at its first attempt. */
export const wantsFirst = (observers: ReadonlyArray<Observer>): boolean => {
  for (const observer of observers) if (observer.wantsFirstSuccess()) return true
  return false
}

export const started = (observers: ReadonlyArray<Observer>, name: string | undefined): void => {
  for (const observer of observers) observer.started?.(name)
}

export const retried = ({ observers, settings }: Watch): void => {
  for (const observer of observers) observer.retried?.(settings.name)
}

export const waiting = (observers: ReadonlyArray<Observer>, name: string | undefined, change: 1 | -1): void => {
  for (const observer of observers) observer.waiting?.(name, change)
}
