/** The body of a failing response, for profiles that read hints there; the response keeps its own. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { patience } from "./responses.ts"

/** As long as any hint needs, and not as long as a server likes. */
const mostBytes = 65_536

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const ignore = (): void => {}

/** Undefined where it is no JSON, is too long or too slow, or breaks off. */
export const jsonOf = (response: Response): Effect.Effect<unknown> =>
  Effect.suspend(() => {
    const isJson = /\bjson\b/i.test(response.headers.get("content-type") ?? "")
    const copy = !isJson || response.body === null || response.body.locked ? null : response.clone().body
    if (copy === null) return Effect.undefined
    const reader = copy.getReader()
    const text = new TextDecoder()
    let json = ""
    let bytes = 0
    const read = Effect.promise(async () => {
      try {
        while (true) {
          const { done, value } = await reader.read()
          if (done) return parsed(json + text.decode())
          bytes += value.length
          if (bytes > mostBytes) return undefined
          json += text.decode(value, { stream: true })
        }
      } catch {
        return undefined
      }
    })
    return patience.pipe(
      Effect.flatMap((millis) => Effect.timeoutOption(read, millis)),
      Effect.map(Option.getOrUndefined),
      Effect.ensuring(Effect.sync(() => {
        reader.cancel().catch(ignore)
      }))
    )
  })
