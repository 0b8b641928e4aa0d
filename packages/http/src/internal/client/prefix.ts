/** The beginning of a stream of bytes, without losing the rest. */
import type { NonEmptyReadonlyArray } from "effect/Array"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Pull from "effect/Pull"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"

export interface Prefix<E> {
  readonly bytes: Uint8Array<ArrayBuffer>
  /** What comes after, once; undefined where the stream has ended. */
  readonly rest: Stream.Stream<Uint8Array, E> | undefined
  /** Ends the stream, whether or not the rest was read. */
  readonly close: Effect.Effect<void>
}

const joined = (chunks: ReadonlyArray<Uint8Array>, length: number): Uint8Array<ArrayBuffer> => {
  const bytes = new Uint8Array(length)
  let at = 0
  for (const chunk of chunks) {
    bytes.set(chunk, at)
    at += chunk.length
  }
  return bytes
}

/** Reads until the stream ends or has given more than `most` bytes. A failure comes where it is met: in the rest. */
export const read = <E>(stream: Stream.Stream<Uint8Array, E>, most: number): Effect.Effect<Prefix<E>> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(Scope.make(), (scope) => {
      const chunks: Array<Uint8Array> = []
      let length = 0
      const close = Scope.close(scope, Exit.void)
      const made = (rest: Prefix<E>["rest"]): Prefix<E> => ({ bytes: joined(chunks, length), rest, close })
      const more = (pull: Pull.Pull<NonEmptyReadonlyArray<Uint8Array>, E>): Effect.Effect<Prefix<E>> =>
        Pull.matchEffect(pull, {
          onSuccess: (next) => {
            for (const chunk of next) {
              chunks.push(chunk)
              length += chunk.length
            }
            if (length <= most) return more(pull)
            return Effect.succeed(made(Stream.ensuring(Stream.fromPull(Effect.succeed(pull)), close)))
          },
          onFailure: (cause) => Effect.succeed(made(Stream.failCause(cause))),
          onDone: () => Effect.as(close, made(undefined))
        })
      return restore(Effect.flatMap(Stream.toPull(stream), more)).pipe(
        Scope.provide(scope),
        Effect.onError((cause) => Scope.close(scope, Exit.failCause(cause)))
      )
    })
  )
