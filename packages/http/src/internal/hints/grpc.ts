/**
 * What gRPC servers say: the pushback of proposal A6, and the `RetryInfo` among the details of a status.
 */
import type { Rule } from "../../RetryHint.ts"
import * as durations from "./duration.ts"
import { get } from "./incoming.ts"
import { after, body } from "./rules.ts"
import { digits } from "./text.ts"

const pushbackHeader = "grpc-retry-pushback-ms"

/** Of a signed 32-bit integer. */
const longestPushback = 2_147_483_647

/**
 * A count of milliseconds, after which to try again. Anything else, negative or unreadable, means not to try again, and
 * nothing is trimmed, for no implementation does (grpc/proposal A6).
 */
export const pushback: Rule = {
  source: pushbackHeader,
  body: false,
  read: (response) => {
    const value = response.header(pushbackHeader)
    if (value === undefined) return undefined
    const millis = digits(value)
    return millis === undefined || millis > longestPushback
      ? { shouldRetry: false, hint: { _tag: "DoNotRetry" } }
      : { shouldRetry: true, hint: { _tag: "After", millis } }
  }
}

// The longest that a google.protobuf.Duration may be, in seconds: about 10,000 years.
const longestDuration = 315_576_000_000

// More than anybody sends, and an end for an array that is made to have none.
const mostDetails = 100

/**
 * The `google.rpc.RetryInfo` of an error of a Google API: in `error.details`, or in the `details` of a bare status.
 */
export const retryInfo: Rule = /* @__PURE__ */ body("google.rpc.RetryInfo", (body) => {
  // Streaming methods answer with an array of one.
  const status = Array.isArray(body) ? get(body, 0) : body
  const details = get(get(status, "error"), "details") ?? get(status, "details")
  if (!Array.isArray(details)) return undefined
  for (let index = 0; index < Math.min(details.length, mostDetails); index++) {
    const detail = get(details, index)
    const type = get(detail, "@type")
    if (typeof type !== "string" || !isRetryInfo(type)) continue
    const millis = delay(get(detail, "retryDelay"))
    if (millis !== undefined) return after(millis > longestDuration * 1000 ? Infinity : millis)
  }
  return undefined
})

const isRetryInfo = (type: string): boolean => type === "google.rpc.RetryInfo" || type.endsWith("/google.rpc.RetryInfo")

/** A Duration in JSON, or its fields, as clients hand it on that decoded it from binary. */
const delay = (value: unknown): number | undefined => {
  if (typeof value === "string") return durations.parseProtobuf(value)
  if (typeof value !== "object" || value === null) return undefined
  const seconds = whole(get(value, "seconds") ?? 0)
  const nanos = whole(get(value, "nanos") ?? 0)
  if (seconds === undefined || nanos === undefined || nanos >= 1e9) return undefined
  // Each field may be left out when it is zero, but an object with neither is none.
  return "seconds" in value || "nanos" in value ? seconds * 1000 + nanos / 1e6 : undefined
}

/** A count: 64 bits travel as a text in JSON, and as a bigint in memory. */
const whole = (value: unknown): number | undefined => {
  if (typeof value === "string") return digits(value)
  const number = typeof value === "bigint" ? Number(value) : value
  return typeof number === "number" && Number.isInteger(number) && number >= 0 ? number : undefined
}
