/** Questions to a store that is another process, or a file: repeated while it is worth it, and within a time. */
import * as Policy from "@reprise/core/Policy"
import * as Transience from "@reprise/core/Transience"
import * as Cause from "effect/Cause"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import { type Operation, StoreFailed } from "../../IdempotencyError.ts"
import * as check from "../check.ts"
import * as limits from "./limit.ts"

export type Ask = <A, E>(operation: Operation, question: Effect.Effect<A, E>) => Effect.Effect<A, StoreFailed>

export const timeoutOf = (argument: string, value: Duration.Input = "5 seconds"): number =>
  check.millis(`${argument}.timeout`, value, 1)

/** Once, as in a transaction: there the whole transaction is what may be tried again. */
export const once: Ask = (operation, question) =>
  Effect.mapError(question, (cause) => new StoreFailed({ operation, cause }))

type Question<A> = Effect.Effect<A, StoreFailed>

/** Asks again where the policy says that the failure is worth it; a success does not pay for that. */
const repeated = <A, E>(
  operation: Operation,
  question: Effect.Effect<A, E>,
  policy: Policy.Policy<unknown>
): Question<A> =>
  question.pipe(Effect.catch((error) => {
    let isFirst = true
    const again = Effect.suspend(() => {
      if (!isFirst) return question
      isFirst = false
      return Effect.fail(error)
    })
    return once(operation, Effect.retry(again, policy))
  }))

/** Waits for a fiber, but not for long, and then not for its end either. */
const awaited = <A>(
  operation: Operation,
  fiber: Fiber.Fiber<A, StoreFailed>,
  timeout: number,
  limit: limits.Limit
): Question<A> =>
  limit.watched(
    Effect.callback<A, StoreFailed>((resume) => {
      const leave = limit.waiting(() => {
        const cause = new Cause.TimeoutError(`No answer within ${timeout} ms`)
        resume(Effect.fail(new StoreFailed({ operation, cause })))
        fiber.interruptUnsafe()
      })
      fiber.addObserver((exit) => {
        leave()
        resume(exit)
      })
    })
  )

/**
 * Repeats a question, as each comes to the same when it is asked again, and gives up after a time. Nothing interrupts it:
 * what was half asked would leave a record that nobody knows of.
 */
export const within = (timeout: number): Effect.Effect<Ask, never, Scope.Scope> => {
  const policy = Policy.exponential("1 millis").pipe(
    Policy.capped("100 millis"),
    Policy.jittered,
    Policy.within(timeout),
    Policy.whileInput(Transience.isTransient)
  )
  return Effect.map(limits.make(timeout), (limit): Ask => (operation, question) =>
    Effect.uninterruptible(
      Effect.flatMap(
        Effect.forkDetach(repeated(operation, question, policy), { startImmediately: true }),
        // SQLite has answered by now.
        (fiber) => fiber.pollUnsafe() ?? awaited(operation, fiber, timeout, limit)
      )
    ))
}
