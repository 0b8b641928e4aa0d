/**
 * What a failing HTTP response says of the wait before the next attempt, and of whether there should be one.
 *
 * A pure reading of headers and, for some vendors, of the body: it never throws, whatever the response holds, and takes
 * time linear in its length. What a server says is advice: limits, the safety of the method and TLS are the client's
 * business, and no header overrides them.
 */
import type * as Transience from "@reprise/core/Transience"
import * as grpc from "./internal/hints/grpc.ts"
import * as profiles from "./internal/hints/profiles.ts"
import * as reading from "./internal/hints/reading.ts"
import * as resets from "./internal/hints/resets.ts"
import * as rules from "./internal/hints/rules.ts"

// ---------------------------------------------------------------------------------------------------------------------
// Reading
// ---------------------------------------------------------------------------------------------------------------------

/**
 * Headers as fetch, Effect and Node.js have them: by `get`, or in a record whose names may be in any case and whose
 * values may be lists of lines.
 *
 * @category models
 */
export type Headers =
  | { readonly get: (name: string) => string | null | undefined }
  | { readonly [name: string]: string | ReadonlyArray<string> | undefined }

/**
 * A failing response, as far as {@link read} looks at it.
 *
 * @category models
 */
export interface Response {
  readonly status: number
  readonly headers: Headers
  /** The body as JSON, already parsed. Worth having only where `readsBody` is true of the {@link Profile}. */
  readonly body?: unknown
}

/**
 * How to read a response.
 *
 * @category models
 */
export interface Options {
  /** Milliseconds since the epoch, when the response came. */
  readonly now: number
  /**
   * Whether dates are measured against the response's own `Date` (plus its `Age`), so that a clock that is wrong, here
   * or there, makes no wait wrong. Default `true`; without a readable `Date`, `now` it is.
   */
  readonly date?: boolean | undefined
  /** Whose headers are read, and how. Default `"standard"`. */
  readonly profile?: ProfileName | Profile | undefined
  /**
   * The delay in milliseconds that the client would have waited by itself, for profiles that hold a hint against it
   * (`"aws"`, whose hint is then the whole wait). Default 0, which is right where that delay is added to the hint, as
   * policies do.
   */
  readonly ownBackoff?: number | undefined
}

/**
 * What a response says.
 *
 * @category models
 */
export interface Reading {
  /**
   * The wait, a moment (by the clock that `now` is of), or "do not retry"; undefined when nothing readable is said.
   *
   * Zero or past is no wait. Longer than 1e15 milliseconds is `Infinity`: too long, not absent.
   */
  readonly hint: Transience.Hint | undefined
  /** Where the hint stood: a header, or a place in the body. */
  readonly source: string | undefined
  /**
   * Whether the hint is readable, and longer than anybody waits: past 1e15 milliseconds, past what the vendor's own
   * client would wait, or a moment where seconds are due. It is for a program that reads responses by itself: give up,
   * and tell when to come back. The clients of this package do not ask: they go by `hint`, and by the longest one that
   * their policy follows.
   */
  readonly tooLong: boolean
  /** Whether to try again, where the server or, by the vendor's own rules, the status says so. */
  readonly shouldRetry: boolean | undefined
  /** What decided `shouldRetry`: a header, or `"status"`. */
  readonly decidedBy: string | undefined
}

/**
 * Reads what a failing response says. Never throws.
 *
 * The first readable wait counts, in the order of the profile; for `"standard"`:
 *
 * 1. `x-should-retry`, `stripe-should-retry`: exactly `false` is "do not retry"
 * 2. `retry-after-ms`, `x-ms-retry-after-ms`
 * 3. `Retry-After` (RFC 9110, 10.2.3): seconds, or one of the three forms of a date
 * 4. `RateLimit` (draft-ietf-httpapi-ratelimit-headers-10, and -07): the longest `t` of the policies that are used up
 * 5. `x-ratelimit-retry-after`, and, where no quota is left, `x-ratelimit-reset-after`, `ratelimit-reset`,
 *    `x-ratelimit-reset`, `x-rate-limit-reset`, `x-ratelimit-reset-requests` and `-tokens`
 *
 * "No quota left" is a count of 0 in the header that goes with the reset, `x-ratelimit-remaining` and the like; without
 * such a header the status says it, 413, 429 or 503.
 *
 * ```ts
 * import { RetryHint } from "@reprise/http"
 *
 * const now = 1_768_478_400_000
 * const response = { status: 503, headers: { "Retry-After": "Thu, 15 Jan 2026 12:00:30 GMT" } }
 * const { hint, source } = RetryHint.read(response, { now })
 * console.log(hint, source) // => { _tag: 'At', epochMillis: 1768478430000 } retry-after
 * ```
 *
 * @category reading
 */
export const read = (response: Response, options: Options): Reading =>
  reading.read(response, options, profiles.get(options.profile ?? "standard").rules)

/**
 * The milliseconds from `now` that a hint asks to wait: never negative, `Infinity` when it is too long, undefined for
 * "do not retry".
 *
 * @category reading
 */
export const toMillis: (hint: Transience.Hint, now: number) => number | undefined = reading.toMillis

// ---------------------------------------------------------------------------------------------------------------------
// Profiles
// ---------------------------------------------------------------------------------------------------------------------

