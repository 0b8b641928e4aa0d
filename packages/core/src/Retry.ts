/**
 * Running an effect under a retry policy.
 *
 * ```ts
 * import { Policy, Retry } from "@reprise/core"
 * import { Data, Effect } from "effect"
 *
 * class Unavailable extends Data.TaggedError("Unavailable")<{}> {}
 *
 * const charge = Effect.gen(function*() {
 *   const { number } = yield* Retry.Attempt
 *   return number < 3 ? yield* new Unavailable() : `charged at attempt ${number}`
 * })
 *
 * console.log(await Effect.runPromise(charge.pipe(Retry.run(Policy.immediate(4))))) // => charged at attempt 3
 * ```
 */
import type { TimeoutError } from "effect/Cause"
import type * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as IdempotencyKey from "./IdempotencyKey.ts"
import { InvalidPolicy } from "./InvalidPolicy.ts"
import * as promises from "./internal/promise.ts"
import * as internal from "./internal/run.ts"
import * as validate from "./internal/validate.ts"
import * as Policy from "./Policy.ts"
import * as RetryBudget from "./RetryBudget.ts"
import type * as RetryEvents from "./RetryEvents.ts"
import type { RetryExhausted } from "./RetryExhausted.ts"
import * as Spec from "./Spec.ts"
import * as Transience from "./Transience.ts"

/**
 * The part of an error type that a policy may retry, member by member of a union.
 *
 * @category type helpers
 */
export type Meet<E, Retried> = E extends unknown ? (E extends Retried ? E : Retried extends E ? Retried : E & Retried)
  : never

/**
 * The exhaustion of what may be retried; nothing where nothing may.
 *
 * @category type helpers
 */
export type Exhausted<X> = [X] extends [never] ? never : RetryExhausted<X>

/**
 * What `onRetry` is told when a retry is granted, before its wait begins.
 *
 * @category models
 */
export interface RetryEvent<out E = unknown> {
  readonly name: string | undefined
  /** Number of the attempt that failed; the first is 1. */
  readonly attempt: number
  readonly error: E
  /** From the start of attempt 1 to the failure. */
  readonly elapsed: Duration.Duration
  /** The wait that comes now. */
  readonly delay: Duration.Duration
}

/**
 * How a policy is run.
 *
 * @category models
 */
export interface Options<in E = unknown, out R = never> {
  /** Name of the operation in errors and events. Default: none. */
  readonly name?: string | undefined
  /**
   * The longest time that one attempt may take; then it is interrupted and fails with a `TimeoutError`, which is
   * always worth a retry, whatever the policy's classification says, but not with `idempotency: "none"`. A `Deadline`
   * shortens it to what is left. Finite, at least 1 ms. Default: none, so a hanging attempt hangs the run. It waits for
   * the attempt's finalizers, and what an attempt in an uninterruptible region comes to after its time, a success too,
   * is lost.
   */
  readonly attemptTimeout?: Duration.Input | undefined
  /**
   * Whether the operation may be executed again after an error that the policy retries, attempt timeouts included; false
   * gives up with reason `Unsafe`, which no layer around retries. For operations that are safe to repeat after some
   * failures only, as a POST is after a refused connection. Default: the policy is trusted. See also `idempotency` of
   * {@link make}.
   */
  readonly repeatable?: ((error: E | TimeoutError) => boolean) | undefined
  /**
   * Asked when everything pure has said yes, so only about errors that the policy retries: false leaves the error
   * unchanged, as a terminal one. For decisions that need an effect; a pure one belongs into the policy, where it can
   * be read. Not asked about the run's own attempt timeouts.
   */
  readonly when?: ((error: E) => Effect.Effect<boolean, never, R>) | undefined
  /**
   * Run when a retry is granted, before its wait: for errors that the policy retries, and for the run's own attempt
   * timeouts. Where the options come before the effect, say what `event` is: `(event: Retry.RetryEvent<MyError |
   * TimeoutError>) => …`. It stands outside of the attempts: `Retry.Attempt` and `IdempotencyKey.Current` are not those
   * of an attempt there, and the time that it takes counts.
   */
  readonly onRetry?: ((event: RetryEvent<E | TimeoutError>) => Effect.Effect<void, never, R>) | undefined
  /**
   * Told everything that happens in the run, as it happens; the run goes on when it is done. A defect in it is logged
   * as a warning, and is not the run's. `Succeeded` and `Interrupted` are told in an uninterruptible region. To watch
   * all runs at once see `RetryEvents.layer`.
   */
  readonly onEvent?: ((event: RetryEvents.RetryEvent) => Effect.Effect<void, never, R>) | undefined
  /**
   * The budget of the client that is called, which other runs share. Default: the one in the context
   * (`RetryBudget.layer`), and without one no budget. `RetryBudget.unlimited` opts out.
   */
  readonly budget?: RetryBudget.RetryBudget | undefined
  /** What is called, such as `"https://api.example.com"`, for a switch by origin (`RetryControl`). Default: none. */
  readonly origin?: string | undefined
  /** Whether each attempt has a span of its own, named after the run. Default: false. */
  readonly attemptSpans?: boolean | undefined
}

