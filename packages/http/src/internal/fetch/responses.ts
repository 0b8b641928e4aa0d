/** What is done with the body of a response that nobody will read: its connection goes back to where it came from. */
import * as Deadline from "@reprise/core/Deadline"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"

// Reading so much, so long, is cheaper than another connection; past it the connection is closed.
const mostBytes = 65_536
const longest = 1_000

const ignore = (): void => {}

/** Closes the connection of a response. */
export const cancel = (response: Response | undefined): void => {
  const body = response?.body
  // Why it does not let itself be cancelled is of no interest.
  if (body !== null && body !== undefined && !body.locked) body.cancel().catch(ignore)
}

const textual = /^(?:text\/|application\/(?:[\w.+-]+\+)?(?:json|xml)\b|application\/x-www-form-urlencoded\b)/i

const isText = ({ headers }: Response): boolean => textual.test(headers.get("content-type") ?? "text/plain")

/** How long a body may be waited for, in milliseconds: no longer than the call itself. */
export const patience: Effect.Effect<number> = /* @__PURE__ */ Effect.map(
  Deadline.remaining,
  (left) => Option.isNone(left) ? longest : Math.min(longest, Duration.toMillis(left.value))
)

/** Reads the response to its end, if that is near, or ends it; the first bytes are kept as a text. */
export const drain = (response: Response, excerptBytes: number): Effect.Effect<string> =>
  Effect.suspend(() => {
    const { body, headers } = response
    if (body === null || body.locked) return Effect.succeed("")
    const reader = body.getReader()
    const limit = Number(headers.get("content-length") ?? 0) > mostBytes ? excerptBytes : mostBytes
    const text = isText(response) ? new TextDecoder() : undefined
    let excerpt = ""
    let seen = 0
    const read = Effect.promise(async () => {
      try {
        while (seen < limit) {
          const { done, value } = await reader.read()
          if (done) return
          // A character that is cut stays in the decoder.
          if (seen < excerptBytes) {
            excerpt += text?.decode(value.subarray(0, excerptBytes - seen), { stream: true }) ?? ""
          }
          seen += value.length
        }
      } catch {
        // It broke off: what came before is all that there is.
      }
    })
    return patience.pipe(
      Effect.flatMap((millis) => Effect.timeoutOption(read, millis)),
      Effect.ensuring(Effect.sync(() => {
        reader.cancel().catch(ignore)
      })),
      Effect.map(() => excerpt)
    )
  })
