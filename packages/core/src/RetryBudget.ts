/**
 * How many retries a client may afford, all its runs together.
 *
 * A policy bounds one run. When everything fails at once, a hundred runs of three attempts are three hundred
 * executions against something that is down already. A budget is what they share: each retry takes from it, and where
 * it is empty the run gives up with reason `Budget`. First attempts are never held back.
 *
 * Every constructor makes a budget with a balance of its own. Hold it in a constant, one for each thing that is called,
 * or provide it with {@link layer}.
 *
 * ```ts
 * import { RetryBudget } from "@reprise/core"
 * import { Effect } from "effect"
 *
 * const payments = RetryBudget.make()
 * console.log(Effect.runSync(RetryBudget.balance(payments))) // => 1
 * ```
 *
 * | budget | a retry is paid for by | kept per |
 * |---|---|---|
 * | {@link make} | a tenth of the requests, 0.3 a second at least | process |
 * | {@link ratio} | a fifth of the requests, and 10 a second (Finagle) | process |
 * | {@link throttle} | successes, ten for a failure (gRPC) | server name |
 * | {@link quota} | successes (AWS SDKs) | client |
 * | {@link concurrent} | attempts in flight, a fifth of them (Envoy) | cluster |
 */
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { InvalidPolicy } from "./InvalidPolicy.ts"
import * as allOf from "./internal/budget/all.ts"
import * as concurrentMeter from "./internal/budget/concurrent.ts"
import * as keyedOf from "./internal/budget/keyed.ts"
import * as monotonic from "./internal/budget/monotonic.ts"
import * as validated from "./internal/budget/options.ts"
import * as quotaMeter from "./internal/budget/quota.ts"
import * as ratioMeter from "./internal/budget/ratio.ts"
import * as resolve from "./internal/budget/resolve.ts"
import * as throttleMeter from "./internal/budget/throttle.ts"
import * as topUpMeter from "./internal/budget/topUp.ts"
import * as unlimitedMeter from "./internal/budget/unlimited.ts"
import * as validate from "./internal/validate.ts"

/**
 * The key that marks a budget.
 *
 * @category models
 */
export type TypeId = "~@reprise/core/RetryBudget"

/**
 * The key that marks a budget.
 *
 * @category models
 */
export const TypeId: TypeId = resolve.TypeId

/**
 * A budget of retries: what it holds changes as runs use it.
 *
 * @category models
 */
export interface RetryBudget {
  readonly [TypeId]: object
}

/**
 * A budget for each key.
 *
 * @category models
 */
export interface Keyed extends RetryBudget {
  /** The budget of a key, whatever the context. */
  readonly at: (key: string) => RetryBudget
}

/**
 * What every budget but {@link unlimited} can be told.
 *
 * @category models
 */
export interface WaitingOptions {
  /**
   * How many retries may be granted and wait to start; more are denied. An integer of at least 1. Default: 1000.
   */
  readonly maxWaiting?: number | undefined
}

/**
 * See {@link ratio}, and for its defaults also {@link make}.
 *
 * @category models
 */
export interface RatioOptions extends WaitingOptions {
  /** Retries for each original request. From 0 to 10. */
  readonly ratio?: number | undefined
  /** Retries a second that there are without requests. Finite, at least 0. */
  readonly minPerSecond?: number | undefined
  /** After how long requests and retries are forgotten. From 1 to 60 seconds. Default: 10 seconds. */
  readonly window?: Duration.Input | undefined
  /**
   * The share of the balance that one run may take, asked at its first retry; one retry is always allowed, and 1 is no
   * limit. From 0 to 1. Default: 0.2.
   */
  readonly perOperation?: number | undefined
}

/**
 * See {@link make}.
 *
 * @category models
 */
export interface MakeOptions extends RatioOptions {
  /** Retries that are there at the start. Finite, at least 0. Default: 1. */
  readonly initial?: number | undefined
}

/**
 * See {@link throttle}.
 *
 * @category models
 */