type AnyOptions = KeyedOptions<never, unknown>

/**
 * Options without a key that is not known, so that a misspelt one does not compile.
 *
 * @category type helpers
 */
export type Only<O, Known> =
  & O
  & (string extends keyof O ? unknown : { readonly [K in Exclude<keyof O, keyof Known>]: never })

type Given<O, K extends string> = K extends keyof O ? Exclude<O[K], undefined> : never

/**
 * The `TimeoutError` that options with an `attemptTimeout` add.
 *
 * @category type helpers
 */
export type TimeoutOf<O> = [Given<O, "attemptTimeout">] extends [never] ? never : TimeoutError

/**
 * What certainly does not leave a run as it is: with `when`, nothing is certain.
 *
 * @category type helpers
 */
export type HandledWith<O, Handled> = [Given<O, "when">] extends [never] ? Handled : never

/**
 * The errors that the functions of the options can read.
 *
 * @category type helpers
 */
export type ReadBy<O> =
  & (Given<O, "repeatable"> extends (error: infer E) => unknown ? E : unknown)
  & (Given<O, "when"> extends (error: infer E) => unknown ? E : unknown)
  & (Given<O, "onRetry"> extends (event: RetryEvent<infer E>) => unknown ? E : unknown)

/**
 * Nothing where the functions of the options can read the errors that are retried, and elsewhere something that no
 * effect is, so that it does not compile. (`[Errors]`, because a union is meant as a whole.)
 *
 * @category type helpers
 */
export type Readable<Errors, O> = [Errors] extends [ReadBy<O>] ? unknown
  : { readonly "The functions of the options must be able to read": Errors }

/**
 * The services that the functions of the options need.
 *
 * @category type helpers
 */
export type NeededBy<O> = ServicesOf<Given<O, "when" | "onRetry" | "onEvent">>

// A function that only throws returns `never`, from which everything could be inferred.
type ServicesOf<F> = F extends (_: never) => infer Returned
  ? [Returned] extends [never] ? never : Returned extends Effect.Effect<infer _A, infer _E, infer R> ? R : never
  : never

/** Refuses a policy that `Retry` cannot run. */
const declared = (place: string, policy: Policy.Any): void => {
  if (!Policy.isPolicy(policy)) {
    throw new InvalidPolicy({ argument: `${place}.policy`, value: policy, rule: "a Policy" })
  }
  if (!Spec.isDeclared(policy.spec)) {
    throw new InvalidPolicy({
      argument: `${place}.policy`,
      value: Policy.format(policy),
      rule: "a policy with an end (add attempts(n), recurs(n) or within(duration)), or say unlimited"
    })
  }
}

const optionKeys: Readonly<Record<string, "string" | "function" | "boolean" | undefined>> = {
  name: "string",
  when: "function",
  repeatable: "function",
  onRetry: "function",
  onEvent: "function",
  origin: "string",
  attemptSpans: "boolean",
  budget: undefined,
  attemptTimeout: undefined
}

/** Refuses what would otherwise be ignored in silence: a misspelt option, and one of the wrong kind. */
const checkOptions = (place: string, options: object, known: ReadonlyArray<string>): void => {
  for (const [key, value] of Object.entries(options)) {
    const kind = optionKeys[key]
    if (!known.includes(key)) {
      throw new InvalidPolicy({ argument: `${place}.${key}`, value, rule: `one of the options ${known.join(", ")}` })
    }
    if (kind !== undefined && value !== undefined && typeof value !== kind) {
      throw new InvalidPolicy({ argument: `${place}.${key}`, value, rule: `a ${kind}` })
    }
  }
}

