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
    return [first, second, third]
  }
  expect(refused).toBeTypeOf("function")
  interface Reads<E> {
    readonly onRetry: (event: Retry.RetryEvent<E>) => Effect.Effect<void>
  }
  expectTypeOf<SqlRetry.Readable<Declined, Policy.Unrestricted, Reads<Declined | SqlError>>>().toEqualTypeOf<unknown>()
  expectTypeOf<SqlRetry.Readable<Declined, Policy.Unrestricted, Reads<Audit>>>().not.toEqualTypeOf<unknown>()
})
