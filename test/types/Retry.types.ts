// What a run makes of an effect's type. Nothing here runs: `tsc -b` checks it.
// Effects stand here for their types alone, and some are wrong on purpose.
// @effect-diagnostics floatingEffect:off missingEffectError:off missingEffectContext:off
import { type IdempotencyKey, Policy, Retry, RetryExhausted } from "@reprise/core"
import type * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import { is } from "./Equal.ts"

class Timeout extends Data.TaggedError("Timeout")<{ readonly after: number }> {}
class Unavailable extends Data.TaggedError("Unavailable")<{}> {}
class CardDeclined extends Data.TaggedError("CardDeclined")<{ readonly code: string }> {}
class Throttled extends Timeout {
  readonly throttled = true
}
class Database extends Context.Service<Database, { readonly url: string }>()("Database") {}
class Log extends Context.Service<Log, { readonly add: (line: string) => void }>()("Log") {}
class Flags extends Context.Service<Flags, { readonly on: boolean }>()("Flags") {}
type Exhausted<E> = RetryExhausted.RetryExhausted<E>

declare const charge: Effect.Effect<string, Timeout | Unavailable | CardDeclined, Database>
declare const safe: Effect.Effect<string>
declare const vague: Effect.Effect<string, unknown>
declare const isTimeout: (error: unknown) => error is Timeout
declare const isThrottled: (error: unknown) => error is Throttled
declare const anyone: (error: unknown) => boolean
declare const readsTimeout: Policy.Policy<Timeout, Timeout, Timeout>

const tagged = Policy.standard.pipe(Policy.whileTag("Timeout", "Unavailable"))

// The example of the design, data-last and data-first.
type Charged = Effect.Effect<string, CardDeclined | Exhausted<Timeout | Unavailable>, Database>
is<Charged>()(charge.pipe(Retry.run(tagged)))
is<Charged>()(Retry.run(charge, tagged))
is<Charged>()(charge.pipe(Retry.run(tagged, {})))
is<Charged>()(Retry.run(charge, tagged, {}))
is<Charged>()(charge.pipe(Retry.run(tagged, { name: "charge" })))
is<Charged>()(Retry.run(charge, tagged, { name: "charge" }))

// A constructor's policy retries everything.
is<Effect.Effect<string, Exhausted<Timeout | Unavailable | CardDeclined>, Database>>()(
  charge.pipe(Retry.run(Policy.standard))
)
// `none` retries nothing, and so is never exhausted.
is<Effect.Effect<string, Timeout | Unavailable | CardDeclined, Database>>()(charge.pipe(Retry.run(Policy.none)))
is<Effect.Effect<string, Timeout | Unavailable | CardDeclined, Database>>()(Retry.run(charge, Policy.none))

// A refinement takes its type away; a boolean predicate takes nothing away.
is<Effect.Effect<string, Unavailable | CardDeclined | Exhausted<Timeout>, Database>>()(
  charge.pipe(Retry.run(Policy.standard.pipe(Policy.whileInput(isTimeout))))
)
const someone = Policy.standard.pipe(Policy.whileInput(anyone))
type Everything = Timeout | Unavailable | CardDeclined
is<Effect.Effect<string, Everything | Exhausted<Everything>, Database>>()(charge.pipe(Retry.run(someone)))
is<Effect.Effect<string, Everything | Exhausted<Everything>, Database>>()(Retry.run(charge, someone))
is<Effect.Effect<string, Everything | Exhausted<Timeout | Unavailable>, Database>>()(
  charge.pipe(Retry.run(tagged.pipe(Policy.whileInput(anyone))))
)

// A refinement to a subtype: the type stays, as not all of it is retried; what exhausts is the subtype.
is<Effect.Effect<string, Timeout | Unavailable | CardDeclined | Exhausted<Throttled>, Database>>()(
  charge.pipe(Retry.run(Policy.standard.pipe(Policy.whileInput(isThrottled))))
)