const settingsOf = (
  place: string,
  policy: Policy.Any,
  options: AnyOptions,
  more: ReadonlyArray<string> = [],
  { allows, keyed = false }: Pick<Partial<internal.Settings>, "allows" | "keyed"> = {}
): internal.Settings => {
  declared(place, policy)
  checkOptions(place, options, [...Object.keys(optionKeys), ...more])
  const { attemptSpans = false, attemptTimeout: timeout, budget } = options
  if (budget !== undefined && !RetryBudget.isRetryBudget(budget)) {
    throw new InvalidPolicy({ argument: `${place}.budget`, value: budget, rule: "a RetryBudget" })
  }
  return {
    policy,
    stepper: Policy.stepper(policy),
    name: options.name,
    attemptTimeout: timeout === undefined
      ? undefined
      : Duration.millis(validate.duration(`${place}.attemptTimeout`, timeout, 1)),
    allows,
    when: options.when,
    repeatable: options.repeatable,
    onRetry: options.onRetry,
    onEvent: options.onEvent,
    origin: options.origin,
    attemptSpans,
    budget,
    most: mostOf(policy),
    keyed,
    label: undefined,
    warned: undefined,
    inside: undefined,
    site: undefined,
    fiber: -1,
    repeated: 0
  }
}

const mosts = /* @__PURE__ */ new WeakMap<Policy.Any, number>()

const mostOf = (policy: Policy.Any): number => {
  let most = mosts.get(policy)
  if (most === undefined) mosts.set(policy, most = Spec.mostAttempts(policy.spec))
  return most
}

const bareSettings = new WeakMap<Policy.Any, internal.Settings>()

/** Without options the settings are the same for every run of a policy. */
const runSettings = (policy: Policy.Any, options: AnyOptions | undefined): internal.Settings => {
  if (options !== undefined) return settingsOf("run", policy, options)
  let settings = bareSettings.get(policy)
  if (settings === undefined) bareSettings.set(policy, settings = settingsOf("run", policy, {}))
  return settings
}

/**
 * Runs an effect under a policy: tries it again while the policy says so, and fails with `RetryExhausted` when the
 * policy gives up on an error that it would retry. A terminal error leaves unchanged, with its original `Cause`; so
 * do defects, interruption and a `RetryExhausted` of a run inside.
 *
 * It trusts the policy: a policy without classification retries every typed error, whatever it means. Add
 * `Policy.whileTag` or `Policy.whileInput(Transience.isTransient)`, and see {@link make} for operations that must not
 * run twice.
 *
 * ```ts
 * import { Policy, Retry } from "@reprise/core"
 * import { Data, Effect } from "effect"
 *
 * class Timeout extends Data.TaggedError("Timeout")<{}> {}
 * class CardDeclined extends Data.TaggedError("CardDeclined")<{}> {}
 *
 * declare const charge: Effect.Effect<string, Timeout | CardDeclined>
 *
 * const policy = Policy.standard.pipe(Policy.whileTag("Timeout"))
 * const safe = () => charge.pipe(Retry.run(policy, { name: "charge", attemptTimeout: "2 seconds" }))
 * // Effect<string, CardDeclined | RetryExhausted<Timeout | TimeoutError>>
 * console.log(typeof safe) // => function
 * ```
 *
 * @throws `InvalidPolicy` for a policy without an end that does not say `unlimited`, and for a bad option
 * @category running
 */
