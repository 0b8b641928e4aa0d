/**
 * One retry layer, not three: how many retry loops stand around the present place, and what that may come to.
 *
 * Three layers of three attempts are 27 executions of one call. Every run of `Retry` puts itself on the list of layers
 * for all that it runs, forks and streams included; layers that are not of this library count when they are declared.
 * Exhaustion inside is terminal outside, so runs of this library do not multiply on one failure; but a run outside
 * starts all over after a failure that came later. As soon as two runs that can both retry are nested, a warning names
 * both and the most executions that it may come to, once a pair.
 *
 * ```ts
 * import { Policy, Retry, RetryLayers } from "@reprise/core"
 *
 * const program = RetryLayers.total.pipe(
 *   Retry.run(Policy.standard, { name: "charge" }),
 *   RetryLayers.declare({ name: "envoy", attempts: 3 })
 * )
 *
 * import { Effect, Logger } from "effect"
 * console.log(await Effect.runPromise(program.pipe(Effect.provide(Logger.layer([]))))) // => 9
 * ```
 */
import * as Effect from "effect/Effect"
import type * as Context from "effect/Context"
import { dual } from "effect/Function"
import * as ambient from "./internal/ambient.ts"
import * as nesting from "./internal/nesting.ts"
import { oneLine } from "./internal/oneLine.ts"
import * as validate from "./internal/validate.ts"

/**
 * A retry loop around the present place.
 *
 * @category models
 */
export interface Layer {
  /** Its name; the policy of a run that has none. */
  readonly name: string
  /** The most executions that it makes, the first one included. */
  readonly attempts: number | "unlimited"
}

const published = (attempts: number): number | "unlimited" => attempts === Infinity ? "unlimited" : attempts

/**
 * The layers around the present place, the outermost first.
 *
 * @category reading
 */
export const current: Effect.Effect<ReadonlyArray<Layer>> = /* @__PURE__ */ Effect.withFiber((fiber) => {
  const layers: Array<Layer> = []
  for (let at = fiber.getRef(ambient.Ambient).frame; at !== undefined; at = at.outer) {
    layers.unshift({ name: at.name(), attempts: published(at.attempts) })
  }
  return Effect.succeed(layers)
})

/**
 * The executions that one call at the present place may come to, all layers together: the product of their attempts.
 * 1 where there is no layer.
 *
 * @category reading
 */
export const total: Effect.Effect<number | "unlimited"> = /* @__PURE__ */ Effect.withFiber((fiber) =>
  Effect.succeed(published(fiber.getRef(ambient.Ambient).frame?.total ?? 1))
)

/**
 * Says that a layer of another kind retries what is inside: a proxy, an SDK, a queue that delivers again. It changes no
 * behaviour; it is counted in {@link total}, and runs inside are warned of.
 *
 * - `attempts`: the most executions that it makes, the first one included. An integer of at least 1, or `"unlimited"`
 *
 * @throws `InvalidPolicy` for another number
 * @category combinators
 */
export const declare: {
  (layer: Layer): <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  <A, E, R>(self: Effect.Effect<A, E, R>, layer: Layer): Effect.Effect<A, E, R>
} = /* @__PURE__ */ dual(
  2,
  <A, E, R>(self: Effect.Effect<A, E, R>, { attempts, name }: Layer): Effect.Effect<A, E, R> => {
    const layer = {
      name: () => oneLine(name),
      attempts: attempts === "unlimited" ? Infinity : validate.integer("RetryLayers.declare.attempts", attempts, 1),
      ours: false,
      meter: undefined,
      operation: undefined,
      origin: undefined
    }
    return ambient.update(self, (present) => ({ ...present, frame: ambient.frameOf(layer, present.frame) }))
  }
)

/**
 * Says which attempt of the caller's the incoming request is, as told by a header such as `retry-attempt`,
 * `x-envoy-attempt-count` or `grpc-previous-rpc-attempts`. From the second on, runs inside are no original requests:
 * they earn a retry budget nothing. Where a number is not a positive integer, it counts as the first.
 *
 * - `attempt`: the first is 1
 *
 * @category combinators
 */
export const incoming: {
  (request: { readonly attempt: number }): <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  <A, E, R>(self: Effect.Effect<A, E, R>, request: { readonly attempt: number }): Effect.Effect<A, E, R>
} = /* @__PURE__ */ dual(
  2,
  <A, E, R>(self: Effect.Effect<A, E, R>, { attempt }: { readonly attempt: number }): Effect.Effect<A, E, R> =>
    Number.isSafeInteger(attempt) && attempt > 1 ? derived(self) : self
)

/**
 * Says that what is inside is no original request but comes of one that was counted: a hedge, a redrive of a dead
 * letter, a replay. Runs inside earn a retry budget nothing; they may take from it.
 *
 * @category combinators
 */
export const derived = <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  ambient.update(self, (present) => present.derived ? present : { ...present, derived: true })

/**
 * Takes an effect out of all layers, and of the deadline: for work that outlives the call that started it, such as a
 * worker that the first request starts, which would else wait for that request's deadline, and count among its retries,
 * for as long as it lives.
 *
 * @category combinators
 */
export const detached = <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  ambient.update(self, () => ambient.none)

/**
 * What is done about a run that stands inside another one of this library, and can retry as well.
 *
 * - `"allow"`: both retry, and a warning says so, once in a process for each pair of names
 * - `"collapse"`: the run inside makes one attempt and leaves its failure to the run around it, whose policy judges it
 *   as if it were its own, also under an error that it was mapped to. Before that the run inside says what it has to
 *   say itself: its policy, the switch, `repeatable`, `when`, and its own budget where it is another one. A run that
 *   makes a key for itself is not collapsed, as the receiver must see one key. Nor is a run in a declared layer alone,
 *   which nobody can hand anything. What an attempt forks collapses too, and if it outlives the run, nobody retries it:
 *   see {@link detached}
 * - `"fail"`: the run inside dies with a `NestedRetry` before its first attempt. For tests, and for services that want
 *   none of it
 *
 * @category models
 */
export type Mode = nesting.Mode

/**
 * The {@link Mode}, for everything that it is provided to. Default: `"allow"`.
 *
 * @category references
 */
export const Mode: Context.Reference<Mode> = nesting.Mode
