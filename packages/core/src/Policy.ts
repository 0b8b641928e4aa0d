/**
 * Retry policies as values.
 *
 * A policy says after how long, how often and for which errors an operation is tried again. It is an Effect
 * `Schedule`, so it goes wherever one goes, and it carries a readable {@link Spec.Spec}, so it can be printed and
 * compared. It holds no state of a run: any number of fibres may share one.
 *
 * ```ts
 * import { Policy } from "@reprise/core"
 *
 * const policy = Policy.exponential("500 millis").pipe(
 *   Policy.capped("30 seconds"),
 *   Policy.jittered,
 *   Policy.attempts(5),
 *   Policy.whileTag("Timeout", "Unavailable")
 * )
 *
 * console.log(Policy.format(policy))
 * // => exponential(500ms) | cap(30s) | jitter | attempts(5) | whileTag(Timeout, Unavailable)
 * ```
 */
import type { NonEmptyReadonlyArray } from "effect/Array"
import type * as Duration from "effect/Duration"
import { dual } from "effect/Function"
import * as Result from "effect/Result"
import type * as Schedule from "effect/Schedule"
import type * as Schema from "effect/Schema"
import type { Contravariant, Covariant } from "effect/Types"
import { InvalidPolicy } from "./InvalidPolicy.ts"
import { fromString as policyFromString } from "./internal/notation/fromString.ts"
import { type Builders, parse as parsePolicy } from "./internal/notation/parse.ts"
import { InvalidNotation } from "./InvalidNotation.ts"
import { describe as describeSpec } from "./internal/notation/describe.ts"
import { format as formatSpec } from "./internal/notation/format.ts"
import { enforce } from "./internal/plan/fits.ts"
import * as internal from "./internal/policy.ts"
import * as validate from "./internal/validate.ts"
import type * as Plan from "./Plan.ts"
import * as Spec from "./Spec.ts"
import type * as Stepper from "./Stepper.ts"

/**
 * The key that marks a policy.
 *
 * @category models
 */
export type TypeId = "~@reprise/core/Policy"

/**
 * The key that marks a policy.
 *
 * @category models
 */
export const TypeId: TypeId = internal.TypeId

/**
 * A retry policy: a `Schedule` of waits that carries its description.
 *
 * - `Input`: the errors that it can read
 * - `Retried`: at most these are retried
 * - `Handled`: at least these are never left as they are: they are retried until they are gone or the policy is
 *   exhausted
 *
 * "Any policy" is `Policy<never, unknown, never>`, called {@link Any}.
 *
 * @category models
 */
export interface Policy<in Input = unknown, out Retried = unknown, in Handled = never>
  extends Schedule.Schedule<Duration.Duration, Input>
{
  readonly [TypeId]: {
    readonly _Retried: Covariant<Retried>
    readonly _Handled: Contravariant<Handled>
  }
  readonly spec: Spec.Spec
}

/**
 * Any policy, whatever it reads and retries.
 *
 * @category models
 */
export type Any = Policy<never, unknown, never>

/**
 * A policy fresh from a constructor: reads anything, retries everything.
 *
 * @category models
 */
export type Unrestricted = Policy<unknown, unknown, unknown>

/**
 * The errors that a policy can read.
 *
 * @category type extractors
 */
export type Input<P> = P extends Schedule.Schedule<infer _Output, infer I, infer _Error, infer _Env> ? I : never

/**
 * The errors that a policy retries at most; of a union of policies, the union.
 *
 * @category type extractors
 */
export type Retried<P> = P extends { readonly [TypeId]: { readonly _Retried: Covariant<infer T> } } ? T : never

/**
 * The errors that a policy certainly does not leave as they are; of a union of policies, the union.
 *
 * @category type extractors
 */
export type Handled<P> = P extends { readonly [TypeId]: { readonly _Handled: Contravariant<infer H> } } ? H : never

// A function's parameter is what TypeScript infers as an intersection.
type InputOfAll<P> = (P extends unknown ? (_: Input<P>) => void : never) extends (_: infer I) => void ? I : never
type RetriedByAll<P> = (P extends unknown ? (_: Retried<P>) => void : never) extends (_: infer I) => void ? I : never
type HandledByAll<P> = (P extends unknown ? (_: Handled<P>) => void : never) extends (_: infer I) => void ? I : never

/**
 * Whether a value is a policy, also one made by another copy of this package.
 *
 * @category guards
 */
export const isPolicy = (u: unknown): u is Any => internal.isPolicy(u)