export const run: {
  <A, E extends I, R, I, T, H>(self: Effect.Effect<A, E, R>, policy: Policy.Policy<I, T, H>): Effect.Effect<
    A,
    | Exclude<E, H>
    | Extract<E, RetryExhausted>
    | Exhausted<Meet<Exclude<E, RetryExhausted>, T>>,
    R
  >
  <A, E extends I, R, I, T, H, const O extends Options<Meet<Exclude<E, RetryExhausted>, T>, unknown>>(
    self: Effect.Effect<A, E, R>,
    policy: Policy.Policy<I, T, H>,
    options: Only<O, Options>
  ): Effect.Effect<
    A,
    | Exclude<E, HandledWith<O, H>>
    | Extract<E, RetryExhausted>
    | Exhausted<Meet<Exclude<E, RetryExhausted>, T> | TimeoutOf<O>>,
    R | NeededBy<O>
  >
  <I, T, H>(policy: Policy.Policy<I, T, H>): <A, E extends I, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<
    A,
    | Exclude<E, H>
    | Extract<E, RetryExhausted>
    | Exhausted<Meet<Exclude<E, RetryExhausted>, T>>,
    R
  >
  <I, T, H, const O extends Options<unknown, unknown>>(policy: Policy.Policy<I, T, H>, options: Only<O, Options>): <
    A,
    E extends I,
    R
  >(self: Effect.Effect<A, E, R> & Readable<Meet<Exclude<E, RetryExhausted>, T>, O>) => Effect.Effect<
    A,
    | Exclude<E, HandledWith<O, H>>
    | Extract<E, RetryExhausted>
    | Exhausted<Meet<Exclude<E, RetryExhausted>, T> | TimeoutOf<O>>,
    R | NeededBy<O>
  >
  <I, T, H, const O extends Options<never, unknown>>(policy: Policy.Policy<I, T, H>, options: Only<O, Options>): <
    A,
    E extends I,
    R
  >(self: Effect.Effect<A, E, R> & Readable<Meet<Exclude<E, RetryExhausted>, T>, O>) => Effect.Effect<
    A,
    | Exclude<E, HandledWith<O, H>>
    | Extract<E, RetryExhausted>
    | Exhausted<Meet<Exclude<E, RetryExhausted>, T> | TimeoutOf<O>>,
    R | NeededBy<O>
  >
} = (first: AnyEffect | Policy.Any, second?: Policy.Any | AnyOptions, third?: AnyOptions): never => {
  // `never` fits each overload, which say which of the two forms it is. A bad policy throws before there is an effect.
  if (Effect.isEffect(first)) return internal.run(first, runSettings(second as Policy.Any, third)) as never
  const settings = runSettings(first, second as AnyOptions | undefined)
  return ((self: AnyEffect) => internal.run(self, settings)) as never
}

type AnyEffect = Effect.Effect<unknown, unknown, unknown>

const keyed = (
  make: (key: IdempotencyKey.IdempotencyKey) => AnyEffect,
  key: IdempotencyKey.IdempotencyKey | undefined,
  settings: internal.Settings
): AnyEffect =>
  Effect.flatMap(
    key === undefined ? IdempotencyKey.generate : Effect.succeed(IdempotencyKey.make(key)),
    (key) =>
      internal.run(
        Effect.provideService(Effect.suspend(() => make(key)), IdempotencyKey.Current, Option.some(key)),
        settings
      )
  )

/**
 * As {@link run}, for an operation that the receiver deduplicates: one idempotency key is made for the whole run and
 * given to every attempt, as the argument and as `IdempotencyKey.Current`. A run around it that tries the whole again
 * makes another run of it, with another key: pass `key` there.
 *
 * - `key`: a key of the caller's own, such as one derived from an order's id, which stays the same when the program
 *   starts anew. Default: a new one from `IdempotencyKey.Generator`
 *
 * ```ts
 * import { IdempotencyKey, Policy, Retry } from "@reprise/core"
 * import { Effect } from "effect"
 *
 * const charge = Retry.runKeyed(
 *   Policy.standard,
 *   (key) => Effect.succeed(`sent with ${key}`),
 *   { key: IdempotencyKey.make("order-1017") }
 * )
 *
 * console.log(await Effect.runPromise(charge)) // => sent with order-1017
 * ```
 *
 * @throws `InvalidPolicy` as {@link run}
 * @category running
 */
export const runKeyed: {
  <A, E extends I, R, I, T, H>(
    policy: Policy.Policy<I, T, H>,
    make: (key: IdempotencyKey.IdempotencyKey) => Effect.Effect<A, E, R>
  ): Effect.Effect<
    A,
    | Exclude<E, H>
    | Extract<E, RetryExhausted>
    | Exhausted<Meet<Exclude<E, RetryExhausted>, T>>,
    R
  >
  <A, E extends I, R, I, T, H, const O extends KeyedOptions<Meet<Exclude<E, RetryExhausted>, T>, unknown>>(
    policy: Policy.Policy<I, T, H>,
    make: (key: IdempotencyKey.IdempotencyKey) => Effect.Effect<A, E, R>,
    options: Only<O, KeyedOptions>
  ): Effect.Effect<
    A,
    | Exclude<E, HandledWith<O, H>>
    | Extract<E, RetryExhausted>
    | Exhausted<Meet<Exclude<E, RetryExhausted>, T> | TimeoutOf<O>>,
    R | NeededBy<O>
  >
} = (
  policy: Policy.Any,
  make: (key: IdempotencyKey.IdempotencyKey) => AnyEffect,
  options: AnyOptions = {}
  // `never` fits each overload; the driver is untyped inside.
): never =>
  keyed(
    make,
    options.key,
    settingsOf("runKeyed", policy, options, ["key"], { keyed: options.key === undefined })
  ) as never