// A policy annotated as `Policy` has forgotten what it narrows.
const forgetful: Policy.Policy = tagged
is<Effect.Effect<string, Everything | Exhausted<Everything>, Database>>()(charge.pipe(Retry.run(forgetful)))

// No error, an unknown error, a tag that the effect does not have.
is<Effect.Effect<string>>()(safe.pipe(Retry.run(tagged)))
is<Effect.Effect<string>>()(Retry.run(safe, Policy.standard))
is<Effect.Effect<string, unknown>>()(vague.pipe(Retry.run(tagged)))
is<Effect.Effect<string, Exhausted<unknown>>>()(vague.pipe(Retry.run(Policy.standard)))
declare const declined: Effect.Effect<string, CardDeclined>
is<Effect.Effect<string, CardDeclined>>()(declined.pipe(Retry.run(tagged)))

// Plain values as errors, and `undefined` among them.
declare const untagged: Effect.Effect<string, "busy" | undefined | Timeout>
// @ts-expect-error -- sound and wider than need be: RetryExhausted<Timeout | ("busy" & { _tag: … })>
is<Effect.Effect<string, "busy" | undefined | Exhausted<Timeout>>>()(untagged.pipe(Retry.run(tagged)))
declare const untaggedObject: Effect.Effect<string, undefined | null | Timeout>
is<Effect.Effect<string, undefined | null | Exhausted<Timeout>>>()(untaggedObject.pipe(Retry.run(tagged)))

// Nested runs: what was exhausted inside stays as it is.
const inner = charge.pipe(Retry.run(tagged))
is<Charged>()(inner.pipe(Retry.run(tagged)))
is<Charged>()(Retry.run(inner, tagged))
is<Effect.Effect<string, Exhausted<Timeout | Unavailable> | Exhausted<CardDeclined>, Database>>()(
  inner.pipe(Retry.run(Policy.standard))
)
is<Effect.Effect<string, Exhausted<Timeout | Unavailable> | Exhausted<CardDeclined>, Database>>()(
  Retry.run(inner, Policy.standard)
)
is<Effect.Effect<string, Exhausted<Timeout>>>()(
  (null! as Effect.Effect<string, Exhausted<Timeout>>).pipe(Retry.run(Policy.standard))
)

// Policies that join differently narrowed ones.
const onlyTimeout = Policy.standard.pipe(Policy.whileTag("Timeout"))
const onlyUnavailable = Policy.standard.pipe(Policy.whileTag("Unavailable"))
is<Charged>()(charge.pipe(Retry.run(Policy.concat(onlyTimeout, onlyUnavailable))))
is<Charged>()(charge.pipe(Retry.run(Policy.min([onlyTimeout, onlyUnavailable]))))
is<Effect.Effect<string, Unavailable | CardDeclined | Exhausted<Timeout>, Database>>()(
  charge.pipe(Retry.run(Policy.max([onlyTimeout, tagged])))
)
is<Effect.Effect<string, Everything, Database>>()(charge.pipe(Retry.run(Policy.max([onlyTimeout, onlyUnavailable]))))
is<Effect.Effect<string, Everything | Exhausted<Timeout | Unavailable>, Database>>()(
  charge.pipe(Retry.run(Policy.byInput([["slow", anyone, onlyTimeout]], onlyUnavailable)))
)
is<Effect.Effect<string, Unavailable | CardDeclined | Exhausted<Everything>, Database>>()(
  charge.pipe(Retry.run(Policy.byInput([["slow", anyone, onlyTimeout]], Policy.standard)))
)

// Generic code.
export const retried = <A, E, R>(self: Effect.Effect<A, E, R>) => self.pipe(Retry.run(Policy.standard))
is<Effect.Effect<string, Exhausted<CardDeclined>>>()(retried(declined))
export const orElse = <A, E, R>(self: Effect.Effect<A, E, R>, fallback: A) =>
  self.pipe(Retry.run(forgetful), Effect.catchIf(RetryExhausted.is, () => Effect.succeed(fallback)))
