import type * as Scheduler from "effect/Scheduler"

/** A scheduler that knows how much of what it was given has not run yet. */
export interface Counting extends Scheduler.Scheduler {
  /** Tasks that are scheduled or running. */
  readonly pending: () => number
}

/** Counts the tasks of a scheduler. `onIdle` is called whenever the last of them has run. */
export const counting = (parent: Scheduler.Scheduler, onIdle: () => void): Counting => {
  let pending = 0
  return {
    executionMode: parent.executionMode,
    pending: () => pending,
    shouldYield: (fiber) => parent.shouldYield(fiber),
    makeDispatcher: () => {
      const dispatcher = parent.makeDispatcher()
      return {
        scheduleTask: (task, priority) => {
          pending++
          dispatcher.scheduleTask(() => {
            try {
              task()
            } finally {
              if (--pending === 0) onIdle()
            }
          }, priority)
        },
        flush: () => dispatcher.flush()
      }
    }
  }
}
