/** A stream that is read once, and what of it can be sent again. */
import { joined } from "../semantics/bytes.ts"

type Chunk = Uint8Array<ArrayBuffer>

/** What several streams, one after the other, read of one source. */
export interface Recorded {
  /** A stream of the whole from its beginning; the one given before ends with an error. */
  readonly stream: () => ReadableStream<Chunk>
  /** All of it, where it ends within so many bytes and nothing goes wrong; streams give the same in any case. */
  readonly whole: (most: number, signal: AbortSignal) => Promise<Chunk | undefined>
  /** Whether the beginning is still there. */
  readonly replayable: () => boolean
  /** Nothing more is read. */
  readonly cancel: (reason: unknown) => void
}

const ignore = (): void => {}

/** Remembers what is read, up to so many bytes. */
export const record = (source: ReadableStream<Chunk>, limit: number): Recorded => {
  const reader = source.getReader()
  let chunks: Array<Chunk> = []
  let bytes = 0
  // How many chunks were read and are forgotten.
  let forgotten = 0
  let ended = false
  let reading: Promise<void> | undefined
  let generation = 0
  let failed = false

  const overflowed = () => bytes > limit

  // Streams ask one after the other, but a read that an abandoned one began is also the next one's.
  const more = (): Promise<void> =>
    reading ??= reader.read().then(({ done, value }) => {
      reading = undefined
      if (done) {
        ended = true
        return
      }
      // What is no chunk of bytes is refused by fetch.
      bytes += value.byteLength ?? Infinity
      chunks.push(value)
    }, (error: unknown) => {
      failed = true
      throw error
    })

  const stream = (): ReadableStream<Chunk> => {
    const own = ++generation
    let next = 0
    return new ReadableStream<Chunk>({
      pull: async (controller) => {
        if (own === generation && next - forgotten >= chunks.length && !ended) await more()
        if (own !== generation) throw new TypeError("The body is read by a later attempt")
        const chunk = chunks[next - forgotten]
        if (chunk === undefined) return controller.close()
        next++
        if (overflowed()) {
          chunks = chunks.slice(next - forgotten)
          forgotten = next
        }
        controller.enqueue(chunk)
      }
      // Cancelled when an attempt fails: the source may be needed for the next one.
    }, { highWaterMark: 0 })
  }

  const whole = async (most: number, signal: AbortSignal): Promise<Chunk | undefined> => {
    try {
      while (!ended && bytes <= most && !signal.aborted) await more()
    } catch {
      // The stream that is sent meets it again.
      return undefined
    }
    return ended && bytes <= most ? joined(chunks, bytes) : undefined
  }

  return {
    stream,
    whole,
    replayable: () => forgotten === 0 && !failed,
    cancel: (reason) => {
      generation++
      // Why a source does not let itself be cancelled is for its owner to know.
      if (!ended) reader.cancel(reason).catch(ignore)
    }
  }
}