// `is` takes the exhaustion out of the channel, whatever it was exhausted on.
is<Effect.Effect<string, CardDeclined>>()(
  declined.pipe(Retry.run(forgetful), Effect.catchIf(RetryExhausted.is, () => Effect.succeed("none")))
)
declare const maybe: string | Exhausted<Timeout>
export const last: Timeout | undefined = RetryExhausted.is(maybe) ? maybe.lastError : undefined
declare const something: unknown
export const count: number = RetryExhausted.is(something) ? something.attempts : 0
export const byTag = <A, E extends { readonly _tag: string }, R>(self: Effect.Effect<A, E, R>) =>
  Retry.run(self, tagged)
is<Effect.Effect<string, CardDeclined>>()(
  charge.pipe(
    Retry.run(tagged),
    Effect.catchTag("RetryExhausted", (error) => {
      is<Exhausted<Timeout | Unavailable>>()(error)
      return Effect.succeed("none")
    }),
    Effect.provideService(Database, { url: "" })
  )
)

// attemptTimeout adds its error to what exhausts.
type Timed = Effect.Effect<string, CardDeclined | Exhausted<Timeout | Unavailable | Cause.TimeoutError>, Database>
is<Timed>()(charge.pipe(Retry.run(tagged, { attemptTimeout: "1 second" })))
is<Timed>()(Retry.run(charge, tagged, { attemptTimeout: "1 second" }))
is<Timed>()(Retry.run(charge, tagged, { name: "charge", attemptTimeout: 5 }))
is<Effect.Effect<string, Exhausted<Cause.TimeoutError>>>()(safe.pipe(Retry.run(tagged, { attemptTimeout: 5 })))
is<Effect.Effect<string, CardDeclined | Exhausted<Cause.TimeoutError>>>()(
  declined.pipe(Retry.run(Policy.none, { attemptTimeout: 5 }))
)
is<Charged>()(charge.pipe(Retry.run(tagged, { attemptTimeout: undefined })))
is<Charged>()(Retry.run(charge, tagged, { attemptTimeout: undefined }))
declare const perhaps: { readonly attemptTimeout?: string }
// It may be there or not, so its error may be.
// @ts-expect-error -- any text is no duration
charge.pipe(Retry.run(tagged, perhaps))
declare const perhapsTimed: { readonly attemptTimeout?: number }
is<Timed>()(charge.pipe(Retry.run(tagged, perhapsTimed)))

// `when` keeps the errors as they are beside the exhaustion.
type Asked = Effect.Effect<string, Everything | Exhausted<Timeout | Unavailable>, Database>
is<Asked>()(charge.pipe(Retry.run(tagged, { when: () => Effect.succeed(true) })))
is<Asked>()(Retry.run(charge, tagged, { when: () => Effect.succeed(true) }))
is<Asked>()(Retry.run(charge, tagged, { when: (error) => Effect.succeed(error._tag === "Timeout") }))

// Data-first, the functions know the effect's errors: of them, those that the policy retries.
Retry.run(charge, tagged, {
  when: (error) => {
    is<Timeout | Unavailable>()(error)
    return Effect.succeed(true)
  },
  onRetry: (event) => {
    is<Timeout | Unavailable | Cause.TimeoutError>()(event.error)
    return Effect.void
  }
})
// Data-last they know nothing, unless they are annotated.
charge.pipe(
  Retry.run(tagged, {
    when: (error) => {
      is<unknown>()(error)
      return Effect.succeed(true)
    },
    onRetry: (event) => {
      is<unknown>()(event.error)
      return Effect.void
    }
  })
)
is<Asked>()(charge.pipe(Retry.run(tagged, { when: (error: Everything) => Effect.succeed(error._tag === "Timeout") })))
const ask = (error: Timeout | Unavailable) => Effect.succeed(error._tag === "Timeout")
is<Asked>()(Retry.run(charge, tagged, { when: ask }))
is<Asked>()(Retry.runKeyed(tagged, () => charge, { when: ask }))
// Data-last too, a function reads what is retried.
is<Asked>()(charge.pipe(Retry.run(tagged, { when: ask })))
is<Asked>()(Retry.make({ name: "charge", policy: tagged, idempotency: "idempotent", when: ask })(charge))
is<Charged>()(
  charge.pipe(
    Retry.run(tagged, { onRetry: (event: Retry.RetryEvent<Everything | Cause.TimeoutError>) => Effect.log(event) })
  )
)
// @ts-expect-error -- `when` cannot read Unavailable, which is retried
charge.pipe(Retry.run(tagged, { when: (error: Timeout) => Effect.succeed(error.after > 5) }))
// @ts-expect-error -- `when` cannot read Unavailable, which is retried
Retry.run(charge, tagged, { when: (error: Timeout) => Effect.succeed(error.after > 5) })
// @ts-expect-error -- `when` says yes or no
Retry.run(charge, tagged, { when: () => Effect.succeed("yes") })
// @ts-expect-error -- `when` does not fail
Retry.run(charge, tagged, { when: () => Effect.fail("no answer") })
// @ts-expect-error -- `onRetry` does not fail
charge.pipe(Retry.run(tagged, { onRetry: () => Effect.fail("not told") }))