/**
 * The policy in the notation: one line, from the inside of the pipe to its outside. Use it in logs and messages.
 *
 * ```ts
 * import { Policy } from "@reprise/core"
 *
 * console.log(Policy.format(Policy.standard)) // => exponential(200ms) | cap(5s) | jitter | attempts(3)
 * ```
 *
 * @category reading
 */
export const format = (policy: Any): string => formatSpec(policy.spec)

/**
 * Reads a policy from its notation; {@link format} writes what this reads, and nothing is lost. A policy starts with
 * where its waits come from and goes on with what changes them:
 *
 * | starts with | is |
 * |---|---|
 * | `exponential(500ms)` `exponential(500ms, 1.5)` | {@link exponential}, with factor 2 or the one given |
 * | `linear(1s)` `linear(1s, 500ms)` `fibonacci(1s)` `constant(1s)` | by the same name |
 * | `polynomial(1s)` `polynomial(1s, 4)` `polynomial(1s, 4, start: 0, offset: 15s, spread: 10s)` | {@link polynomial} |
 * | `decorrelated(100ms, 10s)` `delays(1s, 2s, 5s)` `immediate(2)` `none` | by the same name |
 * | `concat(a; b)` `max(a; b)` `min(a; b)` | by the same name |
 * | `by(name: a; otherwise: b)` | {@link byInput} |
 *
 * | goes on with | is |
 * |---|---|
 * | `jitter` `jitter(equal)` `jitter(0.8, 1.2)` | {@link jittered}, {@link jitteredWith} |
 * | `cap(30s)` `retryAfter(60s)` | {@link capped}, {@link honoringRetryAfter} |
 * | `attempts(5)` `recurs(4)` `within(1m)` `unlimited` | by the same name |
 * | `while(name)` `until(name)` `whileTag(A, B)` | {@link whileInput}, {@link untilInput}, {@link whileTag} |
 *
 * Units are `ns us ms s m h d`, with decimals, and Effect's long forms (`500 millis`). A name that is more than
 * letters, digits, `_`, `.` and `-` stands in double quotes, as in JSON. Predicates are known by the names in
 * `predicates`. Any text is read in linear time.
 *
 * ```ts
 * import { Policy, Transience } from "@reprise/core"
 * import { Result } from "effect"
 *
 * const predicates = { transient: Transience.isTransient }
 * const policy = Policy.parse("exponential(500 millis) | attempts(5) | while(transient)", { predicates })
 * console.log(Result.isSuccess(policy) && Policy.format(policy.success))
 * // => exponential(500ms) | attempts(5) | while(transient)
 *
 * const wrong = Policy.parse("exponentail(500ms) | jitter")
 * console.log(Result.isFailure(wrong) && wrong.failure.suggestion) // => exponential
 * ```
 *
 * @category reading
 */
export const parse = <Input = unknown>(
  text: string,
  options?: { readonly predicates?: Readonly<Record<string, (input: Input) => boolean>> | undefined }
): Result.Result<Policy<Input>, InvalidNotation> =>
  // The predicates of the table read `Input`, and nothing else in the notation reads errors.
  Result.mapBoth(parsePolicy(text, options?.predicates ?? {}, builders()), {
    onSuccess: (policy) => policy as Policy<Input>,
    onFailure: (problem) => new InvalidNotation(text, problem)
  })

/**
 * A codec between a policy and its notation, for `Schema` structs and for `Config` (`Config.schema`). The predicates
 * are those of {@link parse}.
 *
 * ```ts
 * import { Policy } from "@reprise/core"
 * import { Config, ConfigProvider, Effect } from "effect"
 *
 * const setting = Config.schema(Policy.FromString(), "RETRY")
 * const provider = ConfigProvider.fromUnknown({ RETRY: "constant(1s) | attempts(3)" })
 * const policy = await Effect.runPromise(setting.parse(provider))
 * console.log(Policy.describe(policy)) // => Up to 3 attempts; waits of 1 s.
 * ```
 *
 * @category schemas
 */
export const FromString = <Input = unknown>(
  predicates?: Readonly<Record<string, (input: Input) => boolean>>
): Schema.Codec<Policy<Input>, string> => policyFromString((text) => parse(text, { predicates }))

/**
 * The policy as one English sentence that leaves nothing out. Use it where people read, in a runbook or a review.
 *
 * ```ts
 * import { Policy } from "@reprise/core"
 *
 * console.log(Policy.describe(Policy.standard))
 * // => Up to 3 attempts; waits grow from 200 ms, doubling, at most 5 s, each drawn uniformly from zero.
 * ```
 *
 * @category reading
 */
export const describe = (policy: Any): string => describeSpec(policy.spec)

/**
 * The stepper of a policy, compiled at the first use and kept. Use it to drive a policy by other means than
 * `Retry.run` and Effect's own retry functions.
 *
 * @category reading
 */
