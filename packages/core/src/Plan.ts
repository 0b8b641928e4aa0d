/**
 * What a policy will do, before it runs: how long it waits, how many attempts it makes, and what load that is.
 *
 * A policy is a contract about latency as much as about reliability. A plan shows that contract: bounds of every wait,
 * percentiles of their sum, the worst case, and the load when every call fails. {@link fits} checks it, and
 * `Policy.contract` enforces it where the policy is built. Everything here is arithmetic: the same stepper that
 * `Retry.run` drives, told of failures that did not happen, so a plan can be made anywhere and is the same every time.
 *
 * ```ts
 * import { Plan, Policy } from "@reprise/core"
 * import { Result } from "effect"
 *
 * const policy = Policy.exponential("500 millis").pipe(Policy.attempts(5))
 * const plan = Result.getOrThrow(Plan.of(policy, { attemptTimeout: "2 seconds" }))
 *
 * if (plan._tag === "Limited") {
 *   console.log(plan.delays.map((delay) => delay.max)) // => [ 500, 1000, 2000, 4000 ]
 *   console.log(plan.total.max, plan.worstCase) // => 7500 17500
 * }
 * ```
 *
 * Durations are milliseconds. Attempts count executions, the first one included.
 */
import type * as Duration from "effect/Duration"
import { dual } from "effect/Function"
import * as Result from "effect/Result"
import { InvalidPolicy } from "./InvalidPolicy.ts"
import * as ascii from "./internal/plan/ascii.ts"
import { DoesNotFit, PlanTooLarge } from "./internal/plan/errors.ts"
import { misfit } from "./internal/plan/fits.ts"
import { toJson as planToJson } from "./internal/plan/json.ts"
import { make } from "./internal/plan/make.ts"
import { successOf } from "./internal/plan/success.ts"
import * as svg from "./internal/plan/svg.ts"
import * as validate from "./internal/validate.ts"
import type * as Policy from "./Policy.ts"
import type { ReasonTag } from "./RetryExhausted.ts"

export {
  /**
   * A policy can take longer than it may.
   *
   * @category errors
   */
  DoesNotFit,
  /**
   * A policy makes more attempts than a plan holds, more than 10,000, or can fail in more orders than it can follow.
   *
   * @category errors
   */
  PlanTooLarge
}

/**
 * The wait before one retry, in milliseconds. The first retry is 1, and is attempt 2.
 *
 * @category models
 */
export interface Delay {
  readonly retry: number
  /** The share of runs that get to this retry when every attempt fails at once: 1 unless time is limited. */
  readonly reached: number
  /** The shortest that it can be. */
  readonly min: number
  /** Its mean, over the runs that get to it. */
  readonly mean: number
  /** What it cannot exceed. With jitter, draws only come close. */
  readonly max: number
  /** When the retry starts, after the start of attempt 1, with the shortest waits and attempts that take no time. */
  readonly startEarliest: number
  /** The same with the longest waits, and attempts that take all of the attempt timeout (no time without one). */
  readonly startLatest: number
}

/**
 * The time that a run sleeps in all when every attempt fails at once, in milliseconds.
 *
 * @category models
 */
export interface Total {
  readonly min: number
  readonly mean: number
  readonly max: number
  readonly p50: number
  readonly p95: number
  readonly p99: number
  /**
   * Where mean and percentiles come from:
   *
   * - `exact`: nothing is left to chance
   * - `computed`: waits that chance alone decides on, summed by numerical integration. Within 0.01 % where every wait
   *   is independent of the others and draws once, a hint's spread aside; within 0.5 % where waits depend on each other
   *   (`decorrelated`) or draw two or three times (jitter upon jitter, the longest or shortest of jittered waits)
   * - `simulated`: an elapsed limit can end or change the run, waits of more than one `decorrelated` depend on each
   *   other, or a wait draws more than three times. From 256 to 2,048 runs of a fixed seed (768 for ten attempts), and
   *   means of single waits are those of the runs that got to them, however few. Against a million runs of 39 policies,
   *   the mean and the percentiles were off by at most 1 % and 3 % for an elapsed limit, 3 % and 6 % for two
   *   `decorrelated`, and 6 % and 11 % for four draws a wait
   */
  readonly precision: "exact" | "computed" | "simulated"
}

