import * as NodeRedis from "@effect/platform-node/NodeRedis"
import * as Transience from "@reprise/core/Transience"
import { describe, expect, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Redis from "effect/persistence/Redis"
import { afterAll, afterEach, beforeAll } from "vitest"
import { hasOwnRedis, type RedisServer, startOwnRedis } from "./server.ts"

let server: RedisServer

beforeAll(async () => {
  if (hasOwnRedis) server = await startOwnRedis()
})
// What a test has configured is gone with the process.
afterEach(async () => {
  server.thaw()
  await server.restart()
})
afterAll(async () => {
  if (hasOwnRedis) await server.stop()
})

type Send = Redis.Redis["Service"]["send"]

const connected = (options: { readonly socketTimeout?: number; readonly user?: string } = {}) =>
  Effect.gen(function* () {
    const { socketTimeout, user } = options
    const client = NodeRedis.layer({
      url: server.url,
      disableOfflineQueue: true,
      ...(user === undefined ? {} : { username: user, password: "wrong" }),
      ...(socketTimeout === undefined ? {} : { socket: { socketTimeout } })
    })
    const context = yield* Layer.build(Layer.provide(client, Logger.layer([])))
    return Context.get(context, Redis.Redis).send
  })

const write = "redis.call('SET', KEYS[1], '1')"

type Scenario = (send: Send) => Effect.Effect<unknown, Redis.RedisError>

/** What is done to a server, and then the command that it refuses. */
const refusals: ReadonlyArray<readonly [code: string, Transience.Transience, Transience.Applied, Scenario]> = [
  ["ERR", "terminal", "maybe", (send) => send("NO_SUCH_COMMAND")],
  ["WRONGTYPE", "terminal", "maybe", (send) => Effect.andThen(send("SET", "text", "a"), send("LPUSH", "text", "b"))],
  ["NOSCRIPT", "terminal", "no", (send) => send("EVALSHA", "f".repeat(40), "0")],
  ["WRONGPASS", "terminal", "no", (send) => send("AUTH", "nobody", "wrong")],
  [
    "OOM",
    "transient",
    "no",
    (send) => Effect.andThen(send("CONFIG", "SET", "maxmemory", "1"), send("EVAL", write, "1", "key"))
  ],
  [
    "NOREPLICAS",
    "transient",
    "no",
    (send) => Effect.andThen(send("CONFIG", "SET", "min-replicas-to-write", "1"), send("EVAL", write, "1", "key"))
  ],
  [
    "READONLY",
    "transient",
    "no",
    (send) => Effect.andThen(send("REPLICAOF", "127.0.0.1", "1"), send("EVAL", write, "1", "key"))
  ],
  [
    "MASTERDOWN",
    "transient",
    "no",
    (send) =>
      send("REPLICAOF", "127.0.0.1", "1").pipe(
        Effect.andThen(send("CONFIG", "SET", "replica-serve-stale-data", "no")),
        Effect.andThen(send("GET", "key"))
      )
  ]
]

describe.skipIf(!hasOwnRedis)("an error of a real Redis", () => {
  for (const [code, transience, applied, scenario] of refusals) {
    it.live(`${code} is read`, () =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(scenario(yield* connected()))
        expect(Transience.classify(error)).toMatchObject({ transience, applied, reader: "redis", code })
      }))
  }

  it.live("BUSY is read, while a script of somebody else runs", () =>
    Effect.gen(function* () {
      const send = yield* connected()
      yield* send("CONFIG", "SET", "busy-reply-threshold", "20")
      const endless = yield* Effect.forkChild(Effect.exit((yield* connected())("EVAL", "while true do end", "0")))
      yield* Effect.sleep("200 millis")
      const error = yield* Effect.flip(send("GET", "key"))
      yield* send("SCRIPT", "KILL")
      yield* Fiber.join(endless)
      expect(Transience.classify(error)).toMatchObject({ transience: "transient", applied: "no", code: "BUSY" })
    }))

  it.live("a connection that is lost in the middle is maybe applied, and one that is not there yet is not", () =>
    Effect.gen(function* () {
      const send = yield* connected()
      const waiting = yield* Effect.forkChild(Effect.flip(send("BLPOP", "nothing", "0")))
      yield* Effect.sleep("100 millis")
      yield* Effect.promise(server.kill)
      expect(Transience.classify(yield* Fiber.join(waiting))).toMatchObject({
        transience: "transient",
        applied: "maybe",
        code: "SocketClosedUnexpectedlyError"
      })
      expect(Transience.classify(yield* Effect.flip(send("GET", "key")))).toMatchObject({
        transience: "transient",
        applied: "no",
        code: "ClientOfflineError"
      })
      expect(Transience.classify(yield* Effect.flip(connected()))).toMatchObject({
        transience: "transient",
        applied: "no",
        code: "ECONNREFUSED"
      })
      // A client that reconnects for ever would not let the scope close.
      yield* Effect.promise(server.start)
    }))

  it.live("a server that does not answer is maybe applied; the client that has closed for it does not open again", () =>
    Effect.gen(function* () {
      const send = yield* connected({ socketTimeout: 300 })
      server.freeze()
      const lost = yield* Effect.flip(send("SET", "key", "1"))
      expect(Transience.classify(lost)).toMatchObject({
        transience: "transient",
        applied: "maybe",
        code: "SocketTimeoutError"
      })
      const closed = yield* Effect.flip(send("GET", "key"))
      expect(Transience.classify(closed)).toMatchObject({
        transience: "terminal",
        applied: "no",
        code: "ClientClosedError"
      })
    }))

  it.live("a wrong password ends the start of the client", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(connected({ user: "nobody" }))
      expect(Transience.classify(error)).toMatchObject({ transience: "terminal", applied: "no", code: "WRONGPASS" })
    }))
})
