// What the types of policies say. Nothing here runs: `tsc -b` checks it.
// Effects stand here for their types alone, and some are wrong on purpose.
// @effect-diagnostics floatingEffect:off missingEffectError:off missingEffectContext:off
import { Policy } from "@reprise/core"
import * as Data from "effect/Data"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as HttpClient from "effect/http/HttpClient"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import { is } from "./Equal.ts"

class Timeout extends Data.TaggedError("Timeout")<{ readonly after: number }> {}
class Unavailable extends Data.TaggedError("Unavailable")<{}> {}
class CardDeclined extends Data.TaggedError("CardDeclined")<{ readonly code: string }> {}
class Throttled extends Timeout {
  readonly throttled = true
}

declare const any: Policy.Any
declare const charge: Effect.Effect<string, Timeout | CardDeclined>
declare const isTimeout: (error: unknown) => error is Timeout
declare const isTimeoutOfTwo: (error: Timeout | CardDeclined) => error is Timeout
declare const isThrottled: (error: Timeout) => error is Throttled
declare const isSlow: (error: Timeout) => boolean
declare const anyone: (error: unknown) => boolean

// Constructors read anything and retry everything.
is<Policy.Policy<unknown, unknown, unknown>>()(Policy.exponential(1))
is<Policy.Policy<unknown, unknown, unknown>>()(Policy.linear(1))
is<Policy.Policy<unknown, unknown, unknown>>()(Policy.fibonacci(1))
is<Policy.Policy<unknown, unknown, unknown>>()(Policy.constant(1))
is<Policy.Policy<unknown, unknown, unknown>>()(Policy.decorrelated({ base: 1, cap: 2 }))
is<Policy.Policy<unknown, unknown, unknown>>()(Policy.delays([1]))
is<Policy.Policy<unknown, unknown, unknown>>()(Policy.immediate(1))
is<Policy.Policy<unknown, unknown, unknown>>()(Policy.standard)
// `none` retries nothing.
is<Policy.Policy<unknown, never, never>>()(Policy.none)
// The parameters' defaults claim the least.
is<Policy.Policy<unknown, unknown, never>>()(Policy.standard as Policy.Policy)

// Combinators that do not classify keep all three, data-first and data-last.
const narrowed = Policy.standard.pipe(Policy.whileInput(isTimeoutOfTwo))
type Narrowed = Policy.Policy<Timeout | CardDeclined, Timeout, Timeout>
is<Narrowed>()(narrowed)
is<Narrowed>()(narrowed.pipe(Policy.jittered))
is<Narrowed>()(Policy.jittered(narrowed))
is<Narrowed>()(narrowed.pipe(Policy.jitteredWith("equal")))
is<Narrowed>()(Policy.jitteredWith(narrowed, { min: 0, max: 1 }))
is<Narrowed>()(narrowed.pipe(Policy.capped(1)))
is<Narrowed>()(Policy.capped(narrowed, 1))
is<Narrowed>()(narrowed.pipe(Policy.attempts(1)))
is<Narrowed>()(Policy.attempts(narrowed, 1))
is<Narrowed>()(narrowed.pipe(Policy.recurs(1)))
is<Narrowed>()(Policy.recurs(narrowed, 1))
is<Narrowed>()(narrowed.pipe(Policy.within(1)))
is<Narrowed>()(Policy.within(narrowed, 1))
is<Narrowed>()(narrowed.pipe(Policy.honoringRetryAfter()))
is<Narrowed>()(narrowed.pipe(Policy.honoringRetryAfter({ max: 1 })))
is<Narrowed>()(Policy.honoringRetryAfter(narrowed))
is<Narrowed>()(Policy.honoringRetryAfter(narrowed, { max: 1 }))
is<Narrowed>()(narrowed.pipe(Policy.unlimited))
is<Narrowed>()(Policy.unlimited(narrowed))
is<Policy.Any>()(Policy.attempts(any, 1))
is<Policy.Any>()(Policy.honoringRetryAfter(any))