export const stepper = (policy: Any): Stepper.Stepper => internal.stepper(policy)

// ---------------------------------------------------------------------------------------------------------------------
// Constructors
// ---------------------------------------------------------------------------------------------------------------------

const constructed = (spec: Spec.Constructor): Unrestricted => internal.make(spec, [])

/**
 * Waits that grow by a factor: the delay before retry `n` (the first is 1) is `base * factor ** (n - 1)`.
 *
 * - `base`: finite, at least 1 ms
 * - `factor`: finite, at least 1; default 2
 *
 * Growth saturates and never overflows. It has no end of its own and no cap: add {@link attempts} and
 * {@link capped}, and {@link jittered} so that clients do not return together.
 *
 * @throws `InvalidPolicy`
 * @category constructors
 */
export const exponential = (base: Duration.Input, factor: number = 2): Unrestricted =>
  constructed({
    _tag: "Exponential",
    base: validate.duration("exponential.base", base, 1),
    factor: validate.number("exponential.factor", factor, 1)
  })

/**
 * Waits that grow by a fixed step: the delay before retry `n` (the first is 1) is `base + increment * (n - 1)`.
 *
 * - `base`: finite, at least 1 ms
 * - `increment`: finite, at least 0; default `base`
 *
 * @throws `InvalidPolicy`
 * @category constructors
 */
export const linear = (base: Duration.Input, increment: Duration.Input = base): Unrestricted =>
  constructed({
    _tag: "Linear",
    base: validate.duration("linear.base", base, 1),
    increment: validate.duration("linear.increment", increment, 0)
  })

/**
 * Waits that grow as the Fibonacci numbers: `base` times 1, 1, 2, 3, 5, … Slower than {@link exponential}.
 *
 * - `base`: finite, at least 1 ms
 *
 * @throws `InvalidPolicy`
 * @category constructors
 */
export const fibonacci = (base: Duration.Input): Unrestricted =>
  constructed({ _tag: "Fibonacci", base: validate.duration("fibonacci.base", base, 1) })

/**
 * Waits that grow as a power of the retry's number: the delay before retry `n` (the first is 1) is
 * `offset + base * (start + n - 1) ** exponent`. Use it for jobs that may wait for days: it is slow to start and slower
 * than {@link exponential} in the end.
 *
 * - `base`: finite, at least 1 ms
 * - `exponent`: finite, at least 0; default 2
 * - `start`: what the first retry counts as; integer, at least 0; default 1
 * - `offset`: finite, at least 0; default 0
 * - `spread`: a jitter of its own, a draw from `[0, spread * n)` on top of each wait; finite, at least 0; default 0
 *
 * ```ts
 * import { Policy } from "@reprise/core"
 *
 * // Sidekiq's count ** 4 + 15 + rand(10 * (count + 1)) seconds, where count is 0 at the first retry
 * const policy = Policy.polynomial("1 second", 4, { start: 0, offset: "15 seconds", spread: "10 seconds" })
 * console.log(Policy.format(policy)) // => polynomial(1s, 4, start: 0, offset: 15s, spread: 10s)
 * ```
 *
 * Growth saturates. It has no end of its own and no cap.
 *
 * @throws `InvalidPolicy`
 * @category constructors
 */
export const polynomial = (
  base: Duration.Input,
  exponent: number = 2,
  options: {
    readonly start?: number | undefined
    readonly offset?: Duration.Input | undefined
    readonly spread?: Duration.Input | undefined
  } = {}
): Unrestricted => {
  const { offset = 0, spread = 0, start = 1 } = validate.options("polynomial.options", options)
  return constructed({
    _tag: "Polynomial",
    base: validate.duration("polynomial.base", base, 1),
    exponent: validate.number("polynomial.exponent", exponent, 0),
    start: validate.integer("polynomial.start", start, 0),
    offset: validate.duration("polynomial.offset", offset, 0),
    spread: validate.duration("polynomial.spread", spread, 0)
  })
}

/**
 * The same wait before every retry. Use it where the other side asks for a fixed pace, and add {@link jittered}
 * where there is more than one client.
 *
 * - `delay`: finite, at least 1 ms
 *
 * @throws `InvalidPolicy`
 * @category constructors
 */
export const constant = (delay: Duration.Input): Unrestricted =>
  constructed({ _tag: "Constant", delay: validate.duration("constant.delay", delay, 1) })

/**
 * Decorrelated jitter: each wait is drawn from `[base, 3 * previous)` and at most `cap`, where the one before the
 * first is `base`. Its waits are jittered already. Source: M. Brooker, "Exponential Backoff and Jitter", AWS
 * Architecture Blog.
 *
 * - `base`: finite, at least 1 ms
 * - `cap`: finite, at least `base`
 *
 * @throws `InvalidPolicy`
 * @category constructors
 */
