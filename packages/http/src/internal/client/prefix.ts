/** The beginning of a stream of bytes, without losing the rest. */
import type { NonEmptyReadonlyArray } from "effect/Array"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Pull from "effect/Pull"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { joined } from "../semantics/bytes.ts"

export interface Prefix<E> {
  readonly bytes: Uint8Array<ArrayBuffer>
  /** What comes after, once; undefined where the stream has ended. */
  readonly rest: Stream.Stream<Uint8Array, E> | undefined
  /** Ends the stream, whether or not the rest was read. */
  readonly close: Effect.Effect<void>
}

type Pulled<E> = Pull.Pull<NonEmptyReadonlyArray<Uint8Array>, E>

/** The first pull is under way already. */
const onwards = <E>(first: Pulled<E>, pull: Pulled<E>): Pulled<E> => {
  let next = first
  return Effect.suspend(() => {
    const now = next
    next = pull
    return now
  })
}

/**
 * Reads until the stream ends or has given more than `most` bytes, and for so long at most. A failure comes where it is
 * met: in the rest.
 */
export const read = <E>(
  stream: Stream.Stream<Uint8Array, E>,
  most: number,
  longest?: Duration.Input
): Effect.Effect<Prefix<E>> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(Scope.make(), (scope) => {
      const chunks: Array<Uint8Array> = []
      let length = 0
      const close = Scope.close(scope, Exit.void)
      const made = (rest: Prefix<E>["rest"]): Prefix<E> => ({ bytes: joined(chunks, length), rest, close })
      const from = (pull: Pulled<E>): Prefix<E> => made(Stream.ensuring(Stream.fromPull(Effect.succeed(pull)), close))
      const matched = (pulled: Pulled<E>, next: Effect.Effect<Prefix<E>>, pull: Pulled<E>): Effect.Effect<Prefix<E>> =>
        Pull.matchEffect(pulled, {
          onSuccess: (found) => {
            for (const chunk of found) {
              chunks.push(chunk)
              length += chunk.length
            }
            return length <= most ? next : Effect.succeed(from(pull))
          },
          onFailure: (cause) => Effect.succeed(made(Stream.failCause(cause))),
          onDone: () => Effect.as(close, made(undefined))
        })
      const all = (pull: Pulled<E>): Effect.Effect<Prefix<E>> => Effect.suspend(() => matched(pull, all(pull), pull))
      // A pull that is interrupted would take the stream along, so one that takes too long goes on without us.
      const until = (pull: Pulled<E>, over: Effect.Effect<void>): Effect.Effect<Prefix<E>> =>
        Effect.flatMap(Effect.forkIn(pull, scope, { startImmediately: true }), (under) =>
          Effect.flatMap(
            Effect.raceFirst(Fiber.await(under), Effect.as(over, undefined)),
            (exit) =>
              exit === undefined
                ? Effect.succeed(from(onwards(Fiber.join(under), pull)))
                : matched(exit, Effect.suspend(() => until(pull, over)), pull)
          ))
      const begun = (pull: Pulled<E>): Effect.Effect<Prefix<E>> =>
        longest === undefined
          ? all(pull)
          : Effect.flatMap(
            Effect.forkIn(Effect.sleep(longest), scope, { startImmediately: true }),
            (timer) => Effect.ensuring(until(pull, Fiber.join(timer)), Fiber.interrupt(timer))
          )
      return restore(Effect.flatMap(Stream.toPull(stream), begun)).pipe(
        Scope.provide(scope),
        Effect.onError((cause) => Scope.close(scope, Exit.failCause(cause)))
      )
    })
  )
