/**
 * Which headers are read, and in which order: those that everybody may send, and before them a vendor's own.
 */
import type { Profile, ProfileName, Rule } from "../../RetryHint.ts"
import * as grpc from "./grpc.ts"
import * as resets from "./resets.ts"
import * as rules from "./rules.ts"
import * as vendors from "./vendors.ts"

export const make = (name: string, all: ReadonlyArray<Rule>): Profile => ({
  name,
  rules: all,
  readsBody: all.some((rule) => rule.body)
})

/** Whether a rule looks at the body of a response of that status. */
export const readsBody = ({ readsBody, rules }: Profile, status: number): boolean =>
  readsBody && rules.some((rule) => rule.body && (rule.concerns === undefined || rule.concerns(status)))

const verdicts: ReadonlyArray<Rule> = [rules.verdict("x-should-retry"), rules.verdict("stripe-should-retry")]

const exact: ReadonlyArray<Rule> = [
  rules.milliseconds("retry-after-ms"),
  rules.milliseconds("x-ms-retry-after-ms")
]

// Every vendor spells it in its own way, and some mix the spellings.
const remaining: ReadonlyArray<string> = ["x-ratelimit-remaining", "x-rate-limit-remaining", "ratelimit-remaining"]

const perKind = (kind: string): Rule =>
  resets.reset(`x-ratelimit-reset-${kind}`, [`x-ratelimit-remaining-${kind}`], resets.duration)

const anthropicPerKind = (kind: string): Rule =>
  resets.reset(`anthropic-ratelimit-${kind}-reset`, [`anthropic-ratelimit-${kind}-remaining`], resets.timestamp)

// Waits before moments, which need two clocks to agree.
const resetHeaders: ReadonlyArray<Rule> = [
  rules.seconds("x-ratelimit-retry-after"),
  resets.reset("x-ratelimit-reset-after", remaining, resets.delaySeconds),
  resets.reset("ratelimit-reset", ["ratelimit-remaining", ...remaining], resets.epochOrSeconds),
  resets.reset("x-ratelimit-reset", remaining, resets.epochOrSeconds),
  resets.reset("x-rate-limit-reset", ["x-rate-limit-remaining", ...remaining], resets.epochOrSeconds),
  resets.last("x-ratelimit-reset-*", [perKind("requests"), perKind("tokens")])
]

const waits: ReadonlyArray<Rule> = [...exact, rules.retryAfter, rules.rateLimit(false), ...resetHeaders]

const vendor = (name: string, own: ReadonlyArray<Rule>): Profile => make(name, [...verdicts, ...own, ...waits])

// Past this openai-node waits by its own backoff.
const openaiLimit = 60_000

const profiles: Readonly<Record<ProfileName, Profile>> = {
  standard: vendor("standard", []),
  lenient: make("lenient", [
    ...verdicts,
    ...exact,
    rules.tolerantRetryAfter,
    rules.rateLimit(true),
    ...resetHeaders
  ]),
  openai: vendor("openai", [
    vendors.sdkVerdict,
    ...[...exact, rules.retryAfter].map((rule) => rules.within(rule, openaiLimit))
  ]),
  anthropic: make("anthropic", [
    ...verdicts,
    vendors.sdkVerdict,
    ...waits,
    resets.last(
      "anthropic-ratelimit-*-reset",
      ["requests", "tokens", "input-tokens", "output-tokens"]
        .map(anthropicPerKind)
    )
  ]),
  azure: vendor("azure", []),
  github: vendor("github", vendors.github),
  discord: vendor("discord", [vendors.discordVerdict, rules.retryAfter, vendors.discordBody]),
  aws: vendor("aws", [vendors.aws]),
  grpc: make("grpc", [grpc.pushback, ...verdicts, grpc.retryInfo, ...waits]),
  google: vendor("google", [grpc.retryInfo]),
  stripe: vendor("stripe", [vendors.stripeVerdict])
}

/** The profile of a name, and the standard one where there is none. */
export const get = (profile: ProfileName | Profile): Profile =>
  typeof profile !== "string" ? profile : Object.hasOwn(profiles, profile) ? profiles[profile] : profiles.standard

/** Whether there is such a profile. */
export const isProfile = (profile: ProfileName | Profile): boolean =>
  typeof profile === "string"
    ? Object.hasOwn(profiles, profile)
    : typeof profile === "object" && profile !== null && Array.isArray(profile.rules) &&
      typeof profile.readsBody === "boolean"
