/** Records in Redis. */
import * as Effect from "effect/Effect"
import * as Hex from "effect/encoding/Hex"
import { Redis, type RedisError } from "effect/persistence/Redis"
import * as Result from "effect/Result"
import type { Operation, StoreFailed } from "../../IdempotencyError.ts"
import type { Backing, Found, IdempotencyStore, RedisOptions } from "../../IdempotencyStore.ts"
import * as check from "../check.ts"
import * as stores from "./make.ts"
import * as redisFailure from "./redisFailure.ts"
import * as scripts from "./scripts.ts"
import * as shared from "./shared.ts"

const found = ([state, fence, holder, fingerprint, left, outcome]: scripts.Reply): Found | undefined =>
  state === undefined ? undefined : {
    // The script gives no other.
    state: state as Found["state"],
    fence: Number(fence),
    holder: holder ?? "",
    fingerprint: fingerprint ?? "",
    left: Number(left),
    outcome: state === "done" ? outcome : undefined
  }

type Ask = <A>(operation: Operation, question: Effect.Effect<A, RedisError>) => Effect.Effect<A, StoreFailed>

const backing = (redis: Redis["Service"], prefix: string, ask: Ask): Backing => {
  const keyOf = (id: string): string => `${prefix}:${id}`
  const claim = redis.eval(scripts.claim)
  const retake = redis.eval(scripts.retake)
  const renew = redis.eval(scripts.renew)
  const finish = redis.eval(scripts.finish)
  const read = redis.eval(scripts.read)
  const isNotEmpty = (reply: scripts.Reply): boolean => reply.length > 0
  return {
    claim: (request) =>
      ask(
        "claim",
        Effect.map(
          claim(keyOf(request.id), request),
          // One text is a number; else there is a record.
          (reply) => reply.length === 1 ? Number(reply[0]) : found(reply)!
        )
      ),
    retake: (request, fence) =>
      ask("retake", Effect.map(retake(keyOf(request.id), request, fence), ([mine]) => mine && Number(mine)))
        .pipe(Effect.map((mine) => typeof mine === "number" ? mine : undefined)),
    renew: (held, terms) => ask("renew", Effect.map(renew(keyOf(held.id), held, terms), isNotEmpty)),
    finish: (held, ending) => ask("finish", Effect.map(finish(keyOf(held.id), held, ending), isNotEmpty)),
    read: (id) => ask("read", Effect.map(read(keyOf(id)), found)),
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

export const make = (options: RedisOptions): Effect.Effect<IdempotencyStore, StoreFailed, Redis> => {
  check.options("layerRedis", options, ["prefix", "secret", "timeout"])
  const prefix = check.text("layerRedis.prefix", options.prefix ?? "reprise:idempotency", /^.{1,200}$/s, "a short text")
  const within = shared.within(shared.timeoutOf("layerRedis", options.timeout))
  const ask: Ask = (operation, question) => within(operation, Effect.mapError(question, redisFailure.described))
  const given = options.secret === undefined ? undefined : stores.secretsOf(options.secret)
  return Effect.gen(function* () {
    const redis = yield* Redis
    return yield* stores.make(backing(redis, prefix, ask), given ?? (yield* ask("open", secret(redis, prefix))))
  })
}
