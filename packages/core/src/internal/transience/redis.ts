/**
 * What Effect's `RedisError` says: by the word with which the server's reply begins, by the class of what the client
 * says itself, or by the system's code.
 */
import { get, isObject } from "../causeChain.ts"
import { kindOf, metBy } from "../redisError.ts"
import { readSystem } from "./codes.ts"
import { type Decision, decision } from "./decision.ts"
import { lookup } from "./outcomes.ts"

export const read = (error: object): Decision | undefined => {
  const met = metBy(error)
  if (!isObject(met)) return undefined
  const kind = kindOf(met)
  const known = lookup(`${kind}/redis`)
  if (known !== undefined) return decision(known, "redis", kind)
  const code = get(met, "code")
  const outcome = typeof code === "string" ? readSystem(met, code) : undefined
  return outcome === undefined ? undefined : decision(outcome, "node", String(code))
}