// Their services are needed.
is<Effect.Effect<string, CardDeclined | Exhausted<Timeout | Unavailable>, Database | Log>>()(
  charge.pipe(Retry.run(tagged, { onRetry: () => Effect.map(Log, ({ add }) => add("")) }))
)
is<Effect.Effect<string, CardDeclined | Exhausted<Timeout | Unavailable>, Database | Log>>()(
  Retry.run(charge, tagged, { onRetry: () => Effect.map(Log, ({ add }) => add("")) })
)
is<Effect.Effect<string, Everything | Exhausted<Timeout | Unavailable>, Database | Log | Flags>>()(
  Retry.run(charge, tagged, {
    when: () => Effect.map(Flags, ({ on }) => on),
    onRetry: () => Effect.map(Log, ({ add }) => add(""))
  })
)
is<Effect.Effect<string, Everything | Exhausted<Timeout | Unavailable>, Database | Log | Flags>>()(
  charge.pipe(Retry.run(tagged, {
    when: () => Effect.map(Flags, ({ on }) => on),
    onRetry: () => Effect.map(Log, ({ add }) => add(""))
  }))
)
// One that always throws needs nothing.
const throws = () => {
  throw new Error("told too much")
}
is<Charged>()(Retry.run(charge, tagged, { onRetry: throws }))
is<Charged>()(charge.pipe(Retry.run(tagged, { onRetry: throws })))

// Options that are typed by their interface can be passed on.
declare const options: Retry.Options<Everything, Log>
is<Effect.Effect<string, Everything | Exhausted<Timeout | Unavailable | Cause.TimeoutError>, Database | Log>>()(
  Retry.run(charge, tagged, options)
)
declare const anyOptions: Retry.Options<unknown, never>
is<Effect.Effect<string, Everything | Exhausted<Timeout | Unavailable | Cause.TimeoutError>, Database>>()(
  charge.pipe(Retry.run(tagged, anyOptions))
)

// @ts-expect-error -- no such option
Retry.run(charge, tagged, { attempts: 5 })
// @ts-expect-error -- no such option
charge.pipe(Retry.run(tagged, { timeout: "1 second" }))
// @ts-expect-error -- a plain schedule has no spec
charge.pipe(Retry.run(Effect.void))

// A policy that reads a narrower error than the effect has does not fit.
// @ts-expect-error -- it cannot read CardDeclined
charge.pipe(Retry.run(readsTimeout))
// @ts-expect-error -- it cannot read CardDeclined
Retry.run(charge, readsTimeout)
// @ts-expect-error -- it cannot read CardDeclined
charge.pipe(Retry.run(readsTimeout, { name: "charge" }))
// @ts-expect-error -- it cannot read CardDeclined
Retry.run(charge, readsTimeout, { name: "charge" })
// @ts-expect-error -- it cannot read CardDeclined
Retry.runKeyed(readsTimeout, () => charge)
// @ts-expect-error -- it cannot read CardDeclined
Retry.make({ name: "charge", policy: readsTimeout, idempotency: "idempotent" })(charge)

