/** What a log says of a Redis that is away: the same of the shared budget and of the switch. */
import { describe, expect, it } from "@effect/vitest"
import { RetryBudget, RetryControl } from "@reprise/core"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Redis from "effect/persistence/Redis"
import * as redis from "redis"

/** The warnings of both, with a client whose commands all end so. */
const warnings = (command: Effect.Effect<never, Redis.RedisError>) =>
  Effect.gen(function* () {
    const lines: Array<string> = []
    const logger = Logger.layer([Logger.make(({ message }) => void lines.push(String(message)))])
    const client = Layer.succeed(
      Redis.Redis,
      Redis.Redis.of({
        send: () => command,
        eval: () => () => command,
        subscribe: () => Effect.never,
        reserve: Effect.never
      })
    )
    const layers = Layer.mergeAll(RetryBudget.layerRedis({ name: "pay" }), RetryControl.layerRedis())
    yield* Layer.build(Layer.provide(layers, Layer.merge(client, logger)))
    yield* Effect.yieldNow
    return lines.toSorted()
  }).pipe(Effect.scoped)

const refused = Object.assign(new Error("connect s3cret"), { code: "ECONNREFUSED", syscall: "connect" })

describe("a Redis that is away is called in the log", () => {
  it.effect.each(
    [
      ["by the system's code", refused, "ECONNREFUSED"],
      ["by the word of its reply", new redis.SimpleError("NOAUTH s3cret"), "NOAUTH"],
      ["by the class of what the client says itself", new redis.ClientOfflineError(), "ClientOfflineError"],
      [
        "by what a client met that gave up connecting",
        new redis.ReconnectStrategyError(new Error("s3cret"), refused),
        "ECONNREFUSED"
      ],
      ["never by a code that may be data", Object.assign(new Error(), { code: "it is s3cret" }), "Error"],
      ["never by what is no error", "s3cret", "string"]
    ] as const
  )("%s", ([, cause, called]) =>
    Effect.gen(function* () {
      const lines = yield* warnings(Effect.fail(new Redis.RedisError({ cause })))
      expect(lines).toEqual([
        `Redis does not answer for the retry budget pay (${called}); this process lives on its share until it does`,
        `The switch of retries in Redis key reprise:control cannot be read, and the last state stays: ${called}`
      ])
    }))

  it.effect("a defect where the client has one", () =>
    Effect.gen(function* () {
      const lines = yield* warnings(Effect.die(new Error("s3cret")))
      expect(lines).toEqual([
        "Redis does not answer for the retry budget pay (a defect of its client); this process lives on its share until it does",
        "The switch of retries in Redis key reprise:control cannot be read, and the last state stays: a defect of its client"
      ])
    }))
})