export const decorrelated = (options: {
  readonly base: Duration.Input
  readonly cap: Duration.Input
}): Unrestricted => {
  const { base: first, cap } = validate.options("decorrelated.options", options)
  const base = validate.duration("decorrelated.base", first, 1)
  return constructed({ _tag: "Decorrelated", base, cap: validate.duration("decorrelated.cap", cap, base) })
}

/**
 * These waits in this order, then the end: a list of `n` delays is `n` retries and `n + 1` attempts.
 *
 * - elements: finite, at least 0; at least one
 *
 * @throws `InvalidPolicy`
 * @category constructors
 */
export const delays = (list: ReadonlyArray<Duration.Input>): Unrestricted =>
  constructed({
    _tag: "Delays",
    delays: validate.nonEmpty("delays.list", list).map((delay, index) =>
      validate.duration(`delays.list[${index}]`, delay, 0)
    )
  })

/**
 * A number of retries without any wait, then the end. Use it before another policy, for failures that a fresh
 * connection cures: `Policy.concat(Policy.immediate(1), Policy.standard)`. A run still yields to other fibres between
 * two attempts.
 *
 * - `retries`: integer, at least 1; counts retries
 *
 * @throws `InvalidPolicy`
 * @category constructors
 */
export const immediate = (retries: number): Unrestricted =>
  constructed({ _tag: "Immediate", retries: validate.integer("immediate.retries", retries, 1) })

/**
 * No retry: one attempt, and its failure leaves unchanged. Use it to switch retries off where a policy is wanted. An
 * attempt that the run's own timeout ended has no failure of its own to leave, and ends as `RetryExhausted`.
 *
 * @category constructors
 */
export const none: Policy<unknown, never, never> = /* @__PURE__ */ internal.make({ _tag: "None" }, [])

// ---------------------------------------------------------------------------------------------------------------------
// Combinators
// ---------------------------------------------------------------------------------------------------------------------

/** Refuses, by the name of the argument, what is no policy. */
const policyOf = (argument: string, value: Any): Any => {
  if (isPolicy(value)) return value
  throw new InvalidPolicy({ argument, value, rule: "a Policy" })
}

const specsOf = (argument: string, policies: ReadonlyArray<Any>): ReadonlyArray<Spec.Spec> =>
  validate.nonEmpty(argument, policies).map((policy) => policyOf(argument, policy).spec)

/** A combinator is called as its spec, with a small letter. */
const combinatorOf = (spec: Spec.Combinator): string => `${spec._tag.charAt(0).toLowerCase()}${spec._tag.slice(1)}`

const combined = <P extends Any>(spec: Spec.Combinator, self: P): P => {
  policyOf(`${combinatorOf(spec)}.self`, self)
  const lasting = Spec.lastingDelay(spec)
  if (lasting < 1) {
    throw new InvalidPolicy({
      argument: `The waits of ${formatSpec(spec)}`,
      value: `${lasting} ms at most`,
      rule: "able to reach 1 ms, as it has no end (put attempts, recurs or within before it)"
    })
  }
  return internal.make(spec, [self])
}

/**
 * A combinator in both of its forms. What it takes is read where it is called, so that a bad argument throws there also
 * when the policy is still to come. `never` fits the overloads that stand before it.
 */
const combinator = <Args extends ReadonlyArray<unknown>, A>(
  read: (...args: Args) => A,
  build: (self: Any, argument: A) => Any
): never => {
  const both = (...args: ReadonlyArray<unknown>) => {
    const [first, ...rest] = args
    // The overloads have checked what stands beside the policy.
    if (isPolicy(first)) return build(first, read(...rest as unknown as Args))
    const argument = read(...args as Args)
    return (self: Any) => build(self, argument)
  }
  return both as never
}

const jitteredBetween = <P extends Any>(self: P, min: number, max: number): P =>
  combined({ _tag: "Jittered", self: policyOf("jittered.self", self).spec, min, max }, self)

/**
 * Full jitter: each wait `d` becomes a draw from `[0, d)`. Use it wherever more than one client may fail at once; of
 * the published kinds it spreads clients best. It halves the mean wait, so the operation is tried sooner than without.
 * Source: M. Brooker, "Exponential Backoff and Jitter", AWS Architecture Blog.
 *
 * @category combinators
 */
export const jittered = <I, T, H>(self: Policy<I, T, H>): Policy<I, T, H> => jitteredBetween(self, 0, 1)

