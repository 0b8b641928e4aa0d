/** The body of a failing response, for profiles that read hints there; the response keeps its own. */
import * as Effect from "effect/Effect"
import { collect } from "../semantics/bytes.ts"
import { isJson, mostJsonBytes, parseJson } from "../semantics/content.ts"
import { inTime } from "../semantics/time.ts"

/** Undefined where it is no JSON, is too long or too slow, or breaks off. */
export const jsonOf = (response: Response, longest: Effect.Effect<number>): Effect.Effect<unknown> =>
  Effect.suspend(() => {
    const readable = isJson(response.headers.get("content-type")) && response.body !== null && !response.body.locked
    const copy = readable ? response.clone().body : null
    if (copy === null) return Effect.undefined
    return Effect.map(inTime(collect(copy, mostJsonBytes), longest), (bytes) => bytes && parseJson(bytes))
  })