export interface ThrottleOptions extends WaitingOptions {
  /** Where the tokens start, and the most. From 0.001 to 1000. Default: 10. */
  readonly maxTokens?: number | undefined
  /** What a success brings; three decimals count. From 0.001 to 1000. Default: 0.1. */
  readonly tokenRatio?: number | undefined
}

/**
 * See {@link quota}.
 *
 * @category models
 */
export interface QuotaOptions extends WaitingOptions {
  /** What there is at the start, and the most. An integer of at least 1. Default: 500. */
  readonly capacity?: number | undefined
  /** What a retry takes. An integer of at least 1. Default: 5. */
  readonly retryCost?: number | undefined
  /** What a retry takes after a timeout. An integer of at least 1. Default: 10. */
  readonly timeoutCost?: number | undefined
  /**
   * What a retry takes after this error, in place of the other two. Fractions are rounded up; where it throws or
   * returns no number of at least 0, the other two hold.
   */
  readonly cost?: ((error: unknown) => number) | undefined
  /** As in {@link RatioOptions}, with `capacity / retryCost` retries in the full quota. Default: 0.2. */
  readonly perOperation?: number | undefined
}

/**
 * See {@link concurrent}.
 *
 * @category models
 */
export interface ConcurrentOptions extends WaitingOptions {
  /** Retries in percent of the attempts in flight. From 0 to 100. Default: 20. */
  readonly percent?: number | undefined
  /** Retries at a time that are always allowed. An integer of at least 0. Default: 3. */
  readonly minimum?: number | undefined
}

/**
 * Whether a value is a budget, also one made by another copy of this package.
 *
 * @category guards
 */
export const isRetryBudget = (u: unknown): u is RetryBudget => resolve.isRetryBudget(u)

const fromSettings = (settings: topUpMeter.Options): RetryBudget =>
  resolve.single((random) => topUpMeter.make(settings, random))

/**
 * The budget to use where nothing speaks for another one: a retry for every ten requests of the last ten seconds, and
 * where these are few, 0.3 a second.
 *
 * It is none of the published ones. They have a reserve that is there at once and in full, in every process: a hundred
 * processes with Finagle's send ten thousand retries before the first is denied. Here each process has one retry to
 * start with. Then each second is worth either a tenth of its requests or 0.3, whichever is more; what is not used
 * within the window is lost, so that a process that was idle has no more than three. The 0.3 a second begin at a random
 * time, by up to one retry late, so that processes that start together do not retry together.
 *
 * Retries also start at a bounded pace, whatever they waited for: in a second a quarter more than its requests and
 * `minPerSecond` pay for, and one at least. The others wait longer.
 *
 * - `ratio`: default 0.1
 * - `minPerSecond`: default 0.3
 * - `initial`: default 1
 *
 * ```ts
 * import { RetryBudget } from "@reprise/core"
 * import { Effect } from "effect"
 *
 * const budget = RetryBudget.make({ ratio: 0.2, minPerSecond: 1, initial: 5 })
 * console.log(Effect.runSync(RetryBudget.balance(budget))) // => 5
 * ```
 *
 * @throws `InvalidPolicy` for an option outside of its bounds
 * @category constructors
 */
export const make = (options: MakeOptions = {}): RetryBudget =>
  fromSettings(validated.topUp("RetryBudget.make", options))

/**
 * Finagle's budget as it is published: a retry for every five requests of the last ten seconds, and a hundred beside.
 * Use it to move a service that has it. For a client of many processes, or of little traffic, the hundred are a storm;
 * {@link make} has none. The pace of starts is bounded as there.
 *
 * - `ratio`: default 0.2. Rounded so that it is off by at most 1 %
 * - `minPerSecond`: default 10. It counts for the whole window at once, and comes back as retries leave the window
 *
 * ```ts
 * import { RetryBudget } from "@reprise/core"
 * import { Effect } from "effect"
 *
 * console.log(Effect.runSync(RetryBudget.balance(RetryBudget.ratio()))) // => 100
 * ```
 *
 * Source: twitter/finagle, `RetryBudget.scala`.
 *
 * @throws `InvalidPolicy` for an option outside of its bounds
 * @category constructors
 */
