/**
 * A process group: a program and all that it started and did not move elsewhere.
 */
import * as Effect from "effect/Effect"

/** Sends a signal to every process of a group. False when there is none left. */
export const signal = (group: number, name: NodeJS.Signals | 0): boolean => {
  try {
    return process.kill(-group, name)
  } catch (error) {
    // Processes that have ended and were not collected cannot be signalled, and need not be.
    return error instanceof Error && "code" in error && error.code === "EPERM" && name !== 0
  }
}

const pause = "10 millis"

/** Waits until a group is gone, a number of pauses at most. */
const gone = (group: number, pauses: number): Effect.Effect<boolean> =>
  Effect.suspend(() => {
    if (!signal(group, 0)) return Effect.succeed(true)
    return pauses === 0
      ? Effect.succeed(false)
      : Effect.andThen(Effect.sleep(pause), gone(group, pauses - 1))
  })

/**
 * Ends what a program left behind: it may have the time to finish writing, then it is asked to end, then made to.
 */
export const clear = (group: number): Effect.Effect<void> =>
  Effect.gen(function* () {
    if (yield* gone(group, 20)) return
    signal(group, "SIGTERM")
    if (yield* gone(group, 50)) return
    signal(group, "SIGKILL")
  })
