import * as RetryExhausted from "@reprise/core/RetryExhausted"
import * as Retry from "@reprise/core/Retry"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Random from "effect/Random"
import * as Scheduler from "effect/Scheduler"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import type { Attempt, Conditions, Timeline } from "../Timeline.ts"
import { drive } from "./drive.ts"
import { scripted } from "./random.ts"
import * as Recording from "./recording.ts"

/** An effect whose executions are noted as attempts. */
const noted = <A, E, R>(self: Effect.Effect<A, E, R>, recording: Recording.Recording): Effect.Effect<A, E, R> =>
  Effect.withFiber((fiber) => {
    const entry = Recording.begin(recording)
    const turn = fiber.getRef(Retry.Attempt).number === entry.number ? undefined : entry.number
    const attempt = Effect.provideService(self, Clock.Clock, recording.inside)
    return Effect.onExit(
      turn === undefined ? attempt : Effect.provideService(attempt, Recording.Turn, turn),
      (exit) => Effect.sync(() => Recording.finish(recording, entry, exit))
    )
  })

/** The sleeps of an effect are no waits between attempts. */
export const aside = <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.withFiber((fiber) => {
    const recording = fiber.getRef(Recording.Current)
    return recording === undefined ? self : Effect.provideService(self, Clock.Clock, recording.inside)
  })

const seeded = <A, E, R>(self: Effect.Effect<A, E, R>, { random, seed }: Conditions): Effect.Effect<A, E, R> => {
  if (random !== undefined) return Effect.provideService(self, Random.Random, scripted(random))
  return seed === undefined ? self : Random.withSeed(self, seed)
}

const outcomeOf = (exit: Exit.Exit<unknown, unknown>): "Success" | "Failure" | "Defect" | "Interrupted" => {
  if (Exit.isSuccess(exit)) return "Success"
  if (Cause.hasDies(exit.cause)) return "Defect"
  return Cause.hasInterrupts(exit.cause) ? "Interrupted" : "Failure"
}

const attemptOutcome = (entry: Recording.Entry, exit: Exit.Exit<unknown, unknown>, hung: boolean): Attempt["outcome"] => {
  const outcome = outcomeOf(exit)
  if (outcome !== "Interrupted") return outcome
  if (entry.timedOut) return "TimedOut"
  return hung ? "Hanging" : outcome
}

const runOutcome = (exit: Exit.Exit<unknown, unknown>, hung: boolean): Timeline["outcome"] => {
  if (hung) return "Hanging"
  const outcome = outcomeOf(exit)
  return outcome === "Failure" && Exit.isFailure(exit) && RetryExhausted.is(Cause.squash(exit.cause))
    ? "Exhausted"
    : outcome
}

const timeline = (recording: Recording.Recording, exit: Exit.Exit<unknown, unknown>, hung: boolean): Timeline => ({
  attempts: recording.attempts.map((entry): Attempt => {
    const attempt = entry.exit ?? Exit.interrupt()
    return {
      number: entry.number,
      start: entry.start,
      end: entry.end,
      outcome: attemptOutcome(entry, attempt, hung && entry.number === recording.attempts.length),
      exit: attempt
    }
  }),
  waits: recording.waits,
  elapsed: recording.base.currentTimeMillisUnsafe(),
  outcome: runOutcome(exit, hung),
  exit
})

const recorded = <A, E, R, B, E2, R2>(
  base: TestClock.TestClock,
  parent: Scheduler.Scheduler,
  self: Effect.Effect<A, E, R>,
  run: (attempt: Effect.Effect<A, E, R>) => Effect.Effect<B, E2, R2>,
  conditions: Conditions
): Effect.Effect<Timeline, never, R2> =>
  Effect.suspend(() => {
    const recording = Recording.make(base, parent)
    const { interruptAfter = Duration.infinity, patience = "1 second" } = conditions
    const driving = (fiber: Fiber.Fiber<unknown, unknown>, interruptAt: Duration.Input) =>
      drive(recording, fiber, patience, Duration.toMillis(interruptAt))
    return Effect.flatMap(
      Effect.forkDetach(
        Effect.withFiber((fiber) => {
          recording.fiber = fiber
          return seeded(run(noted(self, recording)), conditions)
        }).pipe(
          Effect.provideService(Recording.Current, recording),
          Effect.provideService(Clock.Clock, recording.outside),
          Effect.provideService(Scheduler.Scheduler, recording.scheduler)
        ),
        { startImmediately: true }
      ),
      (fiber) => {
        fiber.addObserver(() => Recording.change(recording))
        return driving(fiber, interruptAfter).pipe(
          // Finalizers may sleep as well, so the clock goes on until the run has ended.
          Effect.onInterrupt(() => {
            fiber.interruptUnsafe()
            return driving(fiber, Duration.infinity)
          }),
          Effect.map((hung) => timeline(recording, fiber.pollUnsafe()!, hung))
        )
      }
    )
  })

/** See `Timeline.recordWith`. */
export const record = <A, E, R, B, E2, R2>(
  self: Effect.Effect<A, E, R>,
  run: (attempt: Effect.Effect<A, E, R>) => Effect.Effect<B, E2, R2>,
  conditions: Conditions
): Effect.Effect<Timeline<B, E2, A, E>, never, R2> =>
  Effect.scopedWith((scope) =>
    Effect.withFiber((fiber) => {
      const outer = fiber.getRef(Recording.Current)
      const making = TestClock.make({ warningDelay: Duration.infinity }).pipe(
        Effect.provideService(Scope.Scope, scope),
        // A recording inside of another must find its way to the live clock.
        Effect.provideService(Clock.Clock, outer?.base ?? fiber.getRef(Clock.Clock))
      )
      return Effect.flatMap(making, (base) => recorded(base, fiber.cache.scheduler, self, run, conditions))
    })
  ) as Effect.Effect<Timeline<B, E2, A, E>, never, R2> // The recording is untyped inside.