interface Shape {
  /** The policy in the notation. */
  readonly policy: string
  /** The policy as an English sentence. */
  readonly description: string
  /** The attempt timeout that the plan was made with. */
  readonly attemptTimeout: number | undefined
  /**
   * The longest hint that the policy follows, where the plan was made without hints: each would come on top of what it
   * says. `undefined` where the policy follows none, or the plan counts them. {@link fits} counts them by itself.
   */
  readonly uncountedHint: number | undefined
  /** The waits before the retries, in their order. */
  readonly delays: ReadonlyArray<Delay>
}

interface Ending extends Shape {
  readonly total: Total
  /**
   * The longest that a run can take: the latest start of the last attempt and its timeout. `undefined` without an
   * attempt timeout, as an attempt may then take any time.
   */
  readonly worstCase: number | undefined
  /**
   * Executions per operation while every call fails at once, in the mean: what the policy multiplies the load by when
   * the other side is down.
   */
  readonly amplification: number
}

/**
 * The plan of a policy with a greatest number of attempts.
 *
 * @category models
 */
export interface Limited extends Ending {
  readonly _tag: "Limited"
  /** The most executions of the operation, the first one included. */
  readonly attempts: number
  /** `attempts - 1`. */
  readonly retries: number
  /** What ends the longest run; `Terminal` for a failure that the policy does not retry. */
  readonly end: ReasonTag | "Terminal"
}

/**
 * The plan of a policy that time alone ends while its waits can be as short as chance has it, such as
 * `constant(1s) | jitter | within(10s)`: no number bounds its attempts. Its delays are those of the simulated runs.
 *
 * @category models
 */
export interface TimeLimited extends Ending {
  readonly _tag: "TimeLimited"
}

/**
 * The plan of a policy that does not end. It has no total, no worst case and no amplification; its delays are the
 * first ten.
 *
 * @category models
 */
export interface Unlimited extends Shape {
  readonly _tag: "Unlimited"
}

/**
 * What a policy will do.
 *
 * @category models
 */
export type Plan = Limited | TimeLimited | Unlimited

/**
 * What a plan is made for.
 *
 * @category models
 */
export interface Options {
  /** The `attemptTimeout` of the run. Finite, at least 1 ms. Default: none, and then there is no worst case. */
  readonly attemptTimeout?: Duration.Input | undefined
  /**
   * The wait that every failure asks for; it counts where the policy is `honoringRetryAfter`. Finite, at least 0.
   * Default: what `input` carries. A plan has no calendar, so give a date as the wait that it means.
   */
  readonly hint?: Duration.Input | undefined
  /**
   * The error of every failure. Default: a failure that every classification retries and that goes to `otherwise` in
   * `byInput`, as the run's own attempt timeout does.
   */
  readonly input?: unknown
}

/** Runs what throws, and keeps the errors that are answers. */
const guarded = <A>(compute: () => A): Result.Result<A, PlanTooLarge | InvalidPolicy> => {
  try {
    return Result.succeed(compute())
  } catch (error) {
    if (error instanceof PlanTooLarge || error instanceof InvalidPolicy) return Result.fail(error)
    throw error
  }
}

/**
 * The plan of a policy. Use it in a review, in a test, or to draw a chart.
 *
 * Bounds hold for every run in which attempts take between no time and the attempt timeout. One case is weaker: a
 * `within` inside `concat`, `min` or `byInput` chooses by time what comes next. There `worstCase` holds for every
 * kind of failure (in as many attempts as the plan has, where other kinds have no end), and the other bounds are what
 * the shortest, the longest and some hundred drawn runs came to whose attempts took no time. Fails with `PlanTooLarge`
 * above 10,000 attempts or when kinds of failure can follow each other in too many orders, and with `InvalidPolicy` for
 * a bad option.
 *
 * ```ts
 * import { Plan, Policy } from "@reprise/core"
 * import { Result } from "effect"
 *
 * const { total, amplification } = Result.getOrThrow(Plan.of(Policy.standard)) as Plan.Limited
 * console.log(total.mean, total.p99, total.max) // => 300 560 600
 * console.log(amplification) // => 3
 * ```
 *
 * @throws `PredicateError` when a predicate of the policy throws at `input`
 * @category constructors
 */