/**
 * How a policy is run with a key.
 *
 * @category models
 */
export interface KeyedOptions<in E = unknown, out R = never> extends Options<E, R> {
  /** The caller's own key. Default: a new one for each run, from `IdempotencyKey.Generator`. */
  readonly key?: IdempotencyKey.IdempotencyKey | undefined
}

/**
 * Why it is safe to run an operation again.
 *
 * - `"idempotent"`: a second execution changes nothing
 * - `"keyed"`: every attempt carries the same idempotency key, and the receiver deduplicates
 * - `"transactional"`: a failed attempt has been rolled back as a whole
 * - `"none"`: it is not safe, so only failures known not to have applied are retried, and others leave as they are: see
 *   that no layer around takes them for its own, or use `repeatable`, whose refusal no layer retries. An error of your own is known
 *   where it describes itself (`Transience.TypeId`) or a rule of `transience` knows it, and else leaves unchanged; so
 *   does an attempt timeout
 *
 * @category models
 */
export type Idempotency = "idempotent" | "keyed" | "transactional" | "none"

/**
 * A configured retry; see {@link make}.
 *
 * @category models
 */
export interface Config<in E = unknown, out R = never> extends Options<E, R> {
  /** Name of the operation in errors and events. */
  readonly name: string
  readonly policy: Policy.Any
  /** Why it is safe to run the operation again. */
  readonly idempotency: Idempotency
  /** With `idempotency: "none"`, what knows whether a failed attempt applied. Default: `Transience.standard`. */
  readonly transience?: Transience.Classifier | undefined
}

type AnyConfig = Config<never, unknown>

/**
 * What certainly does not leave a configured run as it is: nothing where only failures that did not apply are retried.
 *
 * @category type helpers
 */
export type HandledBy<O extends AnyConfig> = "none" extends O["idempotency"] ? never
  : HandledWith<O, Policy.Handled<O["policy"]>>

/**
 * The attempt timeouts that leave a configured run as they are: those of an operation that must not run twice.
 *
 * @category type helpers
 */
export type RawTimeoutOf<O extends AnyConfig> = "none" extends O["idempotency"] ? TimeoutOf<O> : never

/**
 * A retry configured once, used as a function of the effect. With `idempotency: "keyed"` it also takes a function of
 * the key, and a `key` of the caller's own as `runKeyed` does.
 *
 * @category models
 */
export interface Retrier<O extends AnyConfig> {
  <A, E extends Policy.Input<O["policy"]>, R>(
    self:
      & (
        | Effect.Effect<A, E, R>
        | (O["idempotency"] extends "keyed" ? (key: IdempotencyKey.IdempotencyKey) => Effect.Effect<A, E, R> : never)
      )
      & Readable<Meet<Exclude<E, RetryExhausted>, Policy.Retried<O["policy"]>>, O>,
    ...options: O["idempotency"] extends "keyed" ? [options?: Pick<KeyedOptions, "key">] : []
  ): Effect.Effect<
    A,
    | Exclude<E, HandledBy<O>>
    | Extract<E, RetryExhausted>
    | RawTimeoutOf<O>
    | Exhausted<Meet<Exclude<E, RetryExhausted>, Policy.Retried<O["policy"]>> | TimeoutOf<O>>,
    R | NeededBy<O>
  >
  readonly config: O
}

/**
 * A reusable, named retry for one kind of operation, which says why it is safe to run it again.
 *
 * ```ts
 * import { Policy, Retry } from "@reprise/core"
 * import { Effect } from "effect"
 *
 * const charging = Retry.make({
 *   name: "charge",
 *   policy: Policy.standard,
 *   attemptTimeout: "2 seconds",
 *   idempotency: "keyed"
 * })
 *
 * const charge = charging((key) => Effect.succeed(`sent with a key of ${key.length} characters`))
 *
 * console.log(await Effect.runPromise(charge)) // => sent with a key of 36 characters
 * ```
 *
 * @throws `InvalidPolicy` as {@link run}
 * @category running
 */
