/**
 * The `RateLimit` field of draft-ietf-httpapi-ratelimit-headers: a list of policies, or the dictionary that it was in
 * draft 07.
 */
import * as structured from "./structured.ts"

/**
 * The seconds until every policy that is used up has quota again; undefined when none is, when none says so, or when
 * the field is malformed, which makes it count as absent as a whole.
 *
 * `tolerant` also takes a Token where the draft wants a String.
 */
export const parse = (text: string, tolerant: boolean): number | undefined => {
  const list = structured.parseList(text)
  return list === undefined ? ofDictionary(text) : ofList(list, tolerant)
}

const ofList = (list: ReadonlyArray<structured.Item>, tolerant: boolean): number | undefined => {
  let longest: number | undefined
  for (const { parameters, value } of list) {
    if (value.type !== "string" && !(tolerant && value.type === "token")) return undefined
    const remaining = count(parameters.get("r"))
    const seconds = count(parameters.get("t"))
    // "r" is required, "t" is not; where it stands it must be a count.
    if (remaining === undefined || seconds === undefined && parameters.has("t")) return undefined
    if (remaining === 0 && seconds !== undefined) longest = Math.max(longest ?? 0, seconds)
  }
  return longest
}

/** `limit=100, remaining=0, reset=50` (draft 07) */
const ofDictionary = (text: string): number | undefined => {
  const members = structured.parseDictionary(text)
  return count(members?.get("remaining")) === 0 ? count(members?.get("reset")) : undefined
}

const count = (value: structured.Bare | undefined): number | undefined =>
  value?.type === "integer" && value.value >= 0 ? value.value : undefined
