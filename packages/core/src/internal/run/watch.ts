/** Telling those who watch a run what happens in it. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type { RetryEvent } from "../../RetryEvents.ts"
import { oneLine } from "../oneLine.ts"
import type { Observer } from "../observe/observer.ts"
import { called } from "./called.ts"
import type { Settings } from "./settings.ts"

export interface Watch {
  readonly observers: ReadonlyArray<Observer>
  readonly settings: Settings
}

type Told = Effect.Effect<void, never, unknown> | undefined

/**
 * Observers are told at once, of the end of a run without a failure (`first`) those that want it. The caller's `onEvent`
 * is an effect, to be run before the run goes on; what goes wrong in it is not the run's.
 */
export const tell = (
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

type Kind = RetryEvent["_tag"]

/** The part of an event that is the same for all. */
export const about = <Tag extends Kind>(
  _tag: Tag,
  { settings }: Watch,
  attempt: number,
  elapsed: number
): {
  readonly _tag: Tag
  readonly operation: string | undefined
  readonly attempt: number
  elapsed: Duration.Duration
} => ({
  _tag,
  operation: settings.name,
  attempt,
  elapsed: Duration.millis(elapsed)
})

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