/**
 * Jitter of a chosen kind: each wait `d` becomes a draw from `[d * min, d * max)`.
 *
 * - `"full"`: 0 to 1, as {@link jittered}
 * - `"equal"`: 0.5 to 1
 * - `{ min, max }`: `0 <= min <= max`, `max` finite and greater than 0
 *
 * A cap holds all the same: a factor above 1 does not lead past it.
 *
 * @throws `InvalidPolicy`
 * @category combinators
 */
export const jitteredWith: {
  (kind: Jitter): <I, T, H>(self: Policy<I, T, H>) => Policy<I, T, H>
  <I, T, H>(self: Policy<I, T, H>, kind: Jitter): Policy<I, T, H>
} = /* @__PURE__ */ combinator((kind: Jitter): { readonly min: number; readonly max: number } => {
  if (kind === "full") return { min: 0, max: 1 }
  if (kind === "equal") return { min: 0.5, max: 1 }
  if (typeof kind !== "object" || kind === null) {
    throw new InvalidPolicy({ argument: "jitteredWith.kind", value: kind, rule: `"full", "equal" or { min, max }` })
  }
  const min = validate.number("jitteredWith.min", kind.min, 0)
  const max = validate.number("jitteredWith.max", kind.max, min)
  if (max === 0) throw new InvalidPolicy({ argument: "jitteredWith.max", value: max, rule: "greater than 0" })
  return { min, max }
}, (self, { max, min }) => jitteredBetween(self, min, max))

/**
 * The kind of a jitter; see {@link jitteredWith}.
 *
 * @category models
 */
export type Jitter = "full" | "equal" | { readonly min: number; readonly max: number }

/**
 * No wait of the policy's own is longer than `max`. It caps before jitter wherever it stands in the pipe, so waits at
 * the cap still spread, and then holds against jitter. Hints of the failing system have their own limit: see
 * {@link honoringRetryAfter}.
 *
 * - `max`: finite, at least 1 ms
 *
 * @throws `InvalidPolicy`
 * @category combinators
 */
export const capped: {
  (max: Duration.Input): <I, T, H>(self: Policy<I, T, H>) => Policy<I, T, H>
  <I, T, H>(self: Policy<I, T, H>, max: Duration.Input): Policy<I, T, H>
} = /* @__PURE__ */ combinator(
  (max: Duration.Input) => validate.duration("capped.max", max, 1),
  (self, max) => combined({ _tag: "Capped", self: self.spec, max }, self)
)

/**
 * At most `n` executions of the operation, the first one included: `attempts(5)` is at most 4 retries. It reads the
 * number of the run's attempt wherever it stands, also inside {@link concat}; {@link recurs} counts its own.
 *
 * - `n`: integer, at least 1; counts attempts
 *
 * @throws `InvalidPolicy`
 * @category combinators
 */
export const attempts: {
  (n: number): <I, T, H>(self: Policy<I, T, H>) => Policy<I, T, H>
  <I, T, H>(self: Policy<I, T, H>, n: number): Policy<I, T, H>
} = /* @__PURE__ */ combinator(
  (n: number) => validate.integer("attempts.n", n, 1),
  (self, max) => combined({ _tag: "Attempts", self: self.spec, max }, self)
)

/**
 * At most `n` retries granted through this place of the policy. Inside {@link concat} it limits its own member, where
 * {@link attempts} limits the run; alone, `recurs(n)` is `attempts(n + 1)`.
 *
 * - `n`: integer, at least 0; counts retries
 *
 * @throws `InvalidPolicy`
 * @category combinators
 */
export const recurs: {
  (n: number): <I, T, H>(self: Policy<I, T, H>) => Policy<I, T, H>
  <I, T, H>(self: Policy<I, T, H>, n: number): Policy<I, T, H>
} = /* @__PURE__ */ combinator(
  (n: number) => validate.integer("recurs.n", n, 0),
  (self, retries) => combined({ _tag: "Recurs", self: self.spec, retries }, self)
)

/**
 * No retry starts later than `duration` after the start of attempt 1. The wait about to be slept counts: when it
 * would overshoot, the run gives up at once instead of sleeping in vain. A retry that would start at that very moment
 * is granted, and is too late where the clock has moved on when it wakes. Time is the monotonic clock's. It does not
 * end an attempt that is under way; that is what the `attemptTimeout` of `Retry.run` does.
 *
 * - `duration`: finite, at least 1 ms
 *
 * @throws `InvalidPolicy`
 * @category combinators
 */
