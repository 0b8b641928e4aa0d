/**
 * What happens in runs, told as it happens.
 *
 * An {@link Observer} is told of every run in its context; {@link layer} puts observers there. `RetryMetrics`,
 * `RetryLog` and `RetrySpans` have those that most programs need, {@link observer} makes one of functions, and
 * {@link layerPubSub} is for those who would rather read a stream.
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import type * as PubSub from "effect/PubSub"
import type * as Scope from "effect/Scope"
import * as buses from "./internal/observe/bus.ts"
import { guarded } from "./internal/observe/guarded.ts"
import { layer as layerOf } from "./internal/observe/layer.ts"
import type { Observer as ObserverOf } from "./internal/observe/observer.ts"
import type { RetryExhausted } from "./RetryExhausted.ts"

// ---------------------------------------------------------------------------------------------------------------------
// Events
// ---------------------------------------------------------------------------------------------------------------------

/**
 * What every event of a run says.
 *
 * @category models
 */
export interface Base {
  /** Name of the run, where it was given one. */
  readonly operation: string | undefined
  /** From the start of attempt 1 until now. */
  readonly elapsed: Duration.Duration
  /** Number of the attempt that is under way or has just ended; the first is 1. So: executions until now. */
  readonly attempt: number
}

/**
 * An attempt failed with a typed error. What comes of it is the next event.
 *
 * @category models
 */
export interface AttemptFailed<out E = unknown> extends Base {
  readonly _tag: "AttemptFailed"
  readonly error: E
}

/**
 * A retry is granted, and its wait begins.
 *
 * @category models
 */
export interface RetryScheduled<out E = unknown> extends Base {
  readonly _tag: "RetryScheduled"
  readonly error: E
  /** The wait that comes now. */
  readonly delay: Duration.Duration
}

/**
 * The run succeeded, at whichever attempt.
 *
 * @category models
 */
export interface Succeeded extends Base {
  readonly _tag: "Succeeded"
}

/**
 * The run ended with an error that is not worth a retry, or with a defect (`error` is the squashed cause then).
 *
 * @category models
 */
export interface Terminal<out E = unknown> extends Base {
  readonly _tag: "Terminal"
  readonly error: E
  /** The policy asked `Transience`, and nothing there knew the error. */
  readonly unclassified: boolean
}

/**
 * The run gave up on an error that was worth a retry.
 *
 * @category models
 */
export interface Exhausted<out E = unknown> extends Base {
  readonly _tag: "Exhausted"
  readonly error: RetryExhausted<E>
}

/**
 * The client's retry budget said no; `Exhausted` with reason `Budget` follows.
 *
 * @category models
 */
export interface BudgetDenied<out E = unknown> extends Base {
  readonly _tag: "BudgetDenied"
  readonly error: E
}

/**
 * The run was interrupted, in an attempt or in a wait.
 *
 * @category models
 */
export interface Interrupted extends Base {
  readonly _tag: "Interrupted"
}

/**
 * An event of a run.
 *
 * @category models
 */
export type RetryEvent<E = unknown> =
  | AttemptFailed<E>
  | RetryScheduled<E>
  | Succeeded
  | Terminal<E>
  | Exhausted<E>
  | BudgetDenied<E>
  | Interrupted

// ---------------------------------------------------------------------------------------------------------------------
// Observers
// ---------------------------------------------------------------------------------------------------------------------

/**
 * Somebody who is told of runs: synchronously, on the fiber of the run, so quickly and without throwing. Make your own
 * with {@link observer}, which sees to the second.
 *
 * @category observers
 */
export type Observer = ObserverOf

/**
 * What an observer of your own does; each function may be left out.
 *
 * @category observers
 */
export interface Functions {
  /** The first attempt of a run starts: once for each run, also for those that will succeed. `undefined`: no name. */
  readonly started?: ((operation: string | undefined) => void) | undefined
  /** A retry starts, after its wait: once for each attempt after the first. */
  readonly retried?: ((operation: string | undefined) => void) | undefined
  /** A wait begins (1), or is over or interrupted (-1). */
  readonly waiting?: ((operation: string | undefined, change: 1 | -1) => void) | undefined
  /**
   * Whether `event` is told of runs that end without a failure: those that succeed at their first attempt, and those
   * that are interrupted in it. Asked when a run starts; such runs then pay for an event each. Default: no.
   */
  readonly wantsFirstSuccess?: (() => boolean) | undefined
  /** Something happened. The fiber is that of the run: its context has the caller's loggers and spans. */
  readonly event?: ((event: RetryEvent, fiber: Fiber.Fiber<unknown, unknown>) => void) | undefined
}

