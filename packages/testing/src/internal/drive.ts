import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Recording from "./recording.ts"

/** The end of the earliest sleep; `Infinity` when nobody sleeps, or only for ever. */
const earliest = ({ sleeps }: Recording.Recording): number => {
  let end = Infinity
  for (const sleep of sleeps) if (sleep.end < end) end = sleep.end
  return end
}

/** Whether what the run waits for is virtual: a sleep, or `Script.hang`. Else it is real, such as a promise. */
const isVirtual = (recording: Recording.Recording): boolean => {
  if (recording.hanging > 0) return true
  const attempting = Recording.open(recording) !== undefined
  for (const { inside } of recording.sleeps) {
    // While an attempt is under way, the run's own sleep is its attempt timeout, which says nothing of the attempt.
    if (inside || !attempting) return true
  }
  return false
}

/** Ends when something has happened since `changes` was read. */
const changed = (recording: Recording.Recording, changes: number): Effect.Effect<void> =>
  Effect.callback((resume) => {
    if (recording.changes !== changes) return resume(Effect.void)
    const stop = () => {
      recording.onChange = undefined
    }
    recording.onChange = () => {
      stop()
      resume(Effect.void)
    }
    return Effect.sync(stop)
  })

/** Lets everything run that can run without time: scheduled tasks, and promises that wait for nothing from outside. */
const settled = (recording: Recording.Recording): Effect.Effect<void> =>
  Effect.flatMap(Effect.yieldNow, () =>
    recording.scheduler.pending() === 0
      ? Effect.void
      : Effect.flatMap(changed(recording, recording.changes), () => settled(recording)))

/**
 * Moves the clock until the run has ended; `true` when it hung and had to be interrupted. `patience` is in
 * milliseconds. What is due at `interruptAt` happens before the interruption.
 */
export const drive = (
  recording: Recording.Recording,
  fiber: Fiber.Fiber<unknown, unknown>,
  patience: number,
  interruptAt: number
): Effect.Effect<boolean> =>
  Effect.gen(function* () {
    const { base } = recording
    let interruption = interruptAt
    let hung = false
    while (true) {
      yield* settled(recording)
      if (fiber.pollUnsafe() !== undefined) return hung
      const { changes } = recording
      if (!isVirtual(recording)) {
        yield* base.withLive(Effect.timeoutOption(changed(recording, changes), patience))
        if (recording.changes !== changes) continue
      }
      const next = earliest(recording)
      if (interruption < next) {
        yield* base.setTime(interruption)
        interruption = Infinity
        fiber.interruptUnsafe()
      } else if (next < Infinity) {
        yield* base.setTime(next)
      } else if (!hung) {
        hung = true
        fiber.interruptUnsafe()
      } else {
        return yield* Effect.die(new Error("The recorded run hangs, and goes on hanging when it is interrupted"))
      }
    }
  })
