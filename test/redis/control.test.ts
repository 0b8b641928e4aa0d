import * as NodeRedis from "@effect/platform-node/NodeRedis"
import * as RetryControl from "@reprise/core/RetryControl"
import { describe, expect, it } from "@effect/vitest"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Redis from "effect/persistence/Redis"
import * as Scope from "effect/Scope"
import { performance } from "node:perf_hooks"
import { setTimeout } from "node:timers/promises"
import { afterAll, afterEach, beforeAll } from "vitest"
import { until } from "../core/until.ts"
import { hasOwnRedis, hasRedis, type RedisServer, startOwnRedis, startRedis } from "./server.ts"

let server: RedisServer
let keys = 0

const client = (options: { readonly noticesFreezes?: boolean } = {}) =>
  NodeRedis.layer({
    url: server.url,
    disableOfflineQueue: true,
    ...(options.noticesFreezes === false
      ? { socket: { reconnectStrategy: 100 } }
      : { pingInterval: 150, socket: { socketTimeout: 400, reconnectStrategy: 100 } })
  })

const pause = (millis: number) => Effect.promise(() => setTimeout(millis))

/** A key that is followed, with a client of its own. */
const followed = (options: {
  readonly initial?: string
  readonly poll?: Duration.Input
  readonly noticesFreezes?: boolean
  /** What happens between the client's start and the switch's. */
  readonly before?: Effect.Effect<void>
}) =>
  Effect.gen(function* () {
    const key = `reprise:test:${process.pid}:${performance.timeOrigin}:${++keys}`
    const lines: Array<string> = []
    const logger = Logger.layer([
      Logger.make(({ logLevel, message }) => void lines.push(`${logLevel} ${String(message)}`))
    ])
    const context = yield* Layer.build(client(options).pipe(Layer.provide(logger)))
    const { send, ...rest } = Context.get(context, Redis.Redis)
    let sent = 0
    const counting = Redis.Redis.of({
      ...rest,
      send: (command, ...args) =>
        Effect.suspend(() => {
          sent++
          return send(command, ...args)
        })
    })
    yield* Effect.addFinalizer(() => send("DEL", key).pipe(Effect.timeout("200 millis"), Effect.ignore))
    if (options.initial !== undefined) yield* send("SET", key, options.initial)
    if (options.before !== undefined) yield* options.before
    const scope = yield* Scope.fork(yield* Effect.scope)
    const layer = RetryControl.layerRedis({ key, ...(options.poll === undefined ? {} : { poll: options.poll }) })
    const started = performance.now()
    const built = yield* Layer.build(layer.pipe(Layer.provide([logger, Layer.succeed(Redis.Redis, counting)]))).pipe(
      Scope.provide(scope)
    )
    const control = Context.get(built, RetryControl.Current)!
    return {
      key,
      lines,
      send,
      built: performance.now() - started,
      sent: () => sent,
      isOff: () => control.setting(undefined, undefined)?.off === true,
      /** Of the switch, and not of the client, which says much. */
      warnings: () => lines.filter((line) => line.startsWith("Warn The switch")),
      logged: (text: string) => lines.filter((line) => line.includes(text)).length,
      publish: (state: RetryControl.State) =>
        RetryControl.publish(state, { key }).pipe(
          Effect.provideService(Redis.Redis, Redis.Redis.of({ ...rest, send }))
        ),
      close: Scope.close(scope, Exit.void),
      /** Waits until it is so, and says for how many milliseconds. */
      until: (condition: () => boolean) => Effect.promise(() => until(condition, { lines }))
    }
  })

/** Publishes as an operator does, from a process of their own. */
const operator = (key: string, state: RetryControl.State) =>
  RetryControl.publish(state, { key }).pipe(Effect.provide([client(), Logger.layer([])]))

beforeAll(async () => {
  if (hasRedis) server = await (hasOwnRedis ? startOwnRedis() : startRedis())
})
// A test that failed in the middle leaves it killed or frozen.
afterEach(async () => {
  server?.thaw()
  await server?.start()
})
afterAll(() => server?.stop())

const off = JSON.stringify({ retries: "off", by: "ana" })

