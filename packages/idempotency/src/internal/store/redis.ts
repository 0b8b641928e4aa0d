/** Records in Redis. */
import * as Effect from "effect/Effect"
import * as Hex from "effect/encoding/Hex"
import { Redis, type RedisError } from "effect/persistence/Redis"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import { StoreFailed } from "../../IdempotencyError.ts"
import type { Backing, Found, IdempotencyStore, RedisOptions } from "../../IdempotencyStore.ts"
import * as check from "../check.ts"
import * as stores from "./make.ts"
import * as scripts from "./scripts.ts"
import * as shared from "./shared.ts"

const found = (row: scripts.Row): Effect.Effect<Found | undefined, StoreFailed> =>
  Effect.try({ try: () => scripts.parse(row), catch: (cause) => new StoreFailed({ operation: "decode", cause }) })

const first = Effect.succeed(1)

const backing = (redis: Redis["Service"], prefix: string, ask: shared.Ask): Backing => {
  const keyOf = (id: string): string => `${prefix}:${id}`
  const claim = redis.eval(scripts.claim)
  const retake = redis.eval(scripts.retake)
  const renew = redis.eval(scripts.renew)
  const finish = redis.eval(scripts.finish)
  const read = redis.eval(scripts.read)
  return {
    claim: (request) => {
      const key = keyOf(request.id)
      const { life, record } = scripts.claimed(request)
      // Most keys are new, and need no script.
      const question = Effect.flatMap(
        redis.send<string | null>("SET", key, `running 1 ${record}`, "NX", "PX", life),
        (set): Effect.Effect<number | scripts.Row, RedisError> => set === null ? claim(key, record, life) : first
      )
      return Effect.flatMap(
        ask("claim", question),
        // What is free would have been claimed.
        (reply): Effect.Effect<number | Found, StoreFailed> =>
          typeof reply === "number" ? Effect.succeed(reply) : Effect.map(found(reply), (there) => there!)
      )
    },
    retake: (request, fence) =>
      ask("retake", Effect.map(retake(keyOf(request.id), request, fence), (mine) => mine ?? undefined)),
    renew: (held, terms) => ask("renew", Effect.map(renew(keyOf(held.id), held, terms), (done) => done === 1)),
    finish: (held, ending) => ask("finish", Effect.map(finish(keyOf(held.id), held, ending), (done) => done === 1)),
    read: (id) => Effect.flatMap(ask("read", read(keyOf(id))), found),
    // Redis does it by itself.
    sweep: () => Effect.succeed(0),
    inTransaction: Effect.succeed(false)
  }
}

const secret = (redis: Redis["Service"], prefix: string) => {
  const key = `${prefix}:secret`
  const drawn = Hex.encode(stores.newSecret())
  return Effect.andThen(
    redis.send("SET", key, drawn, "NX"),
    Effect.map(redis.send<string>("GET", key), (kept): stores.Keys => [Result.getOrThrow(Hex.decode(kept))])
  )
}

export const make = (options: RedisOptions): Effect.Effect<IdempotencyStore, StoreFailed, Redis | Scope.Scope> => {
  check.options("layerRedis", options, ["prefix", "secret", "timeout"])
  const prefix = check.text("layerRedis.prefix", options.prefix ?? "reprise:idempotency", /^.{1,200}$/s, "a short text")
  const timeout = shared.timeoutOf("layerRedis", options.timeout)
  const given = options.secret === undefined ? undefined : stores.secretsOf(options.secret)
  return Effect.gen(function* () {
    const redis = yield* Redis
    const ask = yield* shared.within(timeout)
    return yield* stores.make(backing(redis, prefix, ask), given ?? (yield* ask("open", secret(redis, prefix))))
  })
}
