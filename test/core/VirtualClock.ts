import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

/** Time of our own, in milliseconds, with its timers counted. Its wall clock may disagree with its monotonic one. */
export interface VirtualClock extends Clock.Clock {
  /** Monotonic milliseconds. */
  now: number
  /** Wall-clock milliseconds since the epoch, apart from the monotonic clock. */
  wall: number
  /** Every sleep that was begun. */
  readonly sleeps: Array<number>
  /** Timers that are set. */
  timers: number
}

const make = (sleep: (self: VirtualClock, millis: number) => Effect.Effect<void>): VirtualClock => {
  const nanos = (millis: number): bigint => BigInt(Math.round(millis * 1e6))
  const self: VirtualClock = {
    now: 0,
    wall: 0,
    sleeps: [],
    timers: 0,
    currentTimeMillisUnsafe: () => self.wall,
    currentTimeMillis: Effect.sync(() => self.wall),
    currentTimeNanosUnsafe: () => nanos(self.wall),
    currentTimeNanos: Effect.sync(() => nanos(self.wall)),
    monotonicTimeNanosUnsafe: () => nanos(self.now),
    monotonicTimeNanos: Effect.sync(() => nanos(self.now)),
    sleep: (duration) =>
      Effect.suspend(() => {
        const millis = Duration.toMillis(duration)
        self.sleeps.push(millis)
        return sleep(self, millis)
      })
  }
  return self
}

/** A sleep ends as soon as it begins, and time has moved: for runs that wait one after the other. */
export const instant = (): VirtualClock =>
  make((self, millis) => {
    self.now += millis
    self.wall += millis
    return Effect.yieldNow
  })

/** A sleep never ends: for runs that are interrupted in one. */
export const stopped = (): VirtualClock =>
  make((self) =>
    Effect.callback<void>(() => {
      self.timers++
      return Effect.sync(() => {
        self.timers--
      })
    })
  )

/** A sleep lasts longer than it was asked to, as in a process that was frozen. */
export const frozenFor = (millis: number): VirtualClock =>
  make((self, asked) => {
    self.now += asked + millis
    self.wall += asked + millis
    return Effect.yieldNow
  })

/** The effect under a clock. */
export const provide = (clock: Clock.Clock) => Effect.provideService(Clock.Clock, clock)