/**
 * An observer made of functions. What they throw does not reach the run: the first time is logged as a warning, with
 * the type of the error, and the rest is ignored. So is the rejection of a promise that `event` returns.
 *
 * To do something that takes time, read {@link layerPubSub} instead.
 *
 * ```ts
 * import { Policy, Retry, RetryEvents } from "@reprise/core"
 * import { Duration, Effect } from "effect"
 *
 * const observer = RetryEvents.observer({
 *   event: (event) => {
 *     if (event._tag === "RetryScheduled") console.log(`${event.operation} again in ${Duration.format(event.delay)}`)
 *   }
 * })
 *
 * const program = Effect.fail("busy").pipe(
 *   Retry.run(Policy.recurs(Policy.constant("5 millis"), 1), { name: "charge" }),
 *   Effect.ignore
 * )
 *
 * await Effect.runPromise(Effect.provide(program, RetryEvents.layer([observer]))) // => charge again in 5ms
 * ```
 *
 * @category observers
 */
export const observer: (functions: Functions) => Observer = guarded

/**
 * A layer that adds observers for all runs in its context. Effects are run when the layer is built, with its scope.
 *
 * Layers add to each other, stacked (`Effect.provide` in `Effect.provide`, `Layer.provideMerge`) and side by side
 * (`Layer.mergeAll`). Layers that are built side by side share their observers with everything that is built with them.
 * So do runtimes that are made with one memo map (`ManagedRuntime.make` with the option `memoMap`), while both live: give
 * none to a runtime whose runs the others must not see, and it has one of its own.
 *
 * - `mergeWithExisting`: whether the observers of the context stay. Default: `true`. With `false` there are only these,
 *   and none at all where the list is empty: silence for a part of a program
 *
 * @category layers
 */
export const layer = <
  const Observers extends ReadonlyArray<Observer | Effect.Effect<Observer, unknown, unknown>>
>(
  observers: Observers,
  options?: { readonly mergeWithExisting?: boolean | undefined }
): Layer.Layer<
  never,
  Effect.Error<Extract<Observers[number], Effect.Effect<unknown, unknown, unknown>>>,
  Exclude<Effect.Services<Extract<Observers[number], Effect.Effect<unknown, unknown, unknown>>>, Scope.Scope>
> =>
  layerOf(
    // What the effects fail with and need is in the type of the layer, which an array of them loses.
    observers as ReadonlyArray<Observer | Effect.Effect<Observer, never, never>>,
    options?.mergeWithExisting ?? true
  )

// ---------------------------------------------------------------------------------------------------------------------
// The bus
// ---------------------------------------------------------------------------------------------------------------------

/**
 * A `PubSub` of events that knows whether anybody subscribed.
 *
 * @category models
 */
export interface Bus extends PubSub.PubSub<RetryEvent> {
  /** Whether there is a subscription now. While there is none, nothing is published. */
  readonly isWatched: () => boolean
}

const BusKey: Context.ServiceClass<RetryEvents, "@reprise/core/RetryEvents", Bus> = /* @__PURE__ */ Context.Service<
  RetryEvents,
  Bus
>()("@reprise/core/RetryEvents")

/**
 * The events of all runs in the context, for whoever subscribes: with `PubSub.subscribe` or `Stream.fromPubSub`.
 *
 * @category services
 */
export class RetryEvents extends BusKey {}

/**
 * The options of {@link layerPubSub}.
 *
 * @category models
 */
export interface BusOptions {
  /**
   * Events that the slowest subscriber may be behind; past that it loses the oldest ones, and runs are never held up.
   * An integer of at least 1. Default: 1,024.
   */
  readonly capacity?: number | undefined
}

/**
 * The observer that publishes on the bus of the context; {@link layerPubSub} has it already.
 *
 * @category observers
 */
export const bus: Effect.Effect<Observer, never, RetryEvents> = /* @__PURE__ */ Effect.map(BusKey, buses.observer)

/**
 * A layer with a bus, and the observer that publishes on it. Subscribers are told of every run, also of one that
 * succeeds at its first attempt; while there is none, that costs nothing but the question.
 *
 * An event holds the error of the run. A subscriber that stays behind keeps up to `capacity` of them alive.
 *
 * ```ts
 * import { Policy, Retry, RetryEvents } from "@reprise/core"
 * import { Effect, PubSub } from "effect"
 *
 * const program = Effect.gen(function*() {
 *   const subscription = yield* PubSub.subscribe(yield* RetryEvents.RetryEvents)
 *   yield* Effect.fail("busy").pipe(Retry.run(Policy.immediate(1)), Effect.ignore)
 *   return (yield* PubSub.takeAll(subscription)).map((event) => event._tag)
 * })
 *
 * const told = await Effect.runPromise(program.pipe(Effect.scoped, Effect.provide(RetryEvents.layerPubSub())))
 * console.log(told.join(" ")) // => AttemptFailed RetryScheduled AttemptFailed Exhausted
 * ```
 *
 * @throws `InvalidPolicy` for a capacity that is no integer of at least 1
 * @category layers
 */
export const layerPubSub = (options?: BusOptions): Layer.Layer<RetryEvents> =>
  Layer.provideMerge(layer([bus]), Layer.effect(RetryEvents, buses.make(options?.capacity ?? buses.defaultCapacity)))
