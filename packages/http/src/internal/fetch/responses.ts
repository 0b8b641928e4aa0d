/** A response of fetch that nobody will read: read to its end, if that is near, or ended. */
import * as Effect from "effect/Effect"
import { readWhile } from "../semantics/bytes.ts"
import { isText } from "../semantics/content.ts"
import * as draining from "../semantics/drain.ts"

const ignore = (): void => {}

/** Closes the connection of a response. */
export const cancel = (response: Response | undefined): void => {
  const body = response?.body
  // Why it does not let itself be cancelled is of no interest.
  if (body !== null && body !== undefined && !body.locked) body.cancel().catch(ignore)
}

/** Reads the response to its end, if that is near, or ends it. */
export const drain = (response: Response, wanted: draining.Wanted): Effect.Effect<void> =>
  Effect.suspend(() => {
    const { body, headers } = response
    if (body === null || body.locked) return Effect.void
    const excerptBytes = isText(headers.get("content-type")) ? wanted.excerptBytes : 0
    const take = draining.taking(headers.get("content-length"), { ...wanted, excerptBytes })
    if (take === undefined) return Effect.sync(() => cancel(response))
    return Effect.asVoid(Effect.timeoutOption(readWhile(body, take), draining.longest))
  })