describe.skipIf(!hasRedis)("a key in Redis", () => {
  it.live("is read before the layer is built", () =>
    Effect.gen(function* () {
      const { isOff, key, logged } = yield* followed({ initial: off })
      expect(isOff()).toBe(true)
      expect(logged(`Info Retries switched by Redis key ${key}: off for everything; by ana`)).toBe(1)
    }))

  it.live("is followed by its messages", () =>
    Effect.gen(function* () {
      const { isOff, key, logged, until } = yield* followed({ poll: "1 hour" })
      expect(isOff()).toBe(false)
      yield* operator(key, { retries: "off", by: "ana", why: "the storm" })
      const latency = yield* until(isOff)
      expect(latency).toBeLessThan(1_000)
      expect(logged("off for everything; by ana; at 20")).toBe(1)
      yield* operator(key, {})
      expect(yield* until(() => !isOff())).toBeLessThan(1_000)
    }))

  it.live("is read every second where no message comes", () =>
    Effect.gen(function* () {
      const { isOff, key, send, until } = yield* followed({})
      yield* pause(300)
      yield* send("SET", key, off)
      const latency = yield* until(isOff)
      expect(latency).toBeLessThan(1_500)
    }))

  it.live("takes any message for a reason to look, and none for a state", () =>
    Effect.gen(function* () {
      const { isOff, key, send, until, warnings } = yield* followed({ poll: "1 hour" })
      yield* pause(300)
      yield* send("PUBLISH", key, off)
      yield* pause(200)
      expect(isOff()).toBe(false)
      yield* send("SET", key, off)
      yield* send("PUBLISH", key, "{ what?")
      yield* until(isOff)
      expect(warnings()).toEqual([])
    }))

  it.live("that is malformed changes nothing and is warned of once", () =>
    Effect.gen(function* () {
      const { isOff, key, send, until, warnings } = yield* followed({ initial: off, poll: "50 millis" })
      yield* send("SET", key, "{\"why\":\"secret\",\"retries\":\"onn\"}")
      yield* until(() => warnings().length === 1)
      yield* pause(300)
      yield* send("SET", key, " ".repeat(1_000_000))
      yield* until(() => warnings().length === 2)
      yield* pause(300)
      expect(isOff()).toBe(true)
      const start = `Warn The switch of retries in Redis key ${key} is malformed, and the last state stays: `
      expect(warnings()).toEqual([
        `${start}retries must be "on" or "off", got "onn"`,
        `${start}The text must be at most 65536 characters long, got "262145 characters"`
      ])
      yield* send("SET", key, "{}")
      yield* until(() => !isOff())
    }))

  it.live("that is removed changes nothing and is warned of once", () =>
    Effect.gen(function* () {
      const { isOff, key, publish, send, until, warnings } = yield* followed({ initial: off, poll: "50 millis" })
      yield* send("DEL", key)
      yield* until(() => warnings().length === 1)
      yield* pause(300)
      expect(isOff()).toBe(true)
      expect(warnings()).toEqual([
        `Warn The switch of retries in Redis key ${key} is gone, and the last state stays: set it to {} to have retries on`
      ])
      yield* publish({})
      yield* until(() => !isOff())
    }))

  it.live("that is of another kind changes nothing and is warned of once", () =>
    Effect.gen(function* () {
      const { isOff, key, logged, send, until, warnings } = yield* followed({ initial: off, poll: "50 millis" })
      yield* send("LPUSH", `${key}:list`, "x")
      // At once: between a DEL and a LPUSH it would be gone.
      yield* send("RENAME", `${key}:list`, key)
      yield* until(() => logged("cannot be read, and the last state stays: WRONGTYPE") === 1)
      yield* pause(300)
      expect(isOff()).toBe(true)
      expect(warnings()).toHaveLength(1)
      yield* send("SET", key, "{}")
      yield* until(() => !isOff())
    }))

  it.live("has one listener, and none when the scope has closed", () =>
    Effect.gen(function* () {
      const { close, key, send, sent } = yield* followed({ poll: "50 millis" })
      yield* pause(300)
      expect(yield* send("PUBSUB", "NUMSUB", key)).toEqual([key, 1])
      yield* close
      yield* pause(100)
      expect(yield* send("PUBSUB", "NUMSUB", key)).toEqual([key, 0])
      const before = sent()
      yield* pause(200)
      expect(sent()).toBe(before)
    }))

  it.live("is not published where the state breaks a rule", () =>
    Effect.gen(function* () {
      const { key, publish, send } = yield* followed({})
      const error = yield* Effect.flip(publish({ ratio: 2 }))
      expect(error._tag).toBe("InvalidControl")
      expect(yield* send("GET", key)).toBeNull()
      yield* publish({ ratio: 0.5, at: "noon" })
      expect(yield* send("GET", key)).toBe("{\"ratio\":0.5,\"at\":\"noon\"}")
    }))
})