// runKeyed.
is<Charged>()(Retry.runKeyed(tagged, (key) => {
  is<IdempotencyKey.IdempotencyKey>()(key)
  return charge
}))
declare const key: IdempotencyKey.IdempotencyKey
is<Charged>()(Retry.runKeyed(tagged, () => charge, { key }))
is<Charged>()(Retry.runKeyed(tagged, () => charge, { key: undefined }))
is<Timed>()(Retry.runKeyed(tagged, () => charge, { attemptTimeout: 5 }))
is<Asked>()(Retry.runKeyed(tagged, () => charge, { when: (error) => Effect.succeed(error._tag === "Timeout") }))
is<Effect.Effect<string, CardDeclined | Exhausted<Timeout | Unavailable>, Database | Log>>()(
  Retry.runKeyed(tagged, () => charge, { key, onRetry: () => Effect.map(Log, ({ add }) => add("")) })
)
// @ts-expect-error -- not every text is a key
Retry.runKeyed(tagged, () => charge, { key: "order-1017" })

// make.
const plain = { name: "charge", policy: tagged } as const
is<Charged>()(Retry.make({ ...plain, idempotency: "idempotent" })(charge))
is<Charged>()(Retry.make({ ...plain, idempotency: "keyed" })(charge))
is<Charged>()(
  Retry.make({ ...plain, idempotency: "keyed" })((key) => {
    is<IdempotencyKey.IdempotencyKey>()(key)
    return charge
  })
)
is<Charged>()(charge.pipe(Retry.make({ ...plain, idempotency: "transactional" })))
is<Timed>()(Retry.make({ ...plain, idempotency: "idempotent", attemptTimeout: 5 })(charge))
is<Asked>()(Retry.make({ ...plain, idempotency: "idempotent", when: () => Effect.succeed(true) })(charge))
is<Effect.Effect<string, CardDeclined | Exhausted<Timeout | Unavailable>, Database | Log>>()(
  Retry.make({ ...plain, idempotency: "idempotent", onRetry: () => Effect.map(Log, ({ add }) => add("")) })(charge)
)
// What must not run twice may leave any of its errors as they are, its timeouts too.
is<Asked>()(Retry.make({ ...plain, idempotency: "none" })(charge))
is<
  Effect.Effect<
    string,
    Everything | Cause.TimeoutError | Exhausted<Timeout | Unavailable | Cause.TimeoutError>,
    Database
  >
>()(Retry.make({ ...plain, idempotency: "none", attemptTimeout: 5 })(charge))
is<Charged>()(Retry.make({ ...plain, idempotency: "keyed" })(charge, { key }))
// @ts-expect-error -- only a keyed retry takes a key
Retry.make({ ...plain, idempotency: "idempotent" })(charge, { key })
declare const idempotency: Retry.Idempotency
is<Asked>()(Retry.make({ ...plain, idempotency })(charge))
// @ts-expect-error -- only a keyed retry takes a function of the key
Retry.make({ ...plain, idempotency: "idempotent" })(() => charge)
// @ts-expect-error -- a configuration says why it is safe
Retry.make({ name: "charge", policy: tagged })
// @ts-expect-error -- a configuration has a name
Retry.make({ policy: tagged, idempotency: "none" })
// @ts-expect-error -- no such kind
Retry.make({ ...plain, idempotency: "sure" })
// @ts-expect-error -- `when` cannot read Unavailable, which is retried
Retry.make({ ...plain, idempotency: "idempotent", when: (error: Timeout) => Effect.succeed(error.after > 5) })(charge)

// RetryExhausted.
declare const exhausted: Exhausted<Timeout>
is<Timeout>()(exhausted.lastError)
is<Cause.Cause<Timeout>>()(exhausted.lastCause)
is<ReadonlyArray<RetryExhausted.Failed<Timeout>>>()(exhausted.history)
export const wider: Exhausted<Timeout | Unavailable> = exhausted
// @ts-expect-error -- it may be exhausted on another error
export const smaller: Exhausted<Throttled> = exhausted
