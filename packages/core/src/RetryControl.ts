/**
 * An operator's switch: retries off, or fewer of them, in processes that run, without a deploy.
 *
 * In a storm the retries are the storm. A state says what holds for everything, for one operation (the `name` of its
 * runs) and for one origin; a file or a key in Redis brings it to every process within a second; and a run that waits
 * asks again before each retry, so with retries off there is none after two.
 *
 * ```ts
 * import { RetryControl } from "@reprise/core"
 * import { Effect } from "effect"
 *
 * const control = RetryControl.make()
 * console.log(control.setting("pay", undefined)) // => undefined
 *
 * Effect.runSync(control.set({ operations: { pay: { retries: "off" } }, by: "ana" }))
 * // => …Retries switched by the program: off for operation "pay"; by ana…
 * console.log(control.setting("pay", undefined)?.off) // => true
 * console.log(control.setting("search", undefined)) // => undefined
 * ```
 *
 * The strictest of the entries that apply holds: off before any ratio, and of two ratios both, which is the lower one.
 * So `retries: "on"` in an entry takes nothing back that a wider one has switched off; it is what an entry says that
 * says nothing. Without a switch in the context, and as long as nothing is switched, retries are on.
 */
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as DateTime from "effect/DateTime"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import type * as Layer from "effect/Layer"
import * as Redis from "effect/persistence/Redis"
import type * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import { type Control, CurrentControl } from "./internal/control.ts"
import { followFile } from "./internal/control/file.ts"
import type { InvalidControl } from "./internal/control/invalid.ts"
import { layer as layerOf } from "./internal/control/layer.ts"
import * as memory from "./internal/control/memory.ts"
import { followRedis } from "./internal/control/redis.ts"
import * as states from "./internal/control/state.ts"
import * as validate from "./internal/validate.ts"
import { InvalidPolicy } from "./InvalidPolicy.ts"

export { InvalidControl, isInvalidControl } from "./internal/control/invalid.ts"

/**
 * What is asked by each run: `setting(operation, origin)`, synchronously. It is `undefined` where nothing is switched.
 *
 * @category models
 */
export type { Control, Setting } from "./internal/control.ts"

/**
 * What holds for everything, for an operation or for an origin.
 *
 * - `retries`: `"off"` for no retry at all; the first attempt is always made. `"on"` is the default.
 * - `ratio`: at most so many retries to a request, 0 to 1, beside the budget that a client has of its own and counted
 *   in each process; 0 is off.
 *
 * @category models
 */
export type Entry = states.Entry

/**
 * What is switched, as plain data. `{}` is "everything on".
 *
 * - `retries`, `ratio`: for everything, as in {@link Entry}
 * - `operations`: entries by the `name` of a run
 * - `origins`: entries by what is called, such as `"https://api.example.com"`, written as `new URL(…).origin` writes it
 * - `by`, `at`, `why`: who, when and why, for the log: a line of at most 256 characters each
 *
 * A name has 1 to 256 characters and is not `__proto__`. Neither it nor a line has control characters, separators of
 * lines, or marks that turn the direction of a text: both stand in logs.
 *
 * @category models
 */
export type State = states.State

/**
 * The schema of a {@link State}. Decode with `onExcessProperty: "error"`, as {@link parse} does.
 *
 * @category schemas
 */
export const State: Schema.Codec<State> = states.schema

/**
 * A text as a state. The text is JSON of at most 65,536 characters. A key that is not known is an error, as a misspelt
 * one would switch nothing and say nothing, and so is one that is there twice, as only the last would hold. It fails
 * with the first place that is wrong, and quotes nothing else.
 *
 * ```ts
 * import { RetryControl } from "@reprise/core"
 * import { Result } from "effect"
 *
 * const state = RetryControl.parse(`{ "operation": { "pay": { "retries": "off" } } }`)
 * console.log(Result.getFailure(state).pipe(String))
 * // => …The key operation must be one of retries, ratio, operations, origins, by, at, why (did you mean operations?)…
 * ```
 *
 * @category conversions
 */
