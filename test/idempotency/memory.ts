/** A store in memory whose hashes are there at once, so that virtual time finds everything where it should be. */
import * as NodeCrypto from "@effect/platform-node/NodeCrypto"
import { Idempotency, IdempotencyStore } from "@reprise/idempotency"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"

export type Store = IdempotencyStore.IdempotencyStore

export const layer = (options?: IdempotencyStore.MemoryOptions): Layer.Layer<Store> =>
  Layer.provide(IdempotencyStore.layerMemory(options), NodeCrypto.layerDigest)

/** A store that answers as another says. */
export const faulty = (change: (store: Store) => Partial<IdempotencyStore.Backing>): Layer.Layer<Store> =>
  Layer.effect(
    IdempotencyStore.IdempotencyStore,
    Effect.map(Layer.build(layer()), (context) => {
      const store = Context.get(context, IdempotencyStore.IdempotencyStore)
      return { ...store, ...change(store) }
    })
  )

export class Declined extends Schema.TaggedError<Declined>()("Declined", { code: Schema.Number }) {}

/** What the tests have in common. */
export const order = {
  key: "order-1017",
  scope: "tenant-7",
  payload: { amount: 20 },
  success: Schema.String,
  failure: Declined
}

/** An operation that counts its executions, and what it comes to. */
export const counted = <A, E, R>(
  then: (execution: number) => Effect.Effect<A, E, R>
): { readonly operation: Effect.Effect<A, E, R>; readonly count: () => number } => {
  let executions = 0
  return { operation: Effect.suspend(() => then(++executions)), count: () => executions }
}

/** What a caller gets who only wants to know. */
export const peek = (
  key: string = order.key
): Effect.Effect<string, Declined | Idempotency.Failure | "ran", Store> =>
  Idempotency.once({ ...order, key }, Effect.fail("ran" as const))
