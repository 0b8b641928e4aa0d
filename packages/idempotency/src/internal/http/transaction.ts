/** A request that is one transaction: its claim, what its handler writes, and its record. */
import { InvalidPolicy } from "@reprise/core/InvalidPolicy"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { Handled } from "../../HttpIdempotency.ts"
import type { Answer, Failure } from "../../Idempotency.ts"
import { IdempotencyStore } from "../../IdempotencyStore.ts"
import type { Settings } from "./settings.ts"

type AnyAnswer = Answer<unknown, unknown>

/** What came of a request, or why nothing did. */
export type Whole = AnyAnswer | Failure

export const isAnswer = (whole: Whole): whole is AnyAnswer => "exit" in whole

const inside = Effect.flatMap(
  Effect.flatMap(IdempotencyStore, ({ inTransaction }) => inTransaction),
  (isInside) =>
    isInside ? Effect.void : Effect.die(
      new InvalidPolicy({
        argument: "middleware.transaction",
        value: "another",
        rule: "of the client that the store was given (IdempotencyStore.layerSql)"
      })
    )
)

/**
 * What is not recorded fails, so that all is undone, and is tried again by a transaction that knows how. What the other
 * requests get is no failure of the transaction.
 */
const attempt = (answering: Effect.Effect<AnyAnswer, Failure, unknown>): Effect.Effect<Whole, unknown, unknown> =>
  Effect.andThen(inside, answering).pipe(
    Effect.catch((error) => error._tag === "StoreFailed" ? Effect.fail(error) : Effect.succeed(error)),
    Effect.flatMap((whole): Effect.Effect<Whole, unknown> =>
      isAnswer(whole) && !whole.recorded && Exit.isFailure(whole.exit)
        ? Effect.failCause(whole.exit.cause)
        : Effect.succeed(whole)
    )
  )

export const together = (
  { transaction }: Settings,
  answering: Effect.Effect<AnyAnswer, Failure, unknown>
): Effect.Effect<Whole, unknown, unknown> => {
  if (transaction === undefined) return answering.pipe(Effect.catch((error) => Effect.succeed(error)))
  // A transaction gives what it is given, and needs of the handler's nothing: that stands in the middleware's own type.
  const whole = attempt(answering) as Effect.Effect<unknown, unknown> as Effect.Effect<Handled, unknown>
  return transaction(whole) as Effect.Effect<unknown, unknown, unknown> as Effect.Effect<Whole, unknown, unknown>
}
