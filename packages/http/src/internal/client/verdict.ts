/** What a response means: whether to send the request again, and what to tell of it. */
import * as Transience from "@reprise/core/Transience"
import * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import type * as HttpClientResponse from "effect/http/HttpClientResponse"
import * as Option from "effect/Option"
import * as RetryHint from "../../RetryHint.ts"
import { ResponseError } from "./responseError.ts"
import type { Settings } from "./settings.ts"

type Response = HttpClientResponse.HttpClientResponse

/** A hint as an error carries it. */
const carried = (hint: Transience.Hint | undefined): Transience.RetryAfter | undefined => {
  switch (hint?._tag) {
    case undefined:
      return undefined
    case "After":
      return Duration.millis(hint.millis)
    case "At":
      // Readers keep moments within what a date can be.
      return Option.getOrElse(DateTime.make(hint.epochMillis), () => Duration.infinity)
    case "DoNotRetry":
      return "do not retry"
  }
}

/** Without credentials, query and fragment: these hold secrets. */
const bare = (url: string): string => {
  try {
    const { origin, pathname, protocol, host } = new URL(url)
    return `${origin === "null" ? `${protocol}//${host}` : origin}${pathname}`
  } catch {
    return url.replace(/[?#].*$/s, "")
  }
}

const picked = (headers: Readonly<Record<string, string>>, allowed: ReadonlySet<string>): Record<string, string> => {
  const longest = 1024
  return Object.fromEntries(
    Object.entries(headers)
      .filter(([name]) => allowed.has(name))
      .map(([name, value]) => [name, value.length > longest ? `${value.slice(0, longest)}…` : value])
  )
}

/** What a failing response says, and the error that it is where that is worth a retry. */
export interface Judged {
  readonly error: ResponseError
  /** The wait that was asked for, in milliseconds. */
  readonly wait: number | undefined
}

/** Judges a response of status 400 or above; undefined where it is to pass as it is. */
export const judge = (
  response: Response,
  body: unknown,
  now: number,
  { allowed, profile, transience }: Settings,
  note: string | undefined
): Judged | undefined => {
  const { headers, request: { method }, status } = response
  const { decidedBy, hint, shouldRetry } = RetryHint.read({ status, headers, body }, { now, profile })
  // What rules of the caller's may look at.
  const seen = {
    _tag: "ResponseError",
    status,
    method,
    url: bare(response.url || response.request.url),
    headers,
    retryAfter: carried(hint)
  }
  const { applied, throttled, transience: verdict } = transience.classify(seen)
  // The server knows its own failures best. A refusal in words is a hint, which ends the run and says so.
  const transient = shouldRetry === undefined || (!shouldRetry && decidedBy !== "status")
    ? verdict === "transient"
    : shouldRetry
  if (!transient) return undefined
  const { retryAfter, url } = seen
  return {
    error: new ResponseError({
      status,
      method,
      url,
      headers: picked(headers, allowed),
      applied,
      throttled,
      retryAfter,
      note
    }),
    wait: hint === undefined ? undefined : RetryHint.toMillis(hint, now)
  }
}