// A refinement: Retried `T & R`, Handled `H & R`, Input `I & Read`.
is<Policy.Policy<unknown, Timeout, Timeout>>()(Policy.standard.pipe(Policy.whileInput(isTimeout)))
is<Policy.Policy<unknown, Timeout, Timeout>>()(Policy.standard.pipe(Policy.whileInput(isTimeout, "isTimeout")))
is<Policy.Policy<unknown, Timeout, Timeout>>()(Policy.whileInput(Policy.standard, isTimeout))
is<Policy.Policy<unknown, Timeout, Timeout>>()(Policy.whileInput(Policy.standard, isTimeout, "isTimeout"))
is<Policy.Policy<Timeout, Throttled, Throttled>>()(Policy.standard.pipe(Policy.whileInput(isThrottled)))
is<Policy.Policy<(Timeout | CardDeclined) & Timeout, Timeout & Throttled, Timeout & Throttled>>()(
  narrowed.pipe(Policy.whileInput(isThrottled))
)
is<Policy.Policy<Timeout | CardDeclined, Timeout, Timeout>>()(
  Policy.standard.pipe(Policy.whileInput((error: Timeout | CardDeclined) => error._tag === "Timeout"))
)

// A boolean predicate: Retried `T`, Handled `never`.
is<Policy.Policy<Timeout, unknown, never>>()(Policy.standard.pipe(Policy.whileInput(isSlow)))
is<Policy.Policy<Timeout, unknown, never>>()(Policy.whileInput(Policy.standard, isSlow))
is<Policy.Policy<unknown, unknown, never>>()(Policy.standard.pipe(Policy.whileInput(anyone)))
is<Policy.Policy<unknown, Timeout, never>>()(
  Policy.standard.pipe(Policy.whileInput(isTimeout), Policy.whileInput(anyone))
)
// So does `untilInput`, also with a refinement.
is<Policy.Policy<Timeout, unknown, never>>()(Policy.standard.pipe(Policy.untilInput(isSlow)))
is<Policy.Policy<Timeout, unknown, never>>()(Policy.untilInput(Policy.standard, isSlow))
is<Policy.Policy<unknown, unknown, never>>()(Policy.standard.pipe(Policy.untilInput(isTimeout)))

// `whileTag` leaves Input as it is.
type TimeoutTag = { readonly _tag: "Timeout" }
is<Policy.Policy<unknown, TimeoutTag, TimeoutTag>>()(Policy.standard.pipe(Policy.whileTag("Timeout")))
is<
  Policy.Policy<unknown, { readonly _tag: "Timeout" | "Unavailable" }, { readonly _tag: "Timeout" | "Unavailable" }>
>()(
  Policy.standard.pipe(Policy.whileTag("Timeout", "Unavailable"))
)
is<Policy.Policy<Timeout | CardDeclined, Timeout & TimeoutTag, Timeout & TimeoutTag>>()(
  narrowed.pipe(Policy.whileTag("Timeout"))
)
is<Policy.Policy<unknown, never, never>>()(Policy.none.pipe(Policy.whileTag("Timeout")))
// @ts-expect-error -- no tag at all retries nothing, and is a slip
Policy.whileTag()
// @ts-expect-error -- a tag is a text
Policy.whileTag(5)

