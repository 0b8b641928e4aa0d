import * as Retry from "@reprise/core/Retry"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Random from "effect/Random"
import * as Scheduler from "effect/Scheduler"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import type { Timeline } from "../Timeline.ts"
import { drive } from "./drive.ts"
import { scripted } from "./random.ts"
import * as Recording from "./recording.ts"
import * as timeline from "./timeline.ts"
import type { Checked } from "./validate.ts"

/** An operation whose executions the recording around it notes as attempts. */
const noted = <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.withFiber((fiber) => {
    const recording = fiber.getRef(Recording.Current)
    if (recording === undefined) return self
    const entry = Recording.begin(recording)
    const turn = fiber.getRef(Retry.Attempt).number === entry.number ? undefined : entry.number
    const attempt = Effect.provideService(self, Clock.Clock, recording.inside)
    return Effect.onExit(
      fiber.getRef(Recording.Turn) === turn ? attempt : Effect.provideService(attempt, Recording.Turn, turn),
      (exit) => Effect.sync(() => Recording.finish(recording, entry, exit))
    )
  })

/** An effect whose sleeps are no waits between attempts. */
const aside = <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.withFiber((fiber) => {
    const recording = fiber.getRef(Recording.Current)
    return recording === undefined ? self : Effect.provideService(self, Clock.Clock, recording.inside)
  })

/** A function of the options, set {@link aside}. What is none, or returns no effect, is for the run to refuse. */
export const asideWith = <F extends ((input: never) => Effect.Effect<unknown, unknown, unknown>) | undefined>(
  f: F
): F => {
  if (typeof f !== "function") return f
  const wrapped = (input: never) => {
    const returned = f(input)
    return Effect.isEffect(returned) ? aside(returned) : returned
  }
  return wrapped as F // It takes and returns what `f` does.
}

const seeded = <A, E, R>(self: Effect.Effect<A, E, R>, { random, seed }: Checked): Effect.Effect<A, E, R> => {
  // A script of draws begins anew for each recording.
  if (random !== undefined) return Effect.suspend(() => Effect.provideService(self, Random.Random, scripted(random)))
  return seed === undefined ? self : Random.withSeed(self, seed)
}

const started = <A, E, R>(
  run: Effect.Effect<A, E, R>,
  recording: Recording.Recording
): Effect.Effect<Fiber.Fiber<A, E>, never, R> =>
  Effect.withFiber((fiber) => {
    recording.fiber = fiber
    return run
  }).pipe(
    Effect.provideService(Recording.Current, recording),
    Effect.provideService(Clock.Clock, recording.outside),
    Effect.provideService(Scheduler.Scheduler, recording.scheduler),
    Effect.forkDetach({ startImmediately: true })
  )

/** Starts a run, and moves its clock until it has ended. */
const driven = <A, E, R>(
  run: Effect.Effect<A, E, R>,
  recording: Recording.Recording,
  { interruptAt, patience }: Checked
): Effect.Effect<Timeline, never, R> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(started(run, recording), (fiber) => {
      fiber.addObserver(() => Recording.change(recording))
      return restore(drive(recording, fiber, patience, interruptAt)).pipe(
        Effect.onInterrupt(() => {
          fiber.interruptUnsafe()
          // Finalizers may sleep as well, so the clock goes on until the run has ended.
          return drive(recording, fiber, patience, Infinity)
        }),
        Effect.map((hung) => timeline.of(recording, fiber.pollUnsafe()!, hung))
      )
    })
  )

/** See `Timeline.recordWith`. */
export const record = <A, E, R, B, E2, R2>(
  self: Effect.Effect<A, E, R>,
  run: (operation: Effect.Effect<A, E, R>) => Effect.Effect<B, E2, R2>,
  conditions: Checked
): Effect.Effect<Timeline<B, E2, A, E>, never, R2> => {
  // Now, so that a bad policy throws before there is an effect.
  const running = seeded(run(noted(self)), conditions)
  const recorded = Effect.scopedWith((scope) =>
    Effect.withFiber((parent) => {
      const outer = parent.getRef(Recording.Current)
      return TestClock.make({ warningDelay: Duration.infinity }).pipe(
        Effect.provideService(Scope.Scope, scope),
        // From inside another recording, too, the way to the live clock leads through a clock that `TestClock` made.
        Effect.provideService(Clock.Clock, outer?.base ?? parent.getRef(Clock.Clock)),
        // Before its clock has been set once, `TestClock` prepares a warning at each sleep, and a finalizer cannot sleep.
        Effect.tap((base) => base.setTime(0)),
        Effect.flatMap((base) => driven(running, Recording.make(base, parent.cache.scheduler), conditions))
      )
    })
  )
  // The notes are untyped; they are of this operation and this run.
  return recorded as Effect.Effect<Timeline<B, E2, A, E>, never, R2>
}
