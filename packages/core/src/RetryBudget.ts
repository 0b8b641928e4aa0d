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
 * | budget | a retry is paid for by | keep one for each |
 * |---|---|---|
 * | {@link make} | a tenth of the requests, 0.3 a second at least | what is called |
 * | {@link ratio} | a fifth of the requests, and 10 a second (Finagle) | what is called |
 * | {@link throttle} | successes, ten for a failure (gRPC) | server |
 * | {@link quota} | successes (AWS SDKs) | what is called |
 * | {@link concurrent} | attempts in flight, a fifth of them (Envoy) | what is called |
 * | {@link layerRedis} | a tenth of the requests, 0.3 a second at least | what is called, by all of a fleet |
 */
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Redis from "effect/persistence/Redis"
import { InvalidPolicy } from "./InvalidPolicy.ts"
import * as allOf from "./internal/budget/all.ts"
import * as concurrentMeter from "./internal/budget/concurrent.ts"
import * as heldBack from "./internal/budget/held.ts"
import * as keyedOf from "./internal/budget/keyed.ts"
import * as time from "./internal/time.ts"
import * as validated from "./internal/budget/options.ts"
import * as quotaMeter from "./internal/budget/quota.ts"
import * as ratioMeter from "./internal/budget/ratio.ts"
import * as redisLayer from "./internal/budget/redis/layer.ts"
import * as redisOptions from "./internal/budget/redis/options.ts"
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
   * How many retries may be granted and wait to start; more are denied. An integer of at least 1. Default: 1000. It
   * bounds what was paid for: a retry of a call that an open circuit or a rate limiter refused takes nothing, neither
   * from the balance nor a place here, and any number of them may wait.
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
   * The share of the balance that one run may take, asked at its first retry; 1 is no limit. One retry is always allowed,
   * where there is one, and two by {@link make} and {@link layerRedis}, whose quiet process holds three at most. From 0
   * to 1. Default: 0.2, as Finagle has it.
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
 * See {@link layerRedis}.
 *
 * @category models
 */
