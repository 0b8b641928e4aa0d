/** Questions to a store that is another process, or a file: repeated while it is worth it, and within a time. */
import * as Policy from "@reprise/core/Policy"
import * as Transience from "@reprise/core/Transience"
import * as Cause from "effect/Cause"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import { type Operation, StoreFailed } from "../../IdempotencyError.ts"
import * as check from "../check.ts"

export type Ask = <A, E>(operation: Operation, question: Effect.Effect<A, E>) => Effect.Effect<A, StoreFailed>

export const timeoutOf = (argument: string, value: Duration.Input = "5 seconds"): number =>
  check.millis(`${argument}.timeout`, value, 1)

/** Once, as in a transaction: there the whole transaction is what may be tried again. */
export const once: Ask = (operation, question) =>
  Effect.mapError(question, (cause) => new StoreFailed({ operation, cause }))

/** Asks again where the first answer says that it is worth it. */
const repeated = <A, E>(question: Effect.Effect<A, E>, policy: Policy.Policy<unknown>): Effect.Effect<A, E> =>
  question.pipe(Effect.catch((error) => {
    if (!Transience.isTransient(error)) return Effect.fail(error)
    let isFirst = true
    const again = Effect.suspend(() => {
      if (!isFirst) return question
      isFirst = false
      return Effect.fail(error)
    })
    return Effect.retry(again, policy)
  }))

/** Waits for a fiber, but not for long, and then not for its end either. */
const awaited = <A, E>(fiber: Fiber.Fiber<A, E>, timeout: number): Effect.Effect<A, E | Cause.TimeoutError> =>
  Effect.flatMap(
    Effect.forkDetach(Effect.sleep(timeout)),
    (timer) =>
      Effect.callback<A, E | Cause.TimeoutError>((resume) => {
        fiber.addObserver((exit) => {
          timer.interruptUnsafe()
          resume(exit)
        })
        timer.addObserver((exit) => {
          if (exit._tag === "Failure") return
          resume(Effect.fail(new Cause.TimeoutError(`No answer within ${timeout} ms`)))
          fiber.interruptUnsafe()
        })
      })
  )

/**
 * Repeats a question, as each comes to the same when it is asked again, and gives up after a time. Nothing interrupts it:
 * what was half asked would leave a record that nobody knows of.
 */
export const within = (timeout: number): Ask => {
  const policy = Policy.exponential("1 millis").pipe(
    Policy.capped("100 millis"),
    Policy.jittered,
    Policy.within(timeout),
    Policy.whileInput(Transience.isTransient)
  )
  return (operation, question) =>
    once(
      operation,
      Effect.uninterruptible(
        Effect.flatMap(
          Effect.forkDetach(repeated(question, policy), { startImmediately: true }),
          // SQLite has answered by now.
          (fiber) => fiber.pollUnsafe() ?? awaited(fiber, timeout)
        )
      )
    )
}
