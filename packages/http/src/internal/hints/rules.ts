/**
 * The rules that profiles are made of: a header, and how it is to be read.
 */
import type { Context, Finding, Incoming, Rule } from "../../RetryHint.ts"
import * as httpDate from "./httpDate.ts"
import * as rateLimits from "./rateLimit.ts"
import { toMillis } from "./reading.ts"
import { decimal, digits, trim } from "./text.ts"

export const after = (millis: number | undefined): Finding | undefined =>
  millis === undefined ? undefined : { hint: { _tag: "After", millis } }

/** A rule about the value of one header, without the white space around it. */
export const header = (
  source: string,
  read: (value: string, context: Context, response: Incoming) => Finding | undefined
): Rule => {
  const name = source.toLowerCase()
  return {
    source: name,
    body: false,
    read: (response, context) => {
      const value = response.header(name)
      return value === undefined ? undefined : read(trim(value), context, response)
    }
  }
}

/** A rule about what the body says; `source` names the place. */
export const body = (
  source: string,
  read: (body: unknown, response: Incoming) => Finding | undefined,
  concerns?: (status: number) => boolean
): Rule => ({
  source,
  body: true,
  concerns,
  read: (response) => response.body === undefined ? undefined : read(response.body, response)
})

/** Whether to try again, where nothing but the status says so. */
export const status = (decide: (status: number) => boolean | undefined): Rule => ({
  source: "status",
  body: false,
  read: (response) => response.status === 0 ? undefined : { shouldRetry: decide(response.status) }
})

export const milliseconds = (name: string): Rule => header(name, (value) => after(decimal(value, 1)))

export const seconds = (name: string): Rule => header(name, (value) => after(decimal(value, 1000)))

export const retryAfter: Rule = /* @__PURE__ */ header("retry-after", (value, context) => {
  const delay = digits(value)
  return delay === undefined ? date(value, context) : after(delay * 1000)
})

const date = (value: string, { at, serverNow }: Context): Finding | undefined => {
  const moment = httpDate.parse(value, serverNow)
  return moment === undefined ? undefined : at(moment)
}

// Seconds since the epoch passed this in 2001: a wait so long is a mistake, a date so early is past.
const firstEpoch = 1e9

/** `Retry-After` as many write it: also with a decimal point, or several times, of which the longest counts. */
export const tolerantRetryAfter: Rule = /* @__PURE__ */ header("retry-after", (value, context) => {
  const moment = date(value, context)
  if (moment !== undefined) return moment
  let longest = -1
  for (const member of value.split(", ")) {
    const delay = decimal(trim(member), 1000)
    if (delay === undefined) return undefined
    longest = Math.max(longest, delay)
  }
  return { ...after(longest), tooLong: longest >= firstEpoch * 1000 }
})

/** `true` or `false` to the letter; of the latter the wait is "never" as well. */
export const verdict = (name: string): Rule =>
  header(name, (value) =>
    value === "true"
      ? { shouldRetry: true }
      : value === "false"
      ? { shouldRetry: false, hint: { _tag: "DoNotRetry" } }
      : undefined)

export const rateLimit = (tolerant: boolean): Rule =>
  header("ratelimit", (value) => {
    const delay = rateLimits.parse(value, tolerant)
    return after(delay === undefined ? undefined : delay * 1000)
  })

/** A wait past `limit` milliseconds is more than the vendor's own client would sit through. */
export const within = (rule: Rule, limit: number): Rule => ({
  ...rule,
  read: (response, context) => {
    const finding = rule.read(response, context)
    const millis = finding?.hint && toMillis(finding.hint, context.now)
    return finding && { ...finding, tooLong: millis !== undefined && millis > limit }
  }
})
