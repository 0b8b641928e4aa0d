/** Runs that make every metric there is. */
import * as Policy from "@reprise/core/Policy"
import * as Retry from "@reprise/core/Retry"
import * as RetryBudget from "@reprise/core/RetryBudget"
import * as RetryMetrics from "@reprise/core/RetryMetrics"
import * as Transience from "@reprise/core/Transience"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import type * as Scope from "effect/Scope"

class Unavailable extends Data.TaggedError("Unavailable")<{ readonly message: string }> {
  get [Transience.TypeId](): Transience.SelfDescription {
    return { transience: "transient" }
  }
}

/** Nobody knows it. */
class Odd extends Data.TaggedError("Odd")<{ readonly message: string }> {}

/** What must never leave the process. */
export const secret = "token-8841"

/** Fails so many times, then succeeds. */
const failing = (times: number) => {
  let attempts = 0
  return Effect.suspend(() => ++attempts <= times ? Effect.fail(new Unavailable({ message: secret })) : Effect.void)
}

const policy = Policy.constant("2 millis").pipe(
  Policy.attempts(3),
  Policy.whileInput(Transience.isTransient)
)

/** The counter of the shared budget in Redis, which needs a server that does not answer. */
const fallbacks = Metric.counter("reprise.redis.fallback", {
  incremental: true,
  attributes: { "reprise.budget": "shared", unit: "{decision}" }
})

export const storm: Effect.Effect<void, never, Scope.Scope> = Effect.gen(function* () {
  const run = <A, E>(name: string, operation: Effect.Effect<A, E>, budget?: RetryBudget.RetryBudget) =>
    operation.pipe(Retry.run(policy, { name, ...(budget && { budget }) }), Effect.withSpan(name), Effect.ignore)

  const empty = RetryBudget.ratio({ ratio: 0, minPerSecond: 0 })
  yield* RetryMetrics.budget("payments", empty)
  yield* run("charge", failing(0))
  yield* run("charge", failing(2))
  yield* run("refund", failing(5))
  yield* run("ship", failing(5), empty)
  yield* run("notify", Effect.fail(new Odd({ message: secret })))
  yield* Metric.update(fallbacks, 1)
})
