import { Deadline, Retry, RetryBudget, RetryEvents, RetryMetrics } from "@reprise/core"
import { Context, Effect, Layer, Schedule } from "effect"
import { again } from "./inFibre.ts"
import type { Measurement } from "./Measurement.ts"
import { policy } from "./policy.ts"
import { atMost, compare } from "./Row.ts"
import { takeTurns } from "./rounds.ts"

const operation: Effect.Effect<number, Error> = Effect.succeed(1)
const run = Retry.run(operation, policy, { name: "charge" })
const retry = Effect.retry(operation, Schedule.recurs(4))

const budget = RetryBudget.make()

const guarded = <A, E>(all: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  all.pipe(Deadline.within("1 hour"), Effect.provide(RetryBudget.layer(budget)))

const measured = <A, E>(all: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  guarded(all).pipe(Effect.provide(RetryMetrics.layer))

const told = <A, E>(all: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  guarded(all).pipe(Effect.provide(Layer.provideMerge(RetryMetrics.layer, RetryEvents.layerPubSub())))

class Request extends Context.Service<Request, { readonly id: number }>()("bench/Request") {}

/** In a context of its own, as each request of a server has: nothing can be kept from the run before. */
const asRequest = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.suspend(() => Effect.provideService(effect, Request, { id: 1 }))

const sides = {
  bare: again(operation),
  alone: again(run),
  retry: again(retry),
  guarded: again(run, guarded),
  measured: again(run, measured),
  told: again(run, told),
  bareRequest: again(asRequest(operation)),
  request: again(asRequest(run), guarded),
  retryRequest: again(asRequest(retry))
}

export const guards: Measurement = {
  title: "The operation succeeds at once, with budget, deadline and layers on",
  async measure({ many }) {
    const all = await takeTurns(sides, { rounds: many(15, 7), iterations: many(200_000, 50_000) })
    return [
      compare("Retry.run, all on ÷ bare effect", "ns", all.guarded, all.bare, atMost(8)),
      compare("Retry.run, all on ÷ plain Effect.retry", "ns", all.guarded, all.retry, atMost(1)),
      compare("all on ÷ Retry.run without budget and deadline", "ns", all.guarded, all.alone),
      compare("with metrics ÷ without", "ns", all.measured, all.guarded, atMost(1.15)),
      compare("with metrics and a bus that nobody reads ÷ without", "ns", all.told, all.guarded, atMost(1.15)),
      compare("a context for each: all on ÷ bare effect", "ns", all.request, all.bareRequest),
      compare("a context for each: all on ÷ plain Effect.retry", "ns", all.request, all.retryRequest)
    ]
  }
}