describe.skipIf(!hasOwnRedis)("a Redis that is killed and started again", () => {
  it.live("keeps the state, with one warning, and is followed within 2 seconds", () =>
    Effect.gen(function* () {
      const { isOff, key, logged, until, warnings } = yield* followed({ initial: off })
      yield* pause(300)
      yield* Effect.promise(server.kill)
      yield* until(() => logged("cannot be read") === 1)
      yield* pause(2_500)
      expect(isOff()).toBe(true)
      yield* Effect.promise(server.start)
      // It has lost the key.
      const back = yield* until(() => logged("is gone") === 1)
      expect(isOff()).toBe(true)
      yield* operator(key, {})
      const latency = yield* until(() => !isOff())
      expect(back).toBeLessThan(2_000)
      expect(latency).toBeLessThan(2_000)
      expect(warnings().length).toBe(2)
      expect(logged("can be read again")).toBe(1)
    }))

  it.live("is heard again without the poll", () =>
    Effect.gen(function* () {
      const { isOff, key, until } = yield* followed({ poll: "1 hour" })
      yield* pause(300)
      yield* Effect.promise(server.restart)
      yield* pause(2_000)
      yield* operator(key, { retries: "off" })
      expect(yield* until(isOff)).toBeLessThan(1_000)
    }))

  it.live("may be away when the layer is built, which takes no time of it", () =>
    Effect.gen(function* () {
      const { built, close, isOff, key, until, warnings } = yield* followed({ before: Effect.promise(server.kill) })
      expect(built).toBeLessThan(1_500)
      expect(isOff()).toBe(false)
      expect(warnings().length).toBe(1)
      yield* Effect.promise(server.start)
      yield* operator(key, { retries: "off" })
      expect(yield* until(isOff)).toBeLessThan(2_000)
      yield* close
    }))

  it.live("holds up nobody who closes the scope", () =>
    Effect.gen(function* () {
      const { close, key, send } = yield* followed({ before: Effect.promise(server.kill) })
      yield* pause(200)
      const start = performance.now()
      yield* close
      expect(performance.now() - start).toBeLessThan(1_500)
      // The listener that was connecting leaves as soon as it can.
      yield* Effect.promise(server.start)
      yield* pause(1_000)
      expect(yield* send("PUBSUB", "NUMSUB", key)).toEqual([key, 0])
    }))
})

describe.skipIf(!hasOwnRedis)("a Redis that is frozen and goes on", () => {
  for (const noticesFreezes of [true, false]) {
    it.live(`keeps the state, with one warning, and is followed within 2 seconds (noticed: ${noticesFreezes})`, () =>
      Effect.gen(function* () {
        const { isOff, key, logged, sent, until, warnings } = yield* followed({ initial: off, noticesFreezes })
        yield* pause(300)
        const before = sent()
        server.freeze()
        yield* until(() => logged("cannot be read") === 1)
        yield* pause(4_000)
        expect(isOff()).toBe(true)
        // Those that are out would pile up.
        if (!noticesFreezes) expect(sent() - before).toBeLessThanOrEqual(2)
        server.thaw()
        const back = yield* until(() => logged("can be read again") === 1)
        yield* operator(key, {})
        const latency = yield* until(() => !isOff())
        expect(back).toBeLessThan(2_000)
        expect(latency).toBeLessThan(2_000)
        expect(warnings().length).toBe(1)
      }))
  }

  it.live("holds up the layer for a second, and nobody who closes the scope", () =>
    Effect.gen(function* () {
      const { built, close, isOff } = yield* followed({ noticesFreezes: false, before: Effect.sync(server.freeze) })
      expect(built).toBeLessThan(1_500)
      expect(isOff()).toBe(false)
      const start = performance.now()
      yield* close
      const took = performance.now() - start
      server.thaw()
      expect(took).toBeLessThan(1_500)
    }))

  it.live("fails who publishes within 5 seconds", () =>
    Effect.gen(function* () {
      const { publish } = yield* followed({ noticesFreezes: false })
      server.freeze()
      const start = performance.now()
      const error = yield* Effect.flip(publish({ retries: "off" }))
      const took = performance.now() - start
      server.thaw()
      expect(error._tag).toBe("RedisError")
      expect(took).toBeLessThan(5_500)
    }))
})