export const parse: (text: string) => Result.Result<State, InvalidControl> = states.fromText

/**
 * A switch that a program sets.
 *
 * - `state`: what is set
 * - `set`: sets another state, in place of the whole of the last one, and logs what, who, when and why. An entry whose
 *   ratio stays keeps what it has counted. It fails with `InvalidControl` and changes nothing where a rule is broken.
 *
 * @category models
 */
export interface RetryControl extends Control {
  readonly state: Effect.Effect<State>
  readonly set: (state: State) => Effect.Effect<void, InvalidControl>
}

/**
 * A switch in memory; everything is on where no state is given.
 *
 * @throws `InvalidControl`
 * @category constructors
 */
export const make = (initial: State = {}): RetryControl => memory.make(initial)

/**
 * Several switches as one: the strictest setting of them all, and of two ratios both.
 *
 * @category combinators
 */
export const all = (controls: ReadonlyArray<Control>): Control => memory.all(Array.from(controls))

/**
 * The switch that runs ask; none by default. Every layer here provides it, together with those around it and beside it:
 * in `Layer.provide(RetryControl.layerFile(…), RetryControl.layerRedis())` both hold, and so they do in `Layer.merge`.
 * Runtimes that are made with one memo map have the switches of all of them.
 *
 * @category references
 */
export const Current: Context.Reference<Control | undefined> = CurrentControl

/**
 * Provides a switch to the runs inside.
 *
 * @category layers
 */
export const layer = (control: Control): Layer.Layer<never> => layerOf(Effect.succeed(control))

const leastPoll = 10
const defaultKey = "reprise:control"

/**
 * How a file is followed.
 *
 * - `path`: the file. It need not be there yet.
 * - `poll`: how often the file is read besides, where no event says that it has changed; `"1 second"` by default, at
 *   least 10 ms
 *
 * @category models
 */
export interface FileOptions {
  readonly path: string
  readonly poll?: Duration.Input
}

/**
 * Provides a switch that follows a file, and is set as the file says before the layer is built.
 *
 * The file is watched, and read at every `poll` besides: a network's file system has no events. Without the file
 * everything is on, also when it is removed later; as an editor takes a file away for a moment, that counts once it has
 * lasted. A file that is malformed, half-written or out of reach changes nothing, and one warning says so: one for each
 * malformed content, and one each time that it goes out of reach. A read may take 1 second. Each change is logged. A
 * process that was frozen while the file changed may start a retry before it has read it.
 *
 * ```ts no-run it needs a file
 * import { NodeFileSystem } from "@effect/platform-node"
 * import { RetryControl } from "@reprise/core"
 * import { Layer } from "effect"
 *
 * export const live = RetryControl.layerFile({ path: "/etc/shop/retries.json" }).pipe(
 *   Layer.provide(NodeFileSystem.layer)
 * )
 * ```
 *
 * @throws `InvalidPolicy` for wrong options
 * @category layers
 */
export const layerFile = (options: FileOptions): Layer.Layer<never, never, FileSystem.FileSystem> => {
  const { path, poll = "1 second" } = validate.options("RetryControl.layerFile.options", options)
  if (typeof path !== "string" || path === "") {
    throw new InvalidPolicy({ argument: "RetryControl.layerFile.path", value: path, rule: "the path of a file" })
  }
  const millis = validate.duration("RetryControl.layerFile.poll", poll, leastPoll)
  const follow = Effect.flatMap(FileSystem.FileSystem, (files) => {
    const control = memory.make({})
    return Effect.as(followFile(control, files, path, millis), control)
  })
  return layerOf(follow)
}

/**
 * Where in Redis a state is, and how it is followed.
 *
 * - `key`: `"reprise:control"` by default
 * - `channel`: where changes are published; the key by default
 * - `poll`: how often the key is read besides; `"1 second"` by default, at least 10 ms
 *
 * @category models
 */
export interface RedisOptions {
  readonly key?: string
  readonly channel?: string
  readonly poll?: Duration.Input
}

