import type * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import type * as Scheduler from "effect/Scheduler"
import type * as TestClock from "effect/testing/TestClock"
import { type Counting, counting } from "./scheduler.ts"

/** An attempt; it is under way as long as it has no exit. */
export interface Entry {
  readonly number: number
  readonly start: number
  end: number
  timedOut: boolean
  exit: Exit.Exit<unknown, unknown> | undefined
}

interface Sleep {
  readonly end: number
  /** Asked for by an attempt or by a function of the options, not by the run itself. */
  readonly inside: boolean
}

/** Everything that happens while a run is recorded. */
export interface Recording {
  readonly base: TestClock.TestClock
  /** The clock of the run itself: what is slept on it is a wait, or the timer of an attempt timeout. */
  readonly outside: Clock.Clock
  /** The clock of the attempts and of the functions in the options. */
  readonly inside: Clock.Clock
  readonly scheduler: Counting
  readonly attempts: Array<Entry>
  readonly waits: Array<number>
  readonly sleeps: Set<Sleep>
  /** The fibre of the run, once it has started. */
  fiber: Fiber.Fiber<unknown, unknown> | undefined
  /** How many fibres stand in `Script.hang`. */
  hanging: number
  /** Grows whenever something happens that the driver may be waiting for. */
  changes: number
  onChange: (() => void) | undefined
}

/** The recording around an effect. */
export const Current: Context.Reference<Recording | undefined> = Context.Reference(
  "@reprise/testing/Recording",
  { defaultValue: (): Recording | undefined => undefined }
)

/** The number of the recorded attempt where `Retry.Attempt` does not tell it: under a runner that is not Reprise's. */
export const Turn: Context.Reference<number | undefined> = Context.Reference(
  "@reprise/testing/Turn",
  { defaultValue: (): number | undefined => undefined }
)

/** Tells the driver. */
export const change = (recording: Recording): void => {
  recording.changes++
  recording.onChange?.()
}

/** The attempt that is under way, if one is. */
export const open = ({ attempts }: Recording): Entry | undefined => {
  const last = attempts[attempts.length - 1]
  return last?.exit === undefined ? last : undefined
}

/** Waits of more than one sleep add up. */
const noteWait = ({ attempts, waits }: Recording, millis: number): void => {
  if (attempts.length === 0) return
  if (waits.length < attempts.length) waits.push(millis)
  else waits[waits.length - 1]! += millis
}

const sleep = (recording: Recording, inside: boolean, duration: Duration.Duration): Effect.Effect<void> =>
  Effect.withFiber((fiber) => {
    const { base, sleeps } = recording
    const millis = Duration.toMillis(duration)
    const attempt = open(recording)
    if (!inside && attempt === undefined && fiber === recording.fiber) noteWait(recording, millis)
    const entry: Sleep = { end: base.currentTimeMillisUnsafe() + millis, inside }
    sleeps.add(entry)
    change(recording)
    return Effect.onExit(base.sleep(duration), (exit) =>
      Effect.sync(() => {
        sleeps.delete(entry)
        // Of the run's own sleeps, only the timer of an attempt timeout ends while an attempt is under way.
        if (!inside && attempt !== undefined && Exit.isSuccess(exit)) attempt.timedOut = true
      }))
  })

/** A recording that has not begun. */
export const make = (base: TestClock.TestClock, parent: Scheduler.Scheduler): Recording => {
  const recording: Recording = {
    base,
    outside: { ...base, sleep: (duration) => sleep(recording, false, duration) },
    inside: { ...base, sleep: (duration) => sleep(recording, true, duration) },
    scheduler: counting(parent, () => change(recording)),
    attempts: [],
    waits: [],
    sleeps: new Set(),
    fiber: undefined,
    hanging: 0,
    changes: 0,
    onChange: undefined
  }
  return recording
}

/** Notes the start of an attempt. */
export const begin = ({ attempts, base, waits }: Recording): Entry => {
  // Without a sleep since the attempt before, the wait was zero.
  if (waits.length < attempts.length) waits.push(0)
  const start = base.currentTimeMillisUnsafe()
  const entry: Entry = { number: attempts.length + 1, start, end: start, timedOut: false, exit: undefined }
  attempts.push(entry)
  return entry
}

/** Notes the end of an attempt. */
export const finish = ({ base }: Recording, entry: Entry, exit: Exit.Exit<unknown, unknown>): void => {
  entry.end = base.currentTimeMillisUnsafe()
  entry.exit = exit
}