export const within: {
  (duration: Duration.Input): <I, T, H>(self: Policy<I, T, H>) => Policy<I, T, H>
  <I, T, H>(self: Policy<I, T, H>, duration: Duration.Input): Policy<I, T, H>
} = /* @__PURE__ */ combinator(
  (duration: Duration.Input) => validate.duration("within.duration", duration, 1),
  (self, duration) => combined({ _tag: "Within", self: self.spec, duration }, self)
)

type Test = (input: never) => boolean

interface Named {
  readonly predicate: Test
  readonly name: string
}

const named = (argument: string, predicate: Test, name: string | undefined): Named => {
  if (typeof predicate !== "function") {
    throw new InvalidPolicy({ argument: `${argument}.predicate`, value: predicate, rule: "a function" })
  }
  const known = name ?? (predicate.name || "anonymous")
  if (typeof known === "string" && known.length > 0) return { predicate, name: known }
  throw new InvalidPolicy({ argument: `${argument}.name`, value: name, rule: "a text that is not empty" })
}

const classified = (self: Any, tag: "While" | "Until", { name, predicate }: Named): Any =>
  internal.make(
    { _tag: tag, self: policyOf(`${tag.toLowerCase()}Input.self`, self).spec, predicate: name },
    [self],
    [...internal.predicates(self), predicate]
  )

/**
 * Only errors that the predicate accepts are retried; any other is terminal and leaves the run unchanged. The
 * predicate must be pure. Its name stands for it in the notation and when policies are compared: give one, or pass a
 * named function.
 *
 * A refinement narrows what the policy retries, and then `Retry.run` removes that type from the error channel in
 * favour of `RetryExhausted`. A boolean predicate narrows nothing, so the error stays.
 *
 * - `name`: default the function's own name, or `anonymous`
 *
 * @throws `InvalidPolicy`
 * @category combinators
 */
export const whileInput: {
  <Read, Narrowed extends Read>(
    refinement: (input: Read) => input is Narrowed,
    name?: string
  ): <I, T, H>(self: Policy<I, T, H>) => Policy<I & Read, T & Narrowed, H & Narrowed>
  <Read>(
    predicate: (input: Read) => boolean,
    name?: string
  ): <I, T, H>(self: Policy<I, T, H>) => Policy<I & Read, T, never>
  <I, T, H, Read, Narrowed extends Read>(
    self: Policy<I, T, H>,
    refinement: (input: Read) => input is Narrowed,
    name?: string
  ): Policy<I & Read, T & Narrowed, H & Narrowed>
  <I, T, H, Read>(
    self: Policy<I, T, H>,
    predicate: (input: Read) => boolean,
    name?: string
  ): Policy<I & Read, T, never>
} = /* @__PURE__ */ combinator(
  (predicate: Test, name?: string) => named("whileInput", predicate, name),
  (self, test) => classified(self, "While", test)
)

/**
 * Errors that the predicate accepts are terminal; the others are retried. As {@link whileInput}, turned around. It
 * narrows nothing.
 *
 * @throws `InvalidPolicy`
 * @category combinators
 */
export const untilInput: {
  <Read>(
    predicate: (input: Read) => boolean,
    name?: string
  ): <I, T, H>(self: Policy<I, T, H>) => Policy<I & Read, T, never>
  <I, T, H, Read>(
    self: Policy<I, T, H>,
    predicate: (input: Read) => boolean,
    name?: string
  ): Policy<I & Read, T, never>
} = /* @__PURE__ */ combinator(
  (predicate: Test, name?: string) => named("untilInput", predicate, name),
  (self, test) => classified(self, "Until", test)
)

/**
 * Only errors with one of these `_tag`s are retried. Total: an error without a tag, or `undefined`, is simply not
 * retried.
 *
 * @throws `InvalidPolicy`
 * @category combinators
 */
export const whileTag = <const Tags extends NonEmptyReadonlyArray<string>>(
  ...tags: Tags
): <I, T, H>(
  self: Policy<I, T, H>
) => Policy<I, T & { readonly _tag: Tags[number] }, H & { readonly _tag: Tags[number] }> => {
  for (const tag of validate.nonEmpty("whileTag.tags", tags)) {
    if (typeof tag !== "string" || tag.length === 0) {
      throw new InvalidPolicy({ argument: "whileTag.tags", value: tag, rule: "texts that are not empty" })
    }
  }
  return (self) => internal.make({ _tag: "WhileTag", self: policyOf("whileTag.self", self).spec, tags }, [self])
}