export const make: {
  <const O extends Config<unknown, unknown>>(config: Only<O, Config>): Retrier<O>
  <const O extends Config<never, unknown>>(config: Only<O, Config>): Retrier<O>
} = (config: AnyConfig): Retrier<never> => {
  const { idempotency, policy, transience = Transience.standard } = validate.options("make.config", config)
  if (!idempotencies.includes(idempotency)) {
    throw new InvalidPolicy({
      argument: "make.idempotency",
      value: idempotency,
      rule: `one of ${idempotencies.join(", ")}`
    })
  }
  const settings = settingsOf(
    "make",
    policy,
    config,
    ["policy", "idempotency", "transience"],
    { allows: idempotency === "none" ? transience.notApplied : undefined, keyed: idempotency === "keyed" }
  )
  const retrier = (
    self: AnyEffect | ((key: IdempotencyKey.IdempotencyKey) => AnyEffect),
    options?: Pick<KeyedOptions, "key">
  ) => {
    if (!Effect.isEffect(self)) return keyed(self, options?.key, settings)
    return idempotency === "keyed" ? keyed(() => self, options?.key, settings) : internal.run(self, settings)
  }
  return Object.assign(retrier, { config }) as Retrier<never> // The interface says in types what the function does.
}

const idempotencies: ReadonlyArray<Idempotency> = ["idempotent", "keyed", "transactional", "none"]

/**
 * The attempt that is under way.
 *
 * @category models
 */
export interface Attempt {
  /** Number of the attempt; the first is 1. */
  readonly number: number
  /** The error of the attempt before; `undefined` in the first. */
  readonly previous: unknown
  /** From the start of attempt 1 to the start of this one. */
  readonly elapsed: Duration.Duration
}

/**
 * The attempt that is under way, readable anywhere inside it. Outside of a run it is attempt 1.
 *
 * @category references
 */
export const Attempt: Context.Reference<Attempt> = internal.Attempt

/**
 * The attempt that is under way, for {@link promise}.
 *
 * @category models
 */
export interface PromiseAttempt extends Attempt {
  /** Aborted when the attempt is to end: its timeout, or the caller's own signal. Pass it on, to `fetch` for one. */
  readonly signal: AbortSignal
}

/**
 * How {@link promise} runs: as {@link Options}, with functions that return values or promises instead of effects. There
 * is no context around it: no budget but the one given, no switch, no observers, no deadline.
 *
 * @category models
 */
export interface PromiseOptions extends Pick<Options, "name" | "attemptTimeout" | "repeatable" | "budget"> {
  /** The caller's own: aborted, it ends an attempt or a wait at once, and its reason is what the promise rejects with. */
  readonly signal?: AbortSignal | undefined
  readonly when?: ((error: unknown) => boolean | PromiseLike<boolean>) | undefined
  readonly onRetry?: ((event: RetryEvent) => unknown) | undefined
}

const promiseKeys = ["name", "attemptTimeout", "repeatable", "budget", "when", "onRetry", "signal"]

/**
 * As {@link run}, for code that is not on Effect: calls a function until its promise is fulfilled, and rejects with
 * `RetryExhausted` when the policy gives up, or with the error itself when it is not worth a retry. An abort by the
 * caller's `signal` is never retried; an attempt timeout is.
 *
 * ```ts
 * import { Policy, Retry } from "@reprise/core"
 *
 * const flaky = async (attempt: Retry.PromiseAttempt) => {
 *   if (attempt.number < 3) throw new Error("not yet")
 *   return `done at attempt ${attempt.number}`
 * }
 *
 * console.log(await Retry.promise(flaky, Policy.delays(["1 millis", "2 millis"]))) // => done at attempt 3
 * ```
 *
 * @throws `InvalidPolicy`, as a rejection, as {@link run}
 * @category running
 */
export const promise = async <A>(
  f: (attempt: PromiseAttempt) => A | PromiseLike<A>,
  policy: Policy.Policy<unknown, unknown, never>,
  options: PromiseOptions = {}
): Promise<A> => {
  checkOptions("promise", validate.options("promise.options", options), promiseKeys)
  const { signal, ...rest } = options
  const settings = settingsOf("promise", policy, promises.optionsOf(rest))
  // The driver is untyped inside; it succeeds with what the function returns.
  return promises.start(internal.run(promises.attempted(f), settings) as Effect.Effect<A, unknown>, signal)
}
