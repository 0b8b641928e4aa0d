/**
 * What single vendors say in their own way.
 */
import type { Rule } from "../../RetryHint.ts"
import { get } from "./incoming.ts"
import { epochOrSeconds, left, reset } from "./resets.ts"
import { after, body, header, retryAfter, status } from "./rules.ts"
import { digits } from "./text.ts"

const remaining: ReadonlyArray<string> = ["x-ratelimit-remaining"]

const githubReset = /* @__PURE__ */ reset("x-ratelimit-reset", remaining, epochOrSeconds)

// GitHub asks for "at least one minute" where neither header is there.
const secondaryWait = 60_000

/** GitHub tells its secondary limit by a message, and has no other mark for it. */
const isSecondaryLimit = (body: unknown): boolean => {
  const message = get(body, "message")
  return typeof message === "string" && message.slice(0, 1000).toLowerCase().includes("secondary rate")
}

const isLimitStatus = (code: number): boolean => code === 403 || code === 429

const githubSecondary: Rule = /* @__PURE__ */ body(
  "message",
  (value, response) => isLimitStatus(response.status) && isSecondaryLimit(value) ? after(secondaryWait) : undefined,
  isLimitStatus
)

/** A 403 is a limit, and worth another attempt, when one of these marks it; else it is a refusal. */
const githubVerdict: Rule = {
  source: "status",
  body: true,
  concerns: isLimitStatus,
  read: (response, context) => {
    if (!isLimitStatus(response.status)) return undefined
    const limited = retryAfter.read(response, context) !== undefined || left(response, remaining) === 0
      || isSecondaryLimit(response.body)
    return { shouldRetry: limited ? true : response.status === 403 ? false : undefined }
  }
}

/** The documented order: `retry-after`, then the reset, then a minute. */
export const github: ReadonlyArray<Rule> = [githubVerdict, retryAfter, githubReset, githubSecondary]

/** `retry_after` in the body: seconds with a fraction, of which the header is the whole number above. */
export const discordBody: Rule = /* @__PURE__ */ body("retry_after", (value, response) => {
  const seconds = get(value, "retry_after")
  if (response.status !== 429 || typeof seconds !== "number" || !(seconds >= 0)) return undefined
  // To the microsecond: 64.57 seconds are 64570 milliseconds, whatever a double makes of them.
  return after(Math.round(seconds * 1e6) / 1000)
}, (code) => code === 429)

export const discordVerdict: Rule = /* @__PURE__ */ status((code) => code === 429 ? true : undefined)

// botocore and smithy wait no more than so much longer than they would have done by themselves.
const awsExcess = 5000

/** Milliseconds, held between the client's own delay and five seconds more. */
export const aws: Rule = /* @__PURE__ */ header("x-amz-retry-after", (value, { ownBackoff }) => {
  const millis = digits(value)
  return after(millis === undefined ? undefined : Math.max(ownBackoff, Math.min(millis, ownBackoff + awsExcess)))
})

/** Both SDKs of OpenAI and Anthropic. */
export const sdkVerdict: Rule = /* @__PURE__ */ status((code) =>
  code === 408 || code === 409 || code === 429 || code >= 500
)

/** stripe-node leaves a 429 alone that does not ask to be tried again. */
export const stripeVerdict: Rule = /* @__PURE__ */ status((code) => code === 409 || code >= 500)
