/** A response of a client that nobody will read: read to its end, if that is near, or ended. */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as HttpClientResponse from "effect/http/HttpClientResponse"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { isText } from "../semantics/content.ts"
import * as draining from "../semantics/drain.ts"

type Response = HttpClientResponse.HttpClientResponse

/** Ends the response without reading it, which closes its connection. */
export const cancel = (response: Response): Effect.Effect<void> =>
  Effect.flatMap(
    // The stream must have begun for its end to be told to the transport.
    Effect.forkChild(Effect.ignore(Stream.runDrain(response.stream)), { startImmediately: true }),
    Fiber.interrupt
  )

/** Reads the response to its end, if that is near, or ends it. */
export const drain = (response: Response, wanted: draining.Wanted = draining.nothing): Effect.Effect<void> =>
  Effect.suspend(() => {
    const excerptBytes = isReadable(response) ? wanted.excerptBytes : 0
    const take = draining.taking(response.headers["content-length"], { ...wanted, excerptBytes })
    if (take === undefined) return cancel(response)
    const read = Stream.runForEachWhile(response.stream, (bytes) => Effect.sync(() => take(bytes)))
    return Effect.ignore(Effect.timeoutOption(read, draining.longest))
  })

const isReadable = (response: Response): boolean => {
  const { "content-encoding": encoding, "content-type": type } = response.headers
  if (!isText(type)) return false
  // Fetch has decoded the body, and leaves the header; the others decode nothing.
  return encoding === undefined || encoding === "identity" || Option.isSome(HttpClientResponse.toWeb(response))
}