// `concat` and `min`: unions of Retried and of Handled; Input by intersecting.
declare const readsTimeout: Policy.Policy<Timeout, Timeout, Timeout>
declare const readsDeclined: Policy.Policy<CardDeclined, CardDeclined, CardDeclined>
declare const readsBoth: Policy.Policy<Timeout | CardDeclined, Timeout, Timeout>
const onlyTimeout = Policy.standard.pipe(Policy.whileInput(isTimeout))
const onlyUnavailable = Policy.standard.pipe(
  Policy.whileInput((e: unknown): e is Unavailable => e instanceof Unavailable)
)
type Either = Policy.Policy<unknown, Timeout | Unavailable, Timeout | Unavailable>
is<Either>()(Policy.concat(onlyTimeout, onlyUnavailable))
is<Either>()(onlyTimeout.pipe(Policy.concat(onlyUnavailable)))
is<Either>()(Policy.min([onlyTimeout, onlyUnavailable]))
is<Policy.Policy<unknown, Timeout, Timeout>>()(Policy.concat(Policy.none, onlyTimeout))
is<Policy.Policy<unknown, Timeout, Timeout>>()(Policy.concat(onlyTimeout, Policy.none))
is<Policy.Policy<unknown, unknown, unknown>>()(Policy.concat(onlyTimeout, Policy.standard))
is<Policy.Policy<unknown, Timeout, Timeout>>()(Policy.min([onlyTimeout]))
is<Policy.Policy<Timeout & CardDeclined, Timeout | CardDeclined, Timeout | CardDeclined>>()(
  Policy.concat(readsTimeout, readsDeclined)
)
is<Policy.Policy<Timeout & CardDeclined, Timeout | CardDeclined, Timeout | CardDeclined>>()(
  Policy.min([readsTimeout, readsDeclined])
)
is<Policy.Policy<Timeout, Timeout, Timeout>>()(Policy.min([readsTimeout, readsBoth]))
is<Policy.Policy<Timeout, Timeout, Timeout>>()(Policy.min([readsTimeout, onlyTimeout]))

// `max`: intersections.
is<Policy.Policy<unknown, Timeout, Timeout>>()(Policy.max([onlyTimeout, Policy.standard]))
is<Policy.Policy<unknown, Timeout & Unavailable, Timeout & Unavailable>>()(Policy.max([onlyTimeout, onlyUnavailable]))
is<Policy.Policy<unknown, never, never>>()(Policy.max([Policy.standard, Policy.none]))
is<Policy.Policy<Timeout & CardDeclined, Timeout & CardDeclined, Timeout & CardDeclined>>()(
  Policy.max([readsTimeout, readsDeclined])
)
is<Policy.Policy<unknown, Timeout, never>>()(
  Policy.max([onlyTimeout, Policy.standard.pipe(Policy.whileInput(anyone))])
)
// @ts-expect-error -- an empty list is no policy
Policy.max([])
// @ts-expect-error -- an empty list is no policy
Policy.min([])
// @ts-expect-error -- a schedule without a spec is no policy
Policy.max([Schedule.forever])
// @ts-expect-error -- a schedule without a spec is no policy
Policy.concat(Policy.standard, Schedule.forever)

// `byInput`: union of Retried, intersection of Handled; the predicates are read too.
is<Policy.Policy<unknown, Timeout | Unavailable, Timeout & Unavailable>>()(
  Policy.byInput([["slow", anyone, onlyTimeout]], onlyUnavailable)
)
is<Policy.Policy<unknown, unknown, unknown>>()(Policy.byInput([["slow", anyone, Policy.standard]], Policy.standard))
is<Policy.Policy<unknown, unknown, Timeout>>()(Policy.byInput([["slow", anyone, Policy.standard]], onlyTimeout))
is<Policy.Policy<Timeout, unknown, unknown>>()(Policy.byInput([["slow", isSlow, Policy.standard]], Policy.standard))
is<Policy.Policy<unknown, unknown, never>>()(Policy.byInput([["slow", anyone, Policy.none]], Policy.standard))
is<Policy.Policy<Timeout & CardDeclined, Timeout | CardDeclined, Timeout & CardDeclined>>()(
  Policy.byInput([["slow", anyone, readsTimeout]], readsDeclined)
)
is<Policy.Policy<Timeout, unknown, unknown>>()(
  Policy.byInput([["slow", isSlow, Policy.standard], ["any", anyone, Policy.standard]], Policy.standard)
)
// A predicate written in place, without a type, reads anything.
Effect.retry(charge, Policy.byInput([["slow", (error) => error === 5, Policy.standard]], Policy.standard))
// @ts-expect-error -- an empty list is no policy
Policy.byInput([], Policy.standard)