/**
 * Waits for what the failing system asked for (a `Retry-After`, a pushback), carried by the error. The wait is the
 * hint, plus the policy's own delay, plus a spread drawn from `[0, min(5 s, hint / 10))`, so that clients given one
 * date do not return together; it is never shorter than the hint.
 *
 * The hint is the `retryAfter` of the error or of what it wraps: an Effect `Duration`, a date, or a number of
 * milliseconds (not of seconds, which the header counts in); the `Retry-After` header of a response that the error
 * carries; or what an error says of itself under `Transience.TypeId`.
 *
 * A hint past `max`, or past an elapsed limit, gives up at once and says when to come back. Zero and the past are no
 * wait; what cannot be read counts as absent; "do not retry" gives up. It governs the whole policy wherever it
 * stands; of several, the smallest `max` counts.
 *
 * - `max`: finite, at least 1 ms; default 60 seconds
 *
 * @throws `InvalidPolicy`
 * @category combinators
 */
export const honoringRetryAfter: {
  (options?: { readonly max?: Duration.Input | undefined }): <I, T, H>(self: Policy<I, T, H>) => Policy<I, T, H>
  <I, T, H>(self: Policy<I, T, H>, options?: { readonly max?: Duration.Input | undefined }): Policy<I, T, H>
} = /* @__PURE__ */ combinator(
  (options?: { readonly max?: Duration.Input | undefined }) =>
    validate.duration(
      "honoringRetryAfter.max",
      options === undefined
        ? "60 seconds"
        : validate.options("honoringRetryAfter.options", options).max ?? "60 seconds",
      1
    ),
  (self, max) => combined({ _tag: "HonoringRetryAfter", self: self.spec, max }, self)
)

/**
 * Says on purpose that the policy has no end, which `Retry.run` asks for. Use it for work that must go on as long as
 * the process lives, such as keeping a subscription.
 *
 * @category combinators
 */
export const unlimited = <I, T, H>(self: Policy<I, T, H>): Policy<I, T, H> =>
  combined({ _tag: "Unlimited", self: self.spec }, self)

/**
 * The same policy, if it keeps its contract in the worst case: every wait at its longest, every attempt at its
 * timeout. Use it at the end of the pipe, so that a service whose policy cannot meet its own deadline fails when it
 * starts. `Plan.fits` is the same check as a value.
 *
 * - `within`: the longest that a run may take in all; finite, at least 1 ms
 * - `attemptTimeout`: that of the run; finite, at least 1 ms; default: only waits are counted
 * - `hint`: the longest wait that failures ask for; default: the longest that the policy follows
 *
 * ```ts
 * import { Policy } from "@reprise/core"
 *
 * const policy = Policy.exponential("500 millis").pipe(Policy.jittered, Policy.attempts(4))
 * console.log(Policy.format(policy.pipe(Policy.contract({ within: "8 seconds", attemptTimeout: "1 second" }))))
 * // => exponential(500ms) | jitter | attempts(4)
 *
 * try {
 *   Policy.contract(policy, { within: "5 seconds", attemptTimeout: "1 second" })
 * } catch (error) {
 *   console.log(String(error))
 *   // => InvalidPolicy: The worst case of exponential(500ms) | jitter | attempts(4) must be at most 5 s (attempts(3) would fit, and so would cap(333ms)), got "7.5 s"
 * }
 * ```
 *
 * @throws `InvalidPolicy` when it does not fit
 * @category combinators
 */
export const contract: {
  (contract: Plan.Contract): <I, T, H>(self: Policy<I, T, H>) => Policy<I, T, H>
  <I, T, H>(self: Policy<I, T, H>, contract: Plan.Contract): Policy<I, T, H>
} = /* @__PURE__ */ combinator(
  (contract: Plan.Contract) => validate.options("contract.contract", contract),
  (self, contract) => {
    enforce(self, contract)
    return self
  }
)

// ---------------------------------------------------------------------------------------------------------------------
// Combinations
// ---------------------------------------------------------------------------------------------------------------------

/**
 * One policy after the other: the second begins when the first stops, whatever stopped it. `none` changes nothing on
 * either side.
 *
 * @category combinations
 */
export const concat: {
  <I2, T2, H2>(that: Policy<I2, T2, H2>): <I, T, H>(self: Policy<I, T, H>) => Policy<I & I2, T | T2, H | H2>
  <I, T, H, I2, T2, H2>(self: Policy<I, T, H>, that: Policy<I2, T2, H2>): Policy<I & I2, T | T2, H | H2>
} = /* @__PURE__ */ dual(
  2,
  (self: Any, that: Any): Any =>
    internal.make(
      { _tag: "Concat", members: [policyOf("concat.self", self).spec, policyOf("concat.that", that).spec] },
      [self, that]
    )
)

/**
 * "And": retries while every member does, after the longest of their waits.
 *
 * @throws `InvalidPolicy` for an empty list
 * @category combinations
 */