export const ratio = (options: RatioOptions = {}): RetryBudget => {
  const settings = validated.ratio("RetryBudget.ratio", options)
  return resolve.single(() => ratioMeter.make(settings))
}

/**
 * gRPC's throttling: each failed attempt that is worth a retry takes a token, each success brings a tenth of one, and
 * retries are made while there is more than half of `maxTokens`. Nothing depends on time. Use it for one server whose
 * failures tell of its load; with more than one failure to ten successes it ends retries altogether, until there are
 * fewer.
 *
 * Failed attempts count and not retries, the last one of a run too. Its balance is that of tokens above the half, less
 * the one that the next failure takes.
 *
 * ```ts
 * import { RetryBudget } from "@reprise/core"
 * import { Effect } from "effect"
 *
 * console.log(Effect.runSync(RetryBudget.balance(RetryBudget.throttle()))) // => 4
 * ```
 *
 * Source: grpc/proposal, `A6-client-retries.md`.
 *
 * @throws `InvalidPolicy` for an option outside of its bounds
 * @category constructors
 */
export const throttle = (options: ThrottleOptions = {}): RetryBudget => {
  const settings = validated.throttle("RetryBudget.throttle", options)
  return resolve.single(() => throttleMeter.make(settings))
}

/**
 * The quota of the AWS SDKs in their standard mode: 500, of which a retry takes 5, or 10 after a timeout. A run that
 * succeeds gives back what its last retry took, or 1 when it took none; a run that fails gives back nothing. Nothing
 * depends on time. Use it to do as these SDKs do.
 *
 * A timeout is the run's own attempt timeout, Effect's `TimeoutError`, that of `AbortSignal.timeout`, or a code of
 * Node.js such as `ETIMEDOUT` or `UND_ERR_HEADERS_TIMEOUT`, also where it is the cause of another error.
 *
 * ```ts
 * import { RetryBudget } from "@reprise/core"
 * import { Effect } from "effect"
 *
 * console.log(Effect.runSync(RetryBudget.balance(RetryBudget.quota()))) // => 100
 * ```
 *
 * Source: boto/botocore, `retries/quota.py` and `retries/standard.py`, version 2.0.
 *
 * @throws `InvalidPolicy` for an option outside of its bounds
 * @category constructors
 */
export const quota = (options: QuotaOptions = {}): RetryBudget => {
  const settings = validated.quota("RetryBudget.quota", options)
  return resolve.single(() => quotaMeter.make(settings))
}

/**
 * Envoy's budget: retries are at most a fifth of the attempts in flight, or three. A retry counts from the decision,
 * through its wait, until its outcome. Use it where attempts take long and their number at a time is what hurts.
 *
 * ```ts
 * import { RetryBudget } from "@reprise/core"
 * import { Effect } from "effect"
 *
 * console.log(Effect.runSync(RetryBudget.balance(RetryBudget.concurrent({ minimum: 5 })))) // => 5
 * ```
 *
 * Source: envoyproxy/envoy, `circuit_breaker.proto`.
 *
 * @throws `InvalidPolicy` for an option outside of its bounds
 * @category constructors
 */
export const concurrent = (options: ConcurrentOptions = {}): RetryBudget => {
  const settings = validated.concurrent("RetryBudget.concurrent", options)
  return resolve.single(() => concurrentMeter.make(settings))
}

/**
 * Says yes to every retry. Use it to opt out where the context has a budget.
 *
 * @category constructors
 */
export const unlimited: RetryBudget = /* @__PURE__ */ resolve.single(() => unlimitedMeter.meter)

/**
 * A budget that grants a retry when each of its members does; when one says no, the others get back what they gave.
 * Use it for a client's own budget beside one that all clients share. Its balance is the smallest, and a retry starts
 * when all let it.
 *
 * ```ts
 * import { RetryBudget } from "@reprise/core"
 * import { Effect } from "effect"
 *
 * const budget = RetryBudget.all([RetryBudget.ratio(), RetryBudget.throttle()])
 * console.log(Effect.runSync(RetryBudget.balance(budget))) // => 4
 * ```
 *
 * @throws `InvalidPolicy` for an empty list, or for a member that is no budget
 * @category combinators
 */
