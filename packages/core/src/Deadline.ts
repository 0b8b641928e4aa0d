/**
 * The instant by which the caller wants an answer.
 *
 * A deadline is absolute, so it holds across everything that is called inside, forks included, where a timeout would
 * start anew in each. Runs of `Retry` inside give up with reason `Deadline` rather than wait past it, and shorten their
 * attempt timeouts to what is left. It interrupts nothing by itself: give attempts an `attemptTimeout`, or add
 * `Effect.timeout` around the whole.
 *
 * ```ts
 * import { Deadline, Policy, Retry, RetryExhausted } from "@reprise/core"
 * import { Effect } from "effect"
 *
 * const program = Effect.fail("unavailable").pipe(
 *   Retry.run(Policy.constant("1 second").pipe(Policy.attempts(5))),
 *   Deadline.within("500 millis"),
 *   Effect.catchIf(RetryExhausted.is, (error) => Effect.succeed(`${error.reason._tag} after ${error.attempts} attempt`))
 * )
 *
 * console.log(await Effect.runPromise(program)) // => Deadline after 1 attempt
 * ```
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import * as Option from "effect/Option"
import { Ambient, update } from "./internal/ambient.ts"
import * as grpcTimeout from "./internal/grpcTimeout.ts"
import * as validate from "./internal/validate.ts"

const nanosPerMilli = 1e6
const furthest = Number.MAX_SAFE_INTEGER

const shorten = <A, E, R>(self: Effect.Effect<A, E, R>, millis: number): Effect.Effect<A, E, R> =>
  update(self, (ambient, clock) => {
    // Further than a clock counts is no nearer.
    const deadline = clock.monotonicTimeNanosUnsafe() + BigInt(Math.round(Math.min(millis, furthest) * nanosPerMilli))
    return ambient.deadline !== undefined && ambient.deadline <= deadline ? ambient : { ...ambient, deadline }
  })

/**
 * Sets a deadline for everything inside, counted from when the effect starts. Use it where a request comes in, once, and
 * let each layer below read what is left.
 *
 * Of nested deadlines the nearer one holds: one inside can only shorten. What is forked inside has it too, for as long as
 * it lives; see `RetryLayers.detached`. Finite, at least 0 ms.
 *
 * @throws `InvalidPolicy` for a duration that is none
 * @category combinators
 */
export const within: {
  (duration: Duration.Input): <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  <A, E, R>(self: Effect.Effect<A, E, R>, duration: Duration.Input): Effect.Effect<A, E, R>
} = /* @__PURE__ */ dual(
  2,
  <A, E, R>(self: Effect.Effect<A, E, R>, duration: Duration.Input): Effect.Effect<A, E, R> =>
    shorten(self, validate.duration("Deadline.within", duration, 0))
)

/**
 * What is left until the deadline, never negative; none where there is no deadline.
 *
 * @category reading
 */
export const remaining: Effect.Effect<Option.Option<Duration.Duration>> = /* @__PURE__ */ Effect.withFiber((fiber) => {
  const { deadline } = fiber.getRef(Ambient)
  if (deadline === undefined) return Effect.succeedNone
  const left = deadline - fiber.getRef(Clock.Clock).monotonicTimeNanosUnsafe()
  return Effect.succeedSome(Duration.nanos(left < 0n ? 0n : left))
})

/**
 * What is left as the value of a `grpc-timeout` header (also sent over HTTP): at most 8 digits and a unit, cut and never
 * rounded up, so that the next process does not believe that it has longer. None where there is no deadline.
 *
 * Source: gRPC over HTTP/2, "Timeout".
 *
 * ```ts
 * import { Deadline } from "@reprise/core"
 * import { Effect, Option } from "effect"
 * import { TestClock } from "effect/testing"
 *
 * const header = Deadline.toHeader.pipe(Deadline.within("1500 millis"), Effect.provide(TestClock.layer()))
 *
 * console.log(Option.getOrNull(await Effect.runPromise(header))) // => 1500000u
 * ```
 *
 * @category headers
 */
export const toHeader: Effect.Effect<Option.Option<string>> = /* @__PURE__ */ Effect.map(
  remaining,
  Option.map((left) => grpcTimeout.format(Duration.toNanosUnsafe(left)))
)

/**
 * Sets the deadline that came with a request as a `grpc-timeout` header. It is not trusted: it can only shorten a
 * deadline that is there already, and a value that is not of the header's grammar, or absent, changes nothing. Put a
 * {@link within} of your own around it, so that no caller can make the server work for it for ever.
 *
 * @category headers
 */
export const fromHeader: {
  (header: string | undefined): <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  <A, E, R>(self: Effect.Effect<A, E, R>, header: string | undefined): Effect.Effect<A, E, R>
} = /* @__PURE__ */ dual(
  2,
  <A, E, R>(self: Effect.Effect<A, E, R>, header: string | undefined): Effect.Effect<A, E, R> =>
    Option.match(parseHeader(header), {
      onNone: () => self,
      onSome: (left) => shorten(self, Duration.toMillis(left))
    })
)

/**
 * Reads the value of a `grpc-timeout` header: 1 to 8 digits and one of `H`, `M`, `S`, `m`, `u`, `n`; none for anything
 * else.
 *
 * ```ts
 * import { Deadline } from "@reprise/core"
 * import { Duration, Option } from "effect"
 *
 * console.log(Option.getOrNull(Option.map(Deadline.parseHeader("1500m"), Duration.toMillis))) // => 1500
 * console.log(Option.getOrNull(Deadline.parseHeader("1.5S"))) // => null
 * ```
 *
 * @category headers
 */
export const parseHeader = (header: string | undefined): Option.Option<Duration.Duration> =>
  Option.map(Option.fromUndefinedOr(header === undefined ? undefined : grpcTimeout.parse(header)), Duration.nanos)
