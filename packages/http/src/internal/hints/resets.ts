/**
 * Headers that say when a limit is lifted. They also stand on responses that have quota left: there they are no reason
 * to wait.
 */
import type { Context, Finding, Incoming, Rule } from "../../RetryHint.ts"
import * as durations from "./duration.ts"
import { toMillis } from "./reading.ts"
import { after, header } from "./rules.ts"
import { decimal, trim } from "./text.ts"
import * as timestamps from "./timestamp.ts"

/** Reads the value of a reset header. */
export type Form = (value: string, context: Context) => Finding | undefined

/**
 * Seconds until the limit is lifted or a moment since the epoch, in seconds or milliseconds: vendors use one name for
 * all three, and only the magnitude tells which.
 */
export const epochOrSeconds: Form = (value, { at }) => {
  const number = decimal(value, 1)
  if (number === undefined) return undefined
  if (number >= 1e11) return at(number)
  return number >= 1e9 ? at(decimal(value, 1000) ?? 0) : after(decimal(value, 1000))
}

export const delaySeconds: Form = (value) => after(decimal(value, 1000))

export const duration: Form = (value) => after(durations.parse(value))

export const timestamp: Form = (value, { at }) => {
  const moment = timestamps.parse(value)
  return moment === undefined ? undefined : at(moment)
}

// Statuses that say "later" of themselves: Content Too Large, Too Many Requests, Service Unavailable.
const limiting: ReadonlyArray<number> = [413, 429, 503]

/**
 * Whether a limit is used up: nothing is left by the first readable of the headers, or, where none is, the status says
 * so.
 */
const isSpent = (response: Incoming, remaining: ReadonlyArray<string>): boolean =>
  left(response, remaining) === 0 || left(response, remaining) === undefined && limiting.includes(response.status)

/** What is left by the first readable of the headers. */
export const left = (response: Incoming, remaining: ReadonlyArray<string>): number | undefined => {
  for (const name of remaining) {
    const count = decimal(trim(response.header(name) ?? ""), 1)
    if (count !== undefined) return count
  }
  return undefined
}

/** A reset header, read when the limit is used up. */
export const reset = (name: string, remaining: ReadonlyArray<string>, form: Form): Rule =>
  header(name, (value, context, response) => isSpent(response, remaining) ? form(value, context) : undefined)

/** Of several limits that are used up the one that is lifted last: which of them was hit is not said. */
export const last = (source: string, resets: ReadonlyArray<Rule>): Rule => ({
  source,
  body: false,
  read: (response, context) => {
    let longest: { readonly finding: Finding; readonly millis: number } | undefined
    for (const rule of resets) {
      const finding = rule.read(response, context)
      const millis = finding?.hint && toMillis(finding.hint, context.now)
      if (finding === undefined || millis === undefined || millis <= (longest?.millis ?? -1)) continue
      longest = { finding: { ...finding, source: rule.source }, millis }
    }
    return longest?.finding
  }
})
