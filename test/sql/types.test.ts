// What the types say; nothing here runs.
import { Policy, Presets, type Retry, type RetryExhausted } from "@reprise/core"
import { SqlRetry } from "@reprise/sql"
import type { TimeoutError } from "effect/Cause"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { expect, expectTypeOf, it } from "vitest"

class Declined extends Data.TaggedError("Declined")<{}> {}
class Audit extends Data.TaggedError("Audit")<{}> {}
interface Log {
  readonly log: unique symbol
}
interface Trail {
  readonly trail: unique symbol
}
type Exhausted<E> = RetryExhausted.RetryExhausted<E>

it("the errors of a transaction", () => {
  const pay = (): Effect.Effect<number, Declined, Log> => Effect.die("never run")

  expectTypeOf(() => pay().pipe(SqlRetry.transaction())).returns.toEqualTypeOf<
    Effect.Effect<number, Declined | SqlError | Exhausted<Declined | SqlError>, Log | SqlClient>
  >()
  expectTypeOf(() => SqlRetry.transaction(pay())).returns.toEqualTypeOf<
    Effect.Effect<number, Declined | SqlError | Exhausted<Declined | SqlError>, Log | SqlClient>
  >()
  expectTypeOf(() => pay().pipe(SqlRetry.transaction(Presets.database, { attemptTimeout: "1 second" }))).returns
    .toEqualTypeOf<
      Effect.Effect<
        number,
        Declined | SqlError | TimeoutError | Exhausted<Declined | SqlError | TimeoutError>,
        Log | SqlClient
      >
    >()
  const sqlOnly = Presets.database.pipe(Policy.whileTag("SqlError"))
  expectTypeOf(() => pay().pipe(SqlRetry.transaction(sqlOnly))).returns.toEqualTypeOf<
    Effect.Effect<number, Declined | SqlError | Exhausted<SqlError>, Log | SqlClient>
  >()
  expectTypeOf(() => SqlRetry.transaction(pay(), sqlOnly, { name: "pay" })).returns.toEqualTypeOf<
    Effect.Effect<number, Declined | SqlError | Exhausted<SqlError>, Log | SqlClient>
  >()
  expectTypeOf(() => pay().pipe(SqlRetry.transaction(Policy.none))).returns.toEqualTypeOf<
    Effect.Effect<number, Declined | SqlError, Log | SqlClient>
  >()
})

it("every form of the call", () => {
  const pay = (): Effect.Effect<number, Declined, Log> => Effect.die("never run")
  type Paid = Effect.Effect<number, Declined | SqlError | Exhausted<Declined | SqlError>, Log | SqlClient>
  const options = { name: "pay", isolation: "serializable" } as const
  const given: Policy.Unrestricted | undefined = undefined as Policy.Unrestricted | undefined // Of both, for the types.

  // Without an effect yet.
  expectTypeOf(() => pay().pipe(SqlRetry.transaction())).returns.toEqualTypeOf<Paid>()
  expectTypeOf(() => pay().pipe(SqlRetry.transaction(undefined))).returns.toEqualTypeOf<Paid>()
  expectTypeOf(() => pay().pipe(SqlRetry.transaction(given))).returns.toEqualTypeOf<Paid>()
  expectTypeOf(() => pay().pipe(SqlRetry.transaction(undefined, options))).returns.toEqualTypeOf<Paid>()
  expectTypeOf(() => pay().pipe(SqlRetry.transaction(given, options))).returns.toEqualTypeOf<Paid>()
  expectTypeOf(() => pay().pipe(SqlRetry.transaction(Presets.database, options))).returns.toEqualTypeOf<Paid>()
  expectTypeOf(() => pay().pipe(SqlRetry.transaction(Presets.database, undefined))).returns.toEqualTypeOf<Paid>()
  expectTypeOf(() => SqlRetry.transaction()(pay())).returns.toEqualTypeOf<Paid>()

  // With the effect first.
  expectTypeOf(() => SqlRetry.transaction(pay())).returns.toEqualTypeOf<Paid>()
  expectTypeOf(() => SqlRetry.transaction(pay(), undefined)).returns.toEqualTypeOf<Paid>()
  expectTypeOf(() => SqlRetry.transaction(pay(), given)).returns.toEqualTypeOf<Paid>()
  expectTypeOf(() => SqlRetry.transaction(pay(), undefined, options)).returns.toEqualTypeOf<Paid>()
  expectTypeOf(() => SqlRetry.transaction(pay(), given, options)).returns.toEqualTypeOf<Paid>()
  expectTypeOf(() => SqlRetry.transaction(pay(), Presets.database, undefined)).returns.toEqualTypeOf<Paid>()

  // The functions of the options are checked, and add what they need, under the default policy too.
  const onRetry: (event: Retry.RetryEvent<Declined | SqlError | TimeoutError>) => Effect.Effect<void, never, Trail> =
    () => Effect.void
  expectTypeOf(() => pay().pipe(SqlRetry.transaction(undefined, { onRetry }))).returns.toEqualTypeOf<
    Effect.Effect<number, Declined | SqlError | Exhausted<Declined | SqlError>, Log | SqlClient | Trail>
  >()
  expectTypeOf(() => SqlRetry.transaction(pay(), undefined, { onRetry })).returns.toEqualTypeOf<
    Effect.Effect<number, Declined | SqlError | Exhausted<Declined | SqlError>, Log | SqlClient | Trail>
  >()
})

it("what does not compile", () => {
  const pay = (): Effect.Effect<number, Declined> => Effect.die("never run")
  const reads = Presets.database.pipe(Policy.whileInput((error: Declined) => error._tag === "Declined"))
  const refused = () => {
    // @ts-expect-error -- the policy cannot read a SqlError
    const first = pay().pipe(SqlRetry.transaction(reads))
    // @ts-expect-error -- nor here
    const second = SqlRetry.transaction(pay(), reads)
    // @ts-expect-error -- a misspelt option
    const third = pay().pipe(SqlRetry.transaction(Presets.database, { isolaton: "serializable" }))
    const perhaps = reads as typeof reads | undefined
    // @ts-expect-error -- nor one that may be there
    const fourth = pay().pipe(SqlRetry.transaction(perhaps))
    // @ts-expect-error -- a misspelt option beside the default policy
    const fifth = SqlRetry.transaction(pay(), undefined, { isolaton: "serializable" })
    const onRetry: (event: Retry.RetryEvent<Audit | TimeoutError>) => Effect.Effect<void> = () => Effect.void
    // @ts-expect-error -- a function that cannot read what is retried
    const sixth = pay().pipe(SqlRetry.transaction(undefined, { onRetry }))
    return [first, second, third, fourth, fifth, sixth]
  }
  expect(refused).toBeTypeOf("function")
  interface Reads<E> {
    readonly onRetry: (event: Retry.RetryEvent<E>) => Effect.Effect<void>
  }
  expectTypeOf<SqlRetry.Readable<Declined, Policy.Unrestricted, Reads<Declined | SqlError>>>().toEqualTypeOf<unknown>()
  expectTypeOf<SqlRetry.Readable<Declined, Policy.Unrestricted, Reads<Audit>>>().not.toEqualTypeOf<unknown>()
})