export const all = (budgets: ReadonlyArray<RetryBudget>): RetryBudget => {
  const members = validate.nonEmpty("RetryBudget.all.budgets", budgets)
  for (const value of members) {
    if (!isRetryBudget(value)) {
      throw new InvalidPolicy({ argument: "RetryBudget.all.budgets", value, rule: "a list of budgets" })
    }
  }
  return allOf.make(members)
}

/**
 * A budget for each key that is read from the context of a run, such as an endpoint or a tenant. Use it where one that
 * fails must not use up the retries of the others.
 *
 * - `make`: makes the budget of a key, when it is first used
 * - `key`: the key of the run; `"_OTHER"` is the one for all that find no place
 * - `maxKeys`: how many keys have a budget of their own. An integer of at least 1. Default: 1000. Beyond it, new keys
 *   take the place of keys that were not used for long, and share a budget where there are none: one is only removed
 *   when making it anew gives it nothing
 *
 * ```ts
 * import { RetryBudget } from "@reprise/core"
 * import { Context, Effect } from "effect"
 *
 * const Tenant = Context.Reference("Tenant", { defaultValue: () => "nobody" })
 * const budget = RetryBudget.keyed(
 *   (tenant) => RetryBudget.make({ initial: tenant === "gold" ? 10 : 1 }),
 *   (context) => Context.get(context, Tenant)
 * )
 * const balance = RetryBudget.balance(budget).pipe(Effect.provideService(Tenant, "gold"))
 * console.log(Effect.runSync(balance)) // => 10
 * console.log(Effect.runSync(RetryBudget.balance(budget.at("silver")))) // => 1
 * ```
 *
 * @throws `InvalidPolicy` for another number of keys
 * @category combinators
 */
export const keyed = (
  make: (key: string) => RetryBudget,
  key: (context: Context.Context<never>) => string,
  options: { readonly maxKeys?: number | undefined } = {}
): Keyed => {
  const { maxKeys = 1000 } = validate.options("RetryBudget.keyed.options", options)
  return keyedOf.make(make, key, validate.integer("RetryBudget.keyed.maxKeys", maxKeys, 1))
}

/**
 * The retries that could be taken now, for dashboards and tests: a fraction where a part has been earned, negative
 * where more was taken than has been earned since, `Infinity` without a limit. Of a keyed budget, that of the
 * context's key.
 *
 * @category reading
 */
export const balance = (budget: RetryBudget): Effect.Effect<number> =>
  Effect.withFiber((fiber) =>
    Effect.sync(() => resolve.meterOf(budget, fiber.context).balance(monotonic.now(fiber.getRef(Clock.Clock))))
  )

/**
 * The budget of the context, for runs that were given none; `undefined`, the default, is no budget.
 *
 * @category references
 */
export const Current: Context.Reference<RetryBudget | undefined> = resolve.CurrentBudget

/**
 * Provides the budget of the context: the one given, or one that {@link make} makes each time the layer is built.
 *
 * ```ts
 * import { RetryBudget } from "@reprise/core"
 * import { Effect } from "effect"
 *
 * const program = Effect.flatMap(RetryBudget.Current, (budget) =>
 *   budget === undefined ? Effect.succeed(Infinity) : RetryBudget.balance(budget)
 * )
 * console.log(Effect.runSync(program)) // => Infinity
 * console.log(Effect.runSync(program.pipe(Effect.provide(RetryBudget.layer({ initial: 3 }))))) // => 3
 * ```
 *
 * @throws `InvalidPolicy` for an option outside of its bounds
 * @category layers
 */
export const layer = (budgetOrOptions: RetryBudget | MakeOptions = {}): Layer.Layer<never> => {
  if (isRetryBudget(budgetOrOptions)) return Layer.succeed(Current, budgetOrOptions)
  const settings = validated.topUp("RetryBudget.layer", budgetOrOptions)
  return Layer.sync(Current, () => fromSettings(settings))
}