/**
 * The profiles that are built in. Each vendor's reads its own headers first, and then the standard ones.
 *
 * - `"lenient"`: the standard one, and takes a `Retry-After` with a decimal point (Shopify's `2.0`) or given several
 *   times (the longest counts), a moment in its place (too long), and a `RateLimit` whose policies are no strings
 * - `"openai"`: by openai-node; `Retry-After` and `retry-after-ms` past 60 seconds are too long; the status decides when
 *   no header does: 408, 409, 429 and 500 up
 * - `"anthropic"`: the statuses of openai; `anthropic-ratelimit-*-reset` last
 * - `"azure"`: by azure-sdk-for-js, whose headers are all in the standard one
 * - `"github"`: a 403 with `retry-after`, with `x-ratelimit-remaining: 0` or with the message of the secondary limit is
 *   a limit, and any other a refusal; the message alone asks for a minute
 * - `"discord"`: `retry_after` in the body of a 429, after the header
 * - `"aws"`: `x-amz-retry-after`, in milliseconds, held between the client's own delay and 5 seconds more
 * - `"grpc"`: `grpc-retry-pushback-ms` (grpc/proposal A6), which also decides, and `RetryInfo`
 * - `"google"`: `google.rpc.RetryInfo` in the body
 * - `"stripe"`: by stripe-node; the status decides when no header does: 409 and 500 up, and not 429
 *
 * @category profiles
 */
export type ProfileName =
  | "standard"
  | "lenient"
  | "openai"
  | "anthropic"
  | "azure"
  | "github"
  | "discord"
  | "aws"
  | "grpc"
  | "google"
  | "stripe"

/**
 * Which rules a response is read by, in their order. Make one with {@link make}.
 *
 * @category profiles
 */
export interface Profile {
  readonly name: string
  readonly rules: ReadonlyArray<Rule>
  /** Whether a rule looks at the body. */
  readonly readsBody: boolean
}

/**
 * A profile of one's own: the first rule that finds a wait gives the wait, the first that finds a verdict the verdict.
 *
 * ```ts
 * import { RetryHint } from "@reprise/http"
 *
 * const profile = RetryHint.make("shop", [RetryHint.seconds("x-come-back-in"), ...RetryHint.profile("standard").rules])
 * const response = { status: 429, headers: { "x-come-back-in": "2.5", "retry-after": "60" } }
 * console.log(RetryHint.read(response, { now: 0, profile }).hint) // => { _tag: 'After', millis: 2500 }
 * ```
 *
 * @category profiles
 */
export const make: (name: string, rules: ReadonlyArray<Rule>) => Profile = profiles.make

/**
 * The profile of a name: to put rules of one's own before or after its rules, and to know whether it looks at bodies.
 *
 * @category profiles
 */
export const profile: (name: ProfileName | Profile) => Profile = profiles.get

// ---------------------------------------------------------------------------------------------------------------------
// Rules
// ---------------------------------------------------------------------------------------------------------------------

/**
 * One place to look at. A `read` that throws has found nothing, and what it finds is brought within bounds.
 *
 * @category rules
 */
export interface Rule {
  /** The header, or the place in the body. */
  readonly source: string
  /** Whether it looks at the body. */
  readonly body: boolean
  /** The statuses of which it looks at the body: reading it takes time, up to a second. Default: all. */
  readonly concerns?: ((status: number) => boolean) | undefined
  readonly read: (response: Incoming, context: Context) => Finding | undefined
}

/**
 * A response as rules see it: a header is one text, of lines joined by commas; a status that is none is 0.
 *
 * @category rules
 */
export interface Incoming {
  readonly status: number
  readonly header: (name: string) => string | undefined
  readonly body: unknown
}

/**
 * What rules may know besides: the time here, the time by the server's clock, and the client's own delay.
 *
 * @category rules
 */
export interface Context {
  readonly now: number
  readonly serverNow: number
  readonly ownBackoff: number
  /** Finds a moment by the server's clock. */
  readonly at: (epochMillis: number) => Finding
}

/**
 * What a rule found: a wait, a verdict, both or neither.
 *
 * @category rules
 */
export interface Finding {
  readonly hint?: Transience.Hint | undefined
  readonly shouldRetry?: boolean | undefined
  /** Of the wait; see {@link Reading}. Default: whether it is past 1e15 milliseconds. */
  readonly tooLong?: boolean | undefined
  /** Where, if not in the `source` of the rule. */
  readonly source?: string | undefined
}

/**
 * A header with milliseconds, as `retry-after-ms`: digits, with or without a decimal point.
 *
 * @category rules
 */
export const milliseconds: (header: string) => Rule = rules.milliseconds

/**
 * A header with seconds: digits, with or without a decimal point.
 *
 * @category rules
 */
export const seconds: (header: string) => Rule = rules.seconds

/**
 * A header with `true` or `false`, as `x-should-retry`; anything else says nothing.
 *
 * @category rules
 */
export const verdict: (header: string) => Rule = rules.verdict

/**
 * A header that says when a limit is lifted, as `x-ratelimit-reset`, read when one of the headers in `remaining` is 0 or,
 * where none is there, when the status is 413, 429 or 503.
 *
 * From 1e11 up it is milliseconds since the epoch, from 1e9 up seconds since the epoch, and else seconds from now.
 *
 * @category rules
 */
export const reset = (header: string, remaining: ReadonlyArray<string>): Rule =>
  resets.reset(header, remaining, resets.epochOrSeconds)

/**
 * A verdict by the status, where no header gives one.
 *
 * @category rules
 */
export const status: (decide: (status: number) => boolean | undefined) => Rule = rules.status

/**
 * The `google.rpc.RetryInfo` in the body of an error.
 *
 * @category rules
 */
export const retryInfo: Rule = grpc.retryInfo
