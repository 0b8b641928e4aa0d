/**
 * What is done with the body of a response that nobody will read: its connection must go back to where it came from.
 */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as HttpClientResponse from "effect/http/HttpClientResponse"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"

type Response = HttpClientResponse.HttpClientResponse

// Reading so much, so long, is cheaper than another connection; past it the connection is closed.
const mostBytes = 65_536
const longest = 1_000

/** Ends the response without reading it, which closes its connection. */
export const cancel = (response: Response): Effect.Effect<void> =>
  Effect.flatMap(
    // The stream must have begun for its end to be told to the transport.
    Effect.forkChild(Effect.ignore(Stream.runDrain(response.stream)), { startImmediately: true }),
    Fiber.interrupt
  )

/** Reads the response to its end, if that is near, or ends it; the first bytes are kept as a text. */
export const drain = (response: Response, excerptBytes: number): Effect.Effect<string> =>
  Effect.suspend(() => {
    const length = Number(response.headers["content-length"] ?? 0)
    const limit = length > mostBytes ? excerptBytes : mostBytes
    const text = isText(response) ? new TextDecoder() : undefined
    let excerpt = ""
    let seen = 0
    const read = Stream.runForEachWhile(response.stream, (bytes) =>
      Effect.sync(() => {
        // A character that is cut stays in the decoder.
        if (seen < excerptBytes) excerpt += text?.decode(bytes.subarray(0, excerptBytes - seen), { stream: true }) ?? ""
        seen += bytes.length
        return seen < limit
      }))
    return Effect.map(Effect.ignore(Effect.timeoutOption(read, longest)), () => excerpt)
  })

const textual = /^(?:text\/|application\/(?:[\w.+-]+\+)?(?:json|xml)\b|application\/x-www-form-urlencoded\b)/i

const isText = (response: Response): boolean => {
  const { "content-encoding": encoding, "content-type": type } = response.headers
  if (!textual.test(type ?? "text/plain")) return false
  // Fetch has decoded the body, and leaves the header; the others decode nothing.
  return encoding === undefined || encoding === "identity" || Option.isSome(HttpClientResponse.toWeb(response))
}
