/** Bytes that come in chunks. */
import * as Effect from "effect/Effect"

export const joined = (chunks: ReadonlyArray<Uint8Array>, length: number): Uint8Array<ArrayBuffer> => {
  const bytes = new Uint8Array(length)
  let at = 0
  for (const chunk of chunks) {
    bytes.set(chunk, at)
    at += chunk.length
  }
  return bytes
}

const ignore = (): void => {}

/**
 * Reads a stream of the web for as long as `take` wants more; whether it came to its end. One that breaks off has none.
 * However the reading ends, the stream is let go.
 */
export const readWhile = (
  stream: ReadableStream<Uint8Array>,
  take: (bytes: Uint8Array) => boolean
): Effect.Effect<boolean> =>
  Effect.suspend(() => {
    const reader = stream.getReader()
    const read = Effect.promise(async () => {
      try {
        for (;;) {
          const { done, value } = await reader.read()
          if (done) return true
          if (!take(value)) return false
        }
      } catch {
        return false
      }
    })
    return Effect.ensuring(
      read,
      Effect.sync(() => {
        // Why it does not let itself be cancelled is of no interest.
        reader.cancel().catch(ignore)
      })
    )
  })

/** Chunks that are kept. */
export interface Kept {
  /** Keeps one more; whether there is still no more than may be. */
  readonly take: (bytes: Uint8Array) => boolean
  readonly whole: () => Uint8Array<ArrayBuffer>
}

export const keep = (most: number): Kept => {
  const chunks: Array<Uint8Array> = []
  let length = 0
  return {
    take: (bytes) => {
      chunks.push(bytes)
      length += bytes.length
      return length <= most
    },
    whole: () => joined(chunks, length)
  }
}

/** All of a stream of the web, where it ends within so many bytes. */
export const collect = (
  stream: ReadableStream<Uint8Array>,
  most: number
): Effect.Effect<Uint8Array<ArrayBuffer> | undefined> =>
  Effect.suspend(() => {
    const { take, whole } = keep(most)
    return Effect.map(readWhile(stream, take), (ended) => ended ? whole() : undefined)
  })
