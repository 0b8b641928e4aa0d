import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type { Redis, RedisError } from "effect/persistence/Redis"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import * as ask from "./ask.ts"
import { follow, type Look } from "./follow.ts"
import type { Memory } from "./memory.ts"
import * as redisError from "../redisError.ts"
import { mostCharacters } from "./state.ts"

type Client = Redis["Service"]

/** One byte more than a text can have: enough to see that it is too long, and the last that is asked for. */
const lastByte = String(mostCharacters * 4)

/** After this long a command is taken for lost by the client, and not for late. */
const lostMillis = 30_000

const look = (answer: Exit.Exit<string, RedisError>): Look => {
  if (Exit.isFailure(answer)) return { _tag: "Away", why: redisError.nameOf(answer) }
  return answer.value === "" ? { _tag: "Gone" } : { _tag: "Text", text: answer.value }
}

/**
 * Calls `signal` at each message. Whatever the message says, the key is what counts: a message may come late, twice or
 * never, and one that was heeded would fight the poll.
 */
const listen = (redis: Client, channel: string, pollMillis: number, signal: () => void) =>
  Effect.gen(function* () {
    const messages = yield* redis.subscribe(channel)
    // What was published while nobody listened.
    signal()
    return yield* Effect.forever(Effect.tap(Queue.takeAll(messages), () => Effect.sync(signal)))
  }).pipe(
    Effect.scoped,
    // A client that does not come back by itself ends the queue.
    Effect.ignoreCause,
    Effect.andThen(Effect.sleep(pollMillis)),
    Effect.forever
  )

/** Follows a key. */
export const followRedis = (
  control: Memory,
  redis: Client,
  key: string,
  channel: string,
  pollMillis: number
): Effect.Effect<void, never, Scope.Scope> =>
  // Not GET: what is at the key may be of any size.
  Effect.flatMap(ask.make(redis.send<string>("GETRANGE", key, "0", lastByte), lostMillis, look), (look) => {
    const source = {
      name: `Redis key ${key}`,
      look,
      // A server that lost its memory, and an empty one in the place of another, have said nothing about retries.
      goneIsOn: false,
      settleMillis: 0
    }
    return follow(control, source, pollMillis, (signal) =>
      Effect.acquireRelease(
        // Not a child of this scope: a client that is connecting cannot be interrupted, and with the server away it
        // connects for ever. Nobody who closes the scope waits for that.
        Effect.forkDetach(listen(redis, channel, pollMillis, signal)),
        (fiber) =>
          Effect.flatMap(
            Effect.forkDetach(Fiber.interrupt(fiber)),
            (interrupting) => Effect.interruptible(Effect.timeoutOption(Fiber.await(interrupting), ask.patience))
          )
      ))
  })
