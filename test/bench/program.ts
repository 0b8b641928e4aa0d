/** What a service that retries one call imports: `npm run size` weighs it. */
import * as Policy from "@reprise/core/Policy"
import * as Retry from "@reprise/core/Retry"
import type * as Effect from "effect/Effect"

const policy = Policy.exponential("500 millis").pipe(
  Policy.capped("30 seconds"),
  Policy.jittered,
  Policy.attempts(5),
  Policy.whileTag("Timeout", "Unavailable")
)

export const retrying: <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, unknown, R> = Retry.run(policy)