// Extractors.
type Inputs = [Policy.Input<typeof narrowed>, Policy.Retried<typeof narrowed>, Policy.Handled<typeof narrowed>]
is<[Timeout | CardDeclined, Timeout, Timeout]>()(null! as Inputs)
is<[unknown, never, never]>()(
  null! as [Policy.Input<typeof Policy.none>, Policy.Retried<typeof Policy.none>, Policy.Handled<typeof Policy.none>]
)
is<[never, unknown, never]>()(
  null! as [Policy.Input<Policy.Any>, Policy.Retried<Policy.Any>, Policy.Handled<Policy.Any>]
)

// Variance.
declare const precise: Policy.Policy<unknown, Timeout, Timeout>
export const asAny: Policy.Any = precise
export const asPlain: Policy.Policy = precise
export const asWider: Policy.Policy<unknown, unknown, never> = precise
export const asUnion: Policy.Policy<Timeout, Timeout | Unavailable, Throttled> = precise
declare const plain: Policy.Policy
// @ts-expect-error -- it may retry more than timeouts
export const retriedGrows: Policy.Policy<unknown, Timeout, never> = plain
// @ts-expect-error -- it may leave timeouts as they are
export const handledGrows: Policy.Policy<unknown, unknown, Timeout> = plain
// @ts-expect-error -- it reads timeouts alone
export const inputGrows: Policy.Policy<unknown, Timeout, Timeout> = readsTimeout
// @ts-expect-error -- any policy is no certain one
export const anyIsPlain: Policy.Policy = any
export const everyOne: ReadonlyArray<Policy.Any> = [Policy.none, Policy.standard, narrowed, readsTimeout, any]

// A policy is a schedule, and goes where one goes.
export const schedule: Schedule.Schedule<Duration.Duration> = Policy.standard
export const reading: Schedule.Schedule<Duration.Duration, Timeout> = readsTimeout
is<Effect.Effect<string, Timeout | CardDeclined>>()(Effect.retry(charge, narrowed))
is<Effect.Effect<string, Timeout | CardDeclined>>()(charge.pipe(Effect.retry(narrowed)))
is<Effect.Effect<string, Timeout | CardDeclined>>()(Effect.retry(charge, { schedule: narrowed }))
is<Effect.Effect<string | number>>()(
  Effect.retryOrElse(charge, narrowed, (error, wait) => {
    is<[Timeout | CardDeclined, Duration.Duration]>()(null! as [typeof error, typeof wait])
    return Effect.succeed(1)
  })
)
is<Stream.Stream<string, Timeout | CardDeclined>>()(Stream.fromEffect(charge).pipe(Stream.retry(narrowed)))
declare const client: HttpClient.HttpClient
export const retrying: HttpClient.HttpClient = client.pipe(HttpClient.retry(Policy.standard))
export const withMax: Schedule.Schedule<unknown, Timeout> = Schedule.max([readsTimeout, Schedule.forever])
export const upTo: Schedule.Schedule<Duration.Duration, Timeout> = Schedule.upTo(readsTimeout, { times: 5 })
export const later: Schedule.Schedule<Duration.Duration, Timeout> = Schedule.jittered(readsTimeout)
export const both: Schedule.Schedule<Duration.Duration | number, Timeout> = Schedule.concat(
  readsTimeout,
  Schedule.spaced(1)
)
// @ts-expect-error -- Effect's combinators give a schedule, which has no spec
export const lost: Policy.Any = Schedule.jittered(Policy.standard)

// A policy that reads a narrower error than the effect has does not fit, in any form.
// @ts-expect-error -- it cannot read CardDeclined
Effect.retry(charge, readsTimeout)
// @ts-expect-error -- it cannot read CardDeclined
charge.pipe(Effect.retry(readsTimeout))
// @ts-expect-error -- it cannot read CardDeclined
Effect.retry(charge, { schedule: readsTimeout })
// @ts-expect-error -- it cannot read CardDeclined
Stream.fromEffect(charge).pipe(Stream.retry(readsTimeout))