export interface RedisOptions extends RatioOptions {
  /**
   * What the processes have in common that share the budget; one for each thing that is called. 1 to 256 characters,
   * no braces.
   */
  readonly name: string
  /** The longest that a retry waits for the answer of Redis. From 1 ms to 1 second. Default: 50 ms. */
  readonly timeout?: Duration.Input | undefined
  /**
   * How often Redis is told of requests, where no retry tells it sooner. From 50 ms to 10 seconds. Default: a tenth of
   * the window, at most 1 second.
   */
  readonly flush?: Duration.Input | undefined
  /** Whether a process may spend its share while Redis is away, or gets no retry. Default: `"share"`. */
  readonly whileAway?: "share" | "deny" | undefined
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
 * `minPerSecond` pay for, and one at least. The others wait longer than their policy says. Where many wait for one date
 * and the traffic stops, much longer: of 700 calls that fail at once, with a wait of 2 seconds and no requests after
 * them, 70 are retried, half of them within 41 seconds and the last after 84. `Policy.within` or a `Deadline` bounds it: a
 * run whose turn comes too late gives up, and gives back what it took.
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
 * {@link make} has none. The pace of starts is bounded as there, and a retry may have to wait for it as long.
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
 * when all let it. A budget that is there twice, also in another `all` inside, is asked once; in {@link holding}, it is
 * not seen, and asked once more.
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
 *   take the place of keys that were not used for long, and share a budget where there are none. A budget only makes
 *   room when making it anew gives nobody a retry: one of {@link make} not before its `initial` could have trickled
 *   anew, and never where `initial` is more than trickles in a window; {@link throttle} and {@link quota} when full
 *
 * Both functions are called before the first attempt of a run, which no budget holds back: neither ends it. Where `key`
 * throws or returns no text, and where `make` throws or returns no budget, the run counts as one of `"_OTHER"`; where
 * `make` throws for that too, it has no retries. The next run asks again. The first time is logged.
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
 * A budget that can be told to hold its retries.
 *
 * @category models
 */
export interface Holding extends RetryBudget {
  /**
   * Retries start no earlier than so long from now, spread over up to a tenth of it and at most 5 seconds. Of several
   * holds the latest one counts. First attempts are not held.
   *
   * @throws `InvalidPolicy` for a duration that is not finite, or negative
   */
  readonly hold: (duration: Duration.Input) => Effect.Effect<void>
}

/**
 * A budget whose retries wait while what is called has asked for it: one run hears a `Retry-After`, and those of all
 * others that share the budget heed it, within their own limits and deadlines.
 *
 * ```ts
 * import { RetryBudget } from "@reprise/core"
 * import { Effect } from "effect"
 *
 * const api = RetryBudget.holding(RetryBudget.make())
 * await Effect.runPromise(api.hold("2 seconds"))
 * ```
 *
 * @throws `InvalidPolicy` for what is no budget
 * @category combinators
 */
export const holding = (budget: RetryBudget): Holding => {
  if (!isRetryBudget(budget)) {
    throw new InvalidPolicy({ argument: "RetryBudget.holding.budget", value: budget, rule: "a RetryBudget" })
  }
  const [held, hold] = heldBack.make(budget)
  return {
    ...held,
    hold: (duration) => {
      const millis = validate.duration("RetryBudget.hold", duration, 0)
      return Effect.withFiber((fiber) => {
        hold.until = Math.max(hold.until, hold.timeOf(time.now(fiber.getRef(Clock.Clock))) + millis)
        return Effect.void
      })
    }
  }
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
    Effect.sync(() => resolve.meterOf(budget, fiber.context).balance(time.now(fiber.getRef(Clock.Clock))))
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
 * **Provide it at the root of the program, once.** Provided where a call is made, it is built for each call, and each
 * build makes a budget of its own, with an `initial` of its own: that is no budget at all, as every call has a retry that
 * nobody else pays for. The same holds for a layer that is kept in a constant. To give a part of a program a budget,
 * keep the budget in a constant and not the layer: `RetryBudget.layer(payments)`, or the option `budget` of the run.
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

/**
 * Provides a budget that a fleet shares, all processes that give it the same `name` and `window`. It lives in Redis
 * (from version 6) or Valkey. Use it where each process has so few requests that a budget of its own is too coarse, or
 * where some have many and others need the retries.
 *
 * - `ratio`: default 0.1, as in {@link make}. Processes may differ for a while, as in a deploy; each goes by its own
 * - `minPerSecond`: default 0.3, for the whole fleet. It trickles, as in {@link make}, and nothing is there at the start
 * - `maxWaiting`, and the pace at which retries start, are those of the process
 *
 * Requests are counted in the process, and sent when a retry is asked for or a flush is due: a run that succeeds at once
 * costs no round trip. A retry costs one, and waits for it no longer than the `timeout`.
 *
 * When Redis fails, or is too slow, the process goes on by itself at once and tries Redis once a second. It lives on its
 * share: the retries that its own requests pay for, and of the last known balance and of `minPerSecond` the part of one
 * process among those last known to live. So the shares add up to the fleet's limit, however the load is spread. One
 * warning says so, each decision that is made alone counts in the metric `reprise.redis.fallback`, and a line says when
 * Redis answers again. Then it is told what happened meanwhile, and everything of the window where it has come back
 * empty: the limit holds again after the next probe of each process. What was lost or late on the way counts once, or
 * not at all when it came to nothing. A process that has never reached Redis takes itself for the only one.
 *
 * The balance is the last that Redis told. The layer is built whether or not Redis answers, after 1 second at most.
 *
 * Give the client `disableOfflineQueue: true`, a `pingInterval`, and a `socket` with `socketTimeout` and
 * `reconnectStrategy`: otherwise commands pile up in it while Redis is away, and it may not come back.
 *
 * ```ts no-run it needs a server
 * import { NodeRedis } from "@effect/platform-node"
 * import { RetryBudget } from "@reprise/core"
 * import { Layer } from "effect"
 *
 * export const live = RetryBudget.layerRedis({ name: "payments" }).pipe(
 *   Layer.provide(NodeRedis.layer({
 *     url: "redis://localhost:6379",
 *     disableOfflineQueue: true,
 *     pingInterval: 500,
 *     socket: { socketTimeout: 2_000, reconnectStrategy: 200 }
 *   }))
 * )
 * ```
 *
 * @throws `InvalidPolicy` for an option outside of its bounds
 * @category layers
 */
export const layerRedis = (options: RedisOptions): Layer.Layer<never, never, Redis.Redis> =>
  redisLayer.make(redisOptions.settings("RetryBudget.layerRedis", options))