const checkNames = (constructor: string, key: string, channel: string): void => {
  for (const [option, value] of [["key", key], ["channel", channel]] as const) {
    if (typeof value === "string" && value !== "") continue
    throw new InvalidPolicy({ argument: `${constructor}.${option}`, value, rule: "a text that is not empty" })
  }
}

/**
 * Provides a switch that follows a key in Redis, and is set as the key says before the layer is built, which takes at
 * most 1 second with a server that does not answer.
 *
 * The key holds a state as JSON. Any message in the channel is a reason to look at it, and it is read at every `poll`
 * besides, as messages get lost. A server that is away or frozen, a malformed text, and a key that is gone (a server
 * may come back empty) change nothing, and one warning each says so. So retries are switched back on by `{}`, and not
 * by removing the key. Each change is logged. A command waits for at most 1 second.
 *
 * Give the client `disableOfflineQueue: true`, a `pingInterval` and a `socket` with `socketTimeout` and
 * `reconnectStrategy`: without them it does not notice that a server is frozen, and is away for as long.
 *
 * ```ts no-run it needs a server
 * import { NodeRedis } from "@effect/platform-node"
 * import { RetryControl } from "@reprise/core"
 * import { Layer } from "effect"
 *
 * export const live = RetryControl.layerRedis().pipe(
 *   Layer.provide(NodeRedis.layer({
 *     url: "redis://localhost:6379",
 *     disableOfflineQueue: true,
 *     pingInterval: 1_000,
 *     socket: { socketTimeout: 3_000, reconnectStrategy: 500 }
 *   }))
 * )
 * ```
 *
 * @throws `InvalidPolicy` for wrong options
 * @category layers
 */
export const layerRedis = (options: RedisOptions = {}): Layer.Layer<never, never, Redis.Redis> => {
  const { key = defaultKey, channel = key, poll = "1 second" } = validate.options(
    "RetryControl.layerRedis.options",
    options
  )
  checkNames("RetryControl.layerRedis", key, channel)
  const millis = validate.duration("RetryControl.layerRedis.poll", poll, leastPoll)
  const follow = Effect.flatMap(Redis.Redis, (redis) => {
    const control = memory.make({})
    return Effect.as(followRedis(control, redis, key, channel, millis), control)
  })
  return layerOf(follow)
}

/**
 * Sets the state in Redis for all who follow the key, and tells them; for an operator's script. It is in place of the
 * whole of the last one. Without an `at` it gets the time of now. It fails with `InvalidControl` where the state breaks
 * a rule, and with `RedisError` where the server refuses it or does not answer within 5 seconds, when it may be set
 * none the less; to publish once more does no harm.
 *
 * ```ts no-run it needs a server
 * import { NodeRedis } from "@effect/platform-node"
 * import { RetryControl } from "@reprise/core"
 * import { Effect } from "effect"
 *
 * const off = RetryControl.publish({ retries: "off", by: "ana", why: "the storm of 9:40" })
 * await Effect.runPromise(Effect.provide(off, NodeRedis.layer({ url: "redis://localhost:6379" })))
 * ```
 *
 * @throws `InvalidPolicy` for wrong options
 * @category constructors
 */
export const publish = (
  state: State,
  options: Omit<RedisOptions, "poll"> = {}
): Effect.Effect<void, InvalidControl | Redis.RedisError, Redis.Redis> => {
  const { key = defaultKey, channel = key } = validate.options("RetryControl.publish.options", options)
  checkNames("RetryControl.publish", key, channel)
  return Effect.gen(function* () {
    const valid = yield* Effect.fromResult(states.fromUnknown(state))
    const text = JSON.stringify({ ...valid, at: valid.at ?? DateTime.formatIso(yield* DateTime.now) })
    yield* Effect.fromResult(parse(text))
    const redis = yield* Redis.Redis
    yield* redis.send("SET", key, text)
    yield* redis.send("PUBLISH", channel, "changed")
  }).pipe(
    Effect.timeoutOrElse({
      duration: "5 seconds",
      orElse: () => Effect.fail(new Redis.RedisError({ cause: new Cause.TimeoutError("No answer within 5 seconds") }))
    })
  )
}
