/** Questions to a store that is another process, or a file: repeated while it is worth it, and within a time. */
import * as Policy from "@reprise/core/Policy"
import * as Transience from "@reprise/core/Transience"
import * as Cause from "effect/Cause"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { type Operation, StoreFailed } from "../../IdempotencyError.ts"
import * as check from "../check.ts"

export type Ask = <A, E, R>(operation: Operation, question: Effect.Effect<A, E, R>) => Effect.Effect<A, StoreFailed, R>

export const timeoutOf = (argument: string, value: Duration.Input = "5 seconds"): number =>
  check.millis(`${argument}.timeout`, value, 1)

/** Once, as in a transaction: there the whole transaction is what may be tried again. */
export const once: Ask = (operation, question) =>
  Effect.mapError(question, (cause) => new StoreFailed({ operation, cause }))

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
  return (operation, question) => {
    const repeated = question.pipe(Effect.catch((error) => {
      if (!Transience.isTransient(error)) return Effect.fail(error)
      let first = true
      const again = Effect.suspend(() => {
        if (!first) return question
        first = false
        return Effect.fail(error)
      })
      return Effect.retry(again, policy)
    }))
    const bounded = Effect.timeoutOrElse(repeated, {
      duration: timeout,
      orElse: () => Effect.fail(new Cause.TimeoutError(`No answer within ${timeout} ms`))
    })
    // In a fiber of its own: the time must be able to end it where the caller must not.
    return once(
      operation,
      Effect.uninterruptible(
        Effect.flatMap(Effect.forkDetach(bounded, { startImmediately: true }), (fiber) => Fiber.join(fiber))
      )
    )
  }
}
