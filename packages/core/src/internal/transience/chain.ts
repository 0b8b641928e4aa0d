/**
 * The decision on an error with what it wraps, and the verdict that comes of it.
 */
import type { Verdict } from "../../Transience.ts"
import { find, get } from "../causeChain.ts"
import * as hints from "../hint.ts"
import type { Decision } from "./decision.ts"

type Read = (error: object) => Decision | undefined

const walk = (error: unknown, read: Read): Decision | undefined => {
  let tentative: Decision | undefined
  const found = find(error, (inner) => {
    const made = read(inner)
    if (made === undefined || !made.tentative) return made
    tentative ??= made
    return undefined
  })
  return found ?? tentative
}

/** The first decision on an error and what it wraps, outermost first; a tentative one when nothing more exact comes. */
export const decide = (error: unknown, read: Read): Decision | undefined =>
  walk(error, (inner) => read(inner) ?? readErrors(inner, read))

// An AggregateError is worth a retry only when each of its errors is, and did as much as the worst of them. A member
// that is an AggregateError again, without a code of its own, says nothing; neither do more than a hundred together.
const readErrors = (error: object, read: Read): Decision | undefined => {
  const errors = get(error, "name") === "AggregateError" ? get(error, "errors") : undefined
  if (!Array.isArray(errors) || errors.length > 100) return undefined
  const members = Array.from({ length: errors.length }, (_, index) => walk(get(errors, index), read))
  const having = (key: "transience" | "applied", value: string) =>
    members.find((member) => member?.outcome[key] === value)
  return having("transience", "terminal") ??
    (members.includes(undefined) ? undefined : having("applied", "yes") ?? having("applied", "maybe") ?? members[0])
}

/** The verdict that a decision on an error comes to, with the hint that the error carries. */
export const verdict = (error: unknown, decision: Decision | undefined): Verdict => {
  const hint = hints.find(error) ?? decision?.hint
  if (decision === undefined) {
    return { transience: "unknown", applied: "maybe", throttled: false, hint, reader: "none", code: undefined }
  }
  const { code, outcome, reader } = decision
  const { applied, throttled, transience } = hint !== undefined && hint._tag !== "DoNotRetry" && outcome.hinted
    ? outcome.hinted
    : outcome
  return { transience, applied, throttled, hint, reader, code }
}
