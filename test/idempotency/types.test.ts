import { Idempotency, type IdempotencyStore } from "@reprise/idempotency"
import type { TimeoutError } from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { describe, expectTypeOf, it } from "vitest"
import { Declined } from "./memory.ts"

type Store = IdempotencyStore.IdempotencyStore
type Failure = Idempotency.Failure

const common = { key: "k", scope: "s", payload: 1, success: Schema.String }
interface World {
  readonly ask: Effect.Effect<string, "unreachable">
}
const World = Context.Service<World>("World")
const found = Effect.flatMap(World, ({ ask }) => Effect.map(ask, Idempotency.succeeded))

describe("once", () => {
  it("adds its own failures and the store, in both forms", () => {
    const operation = Effect.succeed("done")
    expectTypeOf(Idempotency.once(common, operation)).toEqualTypeOf<Effect.Effect<string, Failure, Store>>()
    expectTypeOf(operation.pipe(Idempotency.once(common))).toEqualTypeOf<Effect.Effect<string, Failure, Store>>()
  })

  it("keeps the failures and needs of the operation, and adds those of the schema", () => {
    const operation = Effect.timeout(Effect.as(World, "done"), "1 second")
    expectTypeOf(Idempotency.once({ ...common, failure: Declined }, operation)).toEqualTypeOf<
      Effect.Effect<string, TimeoutError | Declined | Failure, World | Store>
    >()
  })

  it("has the failures and needs of reconciling", () => {
    expectTypeOf(Idempotency.once({ ...common, reconcile: found }, Effect.succeed("done"))).toEqualTypeOf<
      Effect.Effect<string, "unreachable" | Failure, World | Store>
    >()
  })

  it("takes no operation, and no reconciliation, that its schemas do not fit", () => {
    const reconcile = Effect.succeed(Idempotency.succeeded(1))
    const wrong = [
      // @ts-expect-error a number is no text
      () => Idempotency.once(common, Effect.succeed(1)),
      // @ts-expect-error a number is no text
      () => Idempotency.once({ ...common, reconcile }, Effect.succeed("done")),
      // @ts-expect-error there is no default: keys of two tenants must not meet
      () => Idempotency.once({ key: "k", payload: 1, success: Schema.String }, Effect.succeed("done"))
    ]
    expectTypeOf(wrong).toBeArray()
  })
})

describe("consumer", () => {
  it("is a function of the message", () => {
    const handle = Idempotency.consumer(
      { scope: "s", key: (message: { readonly id: string }) => message.id, success: Schema.Number },
      ({ id }) => Effect.succeed(id.length)
    )
    expectTypeOf(handle).toEqualTypeOf<(message: { readonly id: string }) => Effect.Effect<number, Failure, Store>>()
  })
})
