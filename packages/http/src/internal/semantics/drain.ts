/**
 * What is done with the body of a response that nobody will read: its connection must go back to where it came from.
 */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { beforeDeadline, inTime } from "./time.ts"

// Reading so much, so long, is cheaper than another connection; past it the connection is closed.
const mostBytes = 65_536
export const longest = 1_000

/** What a body is read for. */
export interface Wanted {
  /** So many of the first bytes are told as a text; 0 where it is none. */
  readonly excerptBytes: number
  /** Told the text as it grows. */
  readonly tell: (excerpt: string) => void
}

export const nothing: Wanted = { excerptBytes: 0, tell: () => {} }

/**
 * Takes the chunks of a body as they come, and says whether to go on; undefined where nothing of it is worth reading.
 */
export const taking = (
  contentLength: string | null | undefined,
  { excerptBytes, tell }: Wanted
): ((bytes: Uint8Array) => boolean) | undefined => {
  const limit = Number(contentLength ?? 0) > mostBytes ? excerptBytes : mostBytes
  if (limit === 0) return undefined
  const decoder = excerptBytes === 0 ? undefined : new TextDecoder()
  let excerpt = ""
  let seen = 0
  return (bytes) => {
    if (decoder !== undefined && seen < excerptBytes) {
      // A character that is cut stays in the decoder.
      excerpt += decoder.decode(bytes.subarray(0, excerptBytes - seen), { stream: true })
      if (excerpt !== "") tell(excerpt)
    }
    seen += bytes.length
    return seen < limit
  }
}

// A body that is there already is read in no time, and for another nobody waits, neither a retry nor the caller.
const patience = 50

/** Goes on when the draining is over, or has begun, and at the caller's deadline. */
export const putAway = (draining: Effect.Effect<void>): Effect.Effect<void> =>
  Effect.flatMap(
    Effect.forkDetach(draining, { startImmediately: true }),
    (fiber) => Effect.asVoid(inTime(Fiber.await(fiber), beforeDeadline(patience)))
  )