export const of = (policy: Policy.Any, options: Options = {}): Result.Result<Plan, PlanTooLarge | InvalidPolicy> =>
  guarded(() => make(policy, options))

/**
 * What retries do for an operation of which each attempt fails with the same probability, independently.
 *
 * @category models
 */
export interface Success {
  /** The probability that one attempt fails. */
  readonly failureRate: number
  /** By attempt: the first is 1. Of a policy without an end, the first eleven. */
  readonly attempts: ReadonlyArray<{
    readonly attempt: number
    /** The probability that the operation has succeeded by then. */
    readonly success: number
    /** Executions per operation so far, in the mean. */
    readonly executions: number
  }>
  /** The probability that the operation succeeds at all. */
  readonly success: number
  /** The load: executions per operation, in the mean; `undefined` when there is no end to them. */
  readonly executions: number | undefined
}

/**
 * Probability of success and load of a policy when each attempt fails with probability `failureRate` (0 to 1). Real
 * failures come together, so it is the bright side: the dark side is {@link Ending.amplification}.
 *
 * ```ts
 * import { Plan, Policy } from "@reprise/core"
 * import { Result } from "effect"
 *
 * const { success, executions } = Result.getOrThrow(Plan.success(Policy.immediate(3), { failureRate: 0.5 }))
 * console.log(success, executions) // => 0.9375 1.875
 * ```
 *
 * @category reading
 */
export const success: {
  (
    options: Options & { readonly failureRate: number }
  ): (policy: Policy.Any) => Result.Result<Success, PlanTooLarge | InvalidPolicy>
  (
    policy: Policy.Any,
    options: Options & { readonly failureRate: number }
  ): Result.Result<Success, PlanTooLarge | InvalidPolicy>
} = /* @__PURE__ */ dual(2, (policy: Policy.Any, options: Options & { readonly failureRate: number }) =>
  guarded(() => {
    const failureRate = validate.number("success.failureRate", options.failureRate, 0)
    if (failureRate > 1) {
      throw new InvalidPolicy({ argument: "success.failureRate", value: failureRate, rule: "at most 1" })
    }
    return successOf(make(policy, options), failureRate)
  }))

/**
 * What a policy has to keep.
 *
 * @category models
 */
export interface Contract {
  /** The longest that a run may take, in all. Finite, at least 1 ms. */
  readonly within: Duration.Input
  /** The `attemptTimeout` of the run. Finite, at least 1 ms. Default: attempts count as taking no time. */
  readonly attemptTimeout?: Duration.Input | undefined
  /**
   * The longest wait that failures ask for; some may ask for less, or for none. Default, and at most: the longest that
   * the policy follows (60 seconds where `honoringRetryAfter` says nothing else); zero leaves hints out.
   */
  readonly hint?: Duration.Input | undefined
}

/**
 * Whether a policy keeps a contract in the worst case: every wait at its longest, every attempt at its timeout, and
 * the kinds of failure that it tells apart, with a hint or without, in the worst order. Succeeds with the plan, or
 * fails with by how much and at which attempt it breaks, and the largest `attempts` and `cap` that would fit.
 *
 * ```ts
 * import { Plan, Policy } from "@reprise/core"
 * import { Result } from "effect"
 *
 * const policy = Policy.exponential("500 millis").pipe(Policy.attempts(5))
 * const checked = Plan.fits(policy, { within: "5 seconds", attemptTimeout: "500 millis" })
 * if (Result.isFailure(checked)) console.log(checked.failure.message)
 * // => exponential(500ms) | attempts(5) can take 10 s with attempts of up to 500 ms, 5 s more than the 5 s allowed; attempt 4 is the first that may end too late. attempts(3) would fit, and so would cap(666ms).
 * ```
 *
 * Up to 64 kinds of failure are told apart by the predicates inside `concat`, `min` and `byInput`; of more, those that
 * one predicate tells apart. Of a run's possible states the 64 latest are followed. Fails with `PlanTooLarge` when that
 * takes more than some tenths of a second.
 *
 * @category reading
 */