export const max = <const Policies extends NonEmptyReadonlyArray<Any>>(
  policies: Policies
): Policy<InputOfAll<Policies[number]>, RetriedByAll<Policies[number]>, HandledByAll<Policies[number]>> =>
  internal.make({ _tag: "Max", members: specsOf("max.policies", policies) }, policies)

/**
 * "Or": retries while any member does, after the shortest of their waits. A member that rejects one error is asked
 * again at the next; a member that reached a limit is out.
 *
 * @throws `InvalidPolicy` for an empty list
 * @category combinations
 */
export const min = <const Policies extends NonEmptyReadonlyArray<Any>>(
  policies: Policies
): Policy<InputOfAll<Policies[number]>, Retried<Policies[number]>, Handled<Policies[number]>> =>
  internal.make({ _tag: "Min", members: specsOf("min.policies", policies) }, policies)

/**
 * A kind of error, the predicate that knows it, and the policy for it.
 *
 * @category models
 */
export type Case<Predicate = (input: never) => boolean> = readonly [name: string, predicate: Predicate, policy: Any]

/**
 * What {@link byInput} makes of its cases and the policy for all else.
 *
 * @category models
 */
export type ByInput<C extends Case, Otherwise extends Any> = Policy<
  InputOfCases<C> & Input<Otherwise>,
  Retried<C[2] | Otherwise>,
  HandledByAll<C[2] | Otherwise>
>

type InputOfCases<C extends Case> =
  (C extends readonly [string, (input: infer Read) => boolean, infer P] ? (_: Read & Input<P>) => void
    : never) extends (_: infer I) => void ? I : never

/**
 * Another policy for each kind of error: the first case whose predicate accepts the error, or `otherwise`. Use it
 * where one kind wants another pace, as throttling does.
 *
 * ```ts
 * import { Policy, Transience } from "@reprise/core"
 *
 * const policy = Policy.byInput(
 *   [["throttled", Transience.isThrottled, Policy.exponential("1 second")]],
 *   Policy.exponential("50 millis")
 * ).pipe(Policy.jittered, Policy.attempts(4))
 *
 * console.log(Policy.format(policy))
 * // => by(throttled: exponential(1s); otherwise: exponential(50ms)) | jitter | attempts(4)
 * ```
 *
 * Each branch counts its own waits. An attempt that the run's own timeout ended goes to `otherwise`.
 *
 * @throws `InvalidPolicy` for an empty list
 * @category combinations
 */
export const byInput: {
  <const Cases extends NonEmptyReadonlyArray<Case<(input: unknown) => boolean>>, Otherwise extends Any>(
    cases: Cases,
    otherwise: Otherwise
  ): ByInput<Cases[number], Otherwise>
  <const Cases extends NonEmptyReadonlyArray<Case>, Otherwise extends Any>(
    cases: Cases,
    otherwise: Otherwise
  ): ByInput<Cases[number], Otherwise>
} = (cases: ReadonlyArray<Case>, otherwise: Any): never => {
  const branches = validate.nonEmpty("byInput.cases", cases).map(([name, predicate, policy]) => ({
    ...named("byInput", predicate, name),
    policy: policyOf("byInput.cases", policy)
  }))
  return internal.make(
    {
      _tag: "ByInput",
      cases: branches.map(({ name, policy }) => ({ name, policy: policy.spec })),
      otherwise: policyOf("byInput.otherwise", otherwise).spec
    },
    [...branches.map((_) => _.policy), otherwise],
    [
      ...branches.flatMap(({ policy, predicate }) => [predicate, ...internal.predicates(policy)]),
      ...internal.predicates(otherwise)
    ]
  )
}

/**
 * A default for calls inside one region: `exponential(200ms) | cap(5s) | jitter | attempts(3)`. Three attempts wait
 * 0.6 s in all at most and 0.3 s in the mean. When every call fails it triples the load.
 * It retries every typed error; add {@link whileInput} or {@link whileTag} where some are terminal.
 *
 * @category presets
 */
export const standard: Unrestricted = /* @__PURE__ */ attempts(
  /* @__PURE__ */ jittered(/* @__PURE__ */ capped(/* @__PURE__ */ exponential("200 millis"), "5 seconds")),
  3
)

/** What the notation's words stand for. A function, because its members are defined above it and below its reader. */
const builders = (): Builders => ({
  attempts,
  byInput,
  capped,
  concat,
  constant,
  decorrelated,
  delays,
  exponential,
  fibonacci,
  honoringRetryAfter,
  immediate,
  jitteredWith,
  linear,
  max,
  min,
  none,
  polynomial,
  recurs,
  unlimited,
  untilInput,
  whileInput,
  whileTag,
  within
})