export const fits: {
  (contract: Contract): (policy: Policy.Any) => Result.Result<Plan, DoesNotFit | PlanTooLarge | InvalidPolicy>
  (policy: Policy.Any, contract: Contract): Result.Result<Plan, DoesNotFit | PlanTooLarge | InvalidPolicy>
} = /* @__PURE__ */ dual(2, (policy: Policy.Any, contract: Contract) =>
  Result.flatMap(
    guarded(() => misfit(policy, contract, "fits")),
    (found): Result.Result<Plan, DoesNotFit | PlanTooLarge | InvalidPolicy> =>
      found === undefined
        ? of(policy, { attemptTimeout: contract.attemptTimeout, hint: contract.hint })
        : Result.fail(found)
  ))

/**
 * The plans of several policies, by the same names. Use it with {@link table} to choose between them.
 *
 * ```ts
 * import { Plan, Policy } from "@reprise/core"
 * import { Result } from "effect"
 *
 * const plans = Plan.compare({
 *   patient: Policy.exponential("500 millis").pipe(Policy.jittered, Policy.attempts(5)),
 *   standard: Policy.standard
 * }, { attemptTimeout: "1 second" })
 * if (Result.isSuccess(plans)) console.log(Plan.table(plans.success).split("\n")[1])
 * // => patient          5     3.75 s  5.92 s    7.5 s      12.5 s    5x
 * ```
 *
 * @category constructors
 */
export const compare = <Name extends string>(
  policies: Readonly<Record<Name, Policy.Any>>,
  options: Options = {}
): Result.Result<Record<Name, Plan>, PlanTooLarge | InvalidPolicy> =>
  guarded(() => {
    const plans: Array<[string, Plan]> = Object.entries<Policy.Any>(policies).map((
      [name, policy]
    ) => [name, make(policy, options)])
    return Object.fromEntries(plans) as Record<Name, Plan> // The names are those of the argument.
  })

/**
 * Plans side by side, a line each: the most attempts, mean, p95 and longest of the waits in all, the worst case, and
 * the load when every call fails.
 *
 * @category reading
 */
export const table = (plans: Readonly<Record<string, Plan>>): string => ascii.table(plans)

/**
 * A plan as JSON, for programs. Durations are milliseconds; what a plan does not have is null.
 *
 * @category models
 */
export interface Json {
  readonly policy: string
  readonly description: string
  /** Null where no number bounds them. */
  readonly attempts: number | null
  readonly retries: number | null
  readonly delays: ReadonlyArray<Omit<Delay, "reached">>
  readonly total: Omit<Total, "precision"> | null
  readonly worstCase: number | null
  readonly amplification: number | null
  /** Null where there is none: see {@link Shape.uncountedHint}. */
  readonly uncountedHint: number | null
}

/**
 * A plan as plain JSON with nulls for what it does not have, so that an endless policy never shows a number.
 *
 * @category reading
 */
export const toJson = (plan: Plan): Json => planToJson(plan)

/**
 * A plan as text: a chart of the waits, one of the starts, and what it comes to. A plan of more than 24 retries shows
 * 24 of them. The bars are made of `█ ░ ●`.
 *
 * - `width`: columns; at least 40; default 80
 *
 * @category reading
 */
export const toAscii = (plan: Plan, options: { readonly width?: number | undefined } = {}): string =>
  ascii.toAscii(plan, Math.max(40, options.width ?? 80))

/**
 * A plan as an SVG document, 760 wide: the waits with their mean, and the time until each retry, from the earliest to
 * the latest. It refers to nothing outside, and carries its title and description for those who cannot see it. A plan
 * of more than 40 retries shows 40 of them.
 *
 * - `theme`: default `"light"`
 *
 * @category reading
 */
export const toSvg = (plan: Plan, options: { readonly theme?: "light" | "dark" | undefined } = {}): string =>
  svg.toSvg(plan, options.theme ?? "light")
