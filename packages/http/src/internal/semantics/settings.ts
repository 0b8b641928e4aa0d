/** The options of a client, checked, with their defaults. */
import { InvalidPolicy } from "@reprise/core/InvalidPolicy"
import * as Policy from "@reprise/core/Policy"
import * as RetryBudget from "@reprise/core/RetryBudget"
import * as Spec from "@reprise/core/Spec"
import * as Transience from "@reprise/core/Transience"
import type * as Duration from "effect/Duration"
import type { KeyOptions, Options, RequestOptions } from "../../HttpRetry.ts"
import type * as RetryHint from "../../RetryHint.ts"
import * as profiles from "../hints/profiles.ts"
import { remembered } from "./remembered.ts"
import * as validate from "./validate.ts"
import * as key from "./key.ts"
import { isResponseError } from "./responseError.ts"

/** What a request is run with. */
export interface Settings {
  /** The caller's policy, together with the classification and the hints. */
  readonly policy: Policy.Policy<unknown>
  /** The longest hint that is waited for, in milliseconds. */
  readonly hintLimit: number
  readonly name: string | undefined
  readonly attemptTimeout: Duration.Duration | undefined
  /** `undefined` is one for each origin. */
  readonly budget: RetryBudget.RetryBudget | undefined
  /** Whether it is the context's, where there is one. */
  readonly contextual: boolean
  readonly profile: RetryHint.Profile
  readonly transience: Transience.Classifier
  readonly sendsHeaders: boolean
  /** Lower case. */
  readonly allowed: ReadonlySet<string>
  readonly excerpt: number
  readonly exhausted: "error" | "response"
  readonly redirects: number | undefined
  readonly generate: key.KeyForm | undefined
  readonly onRetry: Options["onRetry"]
  readonly onEvent: Options["onEvent"]
}

// They say what a person who looks into a failure asks first, and none of them is anybody's secret.
const allowed: ReadonlyArray<string> = [
  "content-length",
  "content-type",
  "date",
  "ratelimit",
  "ratelimit-policy",
  "retry-after",
  "retry-after-ms",
  "server",
  "traceparent",
  "via",
  "x-amzn-requestid",
  "x-correlation-id",
  "x-ratelimit-limit",
  "x-ratelimit-remaining",
  "x-ratelimit-reset",
  "x-request-id",
  "x-should-retry"
]

const own: validate.Kinds<Omit<RequestOptions, "policy">> = {
  name: ["a text"],
  attemptTimeout: [],
  budget: [],
  profile: [],
  transience: [],
  headers: ["true", "false"],
  responseHeaders: [],
  excerptBytes: [],
  redirects: [],
  keyed: [],
  onRetry: ["a function"],
  onEvent: ["a function"]
}

/** The options of a client. */
export const clientKinds: validate.Kinds<Options> = { ...own, maxOrigins: [], exhausted: [] }

/** The options of a request. */
export const requestKinds: validate.Kinds<RequestOptions> = { ...own, policy: [] }

/** How a key is written. */
export const keyKinds: validate.Kinds<KeyOptions> = { header: [], style: [] }

const timeout = (argument: string, value: Duration.Input | "none"): Duration.Duration | undefined =>
  value === "none"
    ? undefined
    : validate.duration(argument, value, 1, `"none" or a finite duration of at least 1 ms`)

/** How many origins have a budget of their own. */
export const most = (place: string, { maxOrigins = 1000 }: Pick<Options, "maxOrigins">): number =>
  validate.integer(`${place}.maxOrigins`, maxOrigins, 1, 1_000_000)

const budgetOf = (place: string, budget: Options["budget"]): RetryBudget.RetryBudget | undefined => {
  // Code that is not on Effect has no context.
  const contextual = place !== "fetch"
  if (budget === undefined || (contextual && budget === "context")) return undefined
  if (budget === "none") return RetryBudget.unlimited
  if (RetryBudget.isRetryBudget(budget)) return budget
  throw new InvalidPolicy({
    argument: `${place}.budget`,
    value: budget,
    rule: contextual ? `"none", "context" or a RetryBudget` : `"none" or a RetryBudget`
  })
}

const exhaustedOf = (argument: string, exhausted: "error" | "response"): "error" | "response" => {
  if (exhausted === "error" || exhausted === "response") return exhausted
  throw new InvalidPolicy({ argument, value: exhausted, rule: `"error" or "response"` })
}

const headerNames = (argument: string, names: ReadonlyArray<string>): ReadonlySet<string> => {
  if (!Array.isArray(names) || names.some((name) => typeof name !== "string")) {
    throw new InvalidPolicy({ argument, value: names, rule: "a list of header names" })
  }
  return new Set([...allowed, ...names.map((name) => name.toLowerCase())])
}

const keyForm = (place: string, keyed: Options["keyed"]): key.KeyForm | undefined =>
  keyed === undefined || keyed === false
    ? undefined
    : key.form(place, keyed === true ? {} : validate.options(place, keyed, keyKinds))

const profileOf = (argument: string, given: RetryHint.ProfileName | RetryHint.Profile): RetryHint.Profile => {
  const rule = "the name of a profile, or one that RetryHint.make has made"
  validate.holds(argument, given, rule, profiles.isProfile(given))
  return profiles.get(given)
}

const transienceOf = (argument: string, given: Transience.Classifier): Transience.Classifier => {
  const yes = typeof given === "object" && given !== null &&
    [given.classify, given.isTransient, given.notApplied].every((_) => typeof _ === "function")
  validate.holds(argument, given, "a classifier, such as Transience.make makes", yes)
  return given
}

/** No more than the classification retries, and the hints that the policy does not speak of itself. */
const combine = (policy: Policy.Any, { isTransient }: Transience.Classifier): Policy.Policy<unknown> => {
  const isRetryable = (error: unknown): boolean => isResponseError(error) || isTransient(error)
  // The types of the constructors have checked that it can read what fails here.
  const classified = Policy.whileInput(policy as Policy.Policy<unknown>, isRetryable, "http")
  return Spec.hintLimit(policy.spec) === undefined ? Policy.honoringRetryAfter(classified) : classified
}

const combinedOf = /* @__PURE__ */ remembered((transience: Transience.Classifier) =>
  remembered((policy: Policy.Any) => combine(policy, transience))
)

/** The settings for options that have been merged. */
export const make = (place: string, policy: Policy.Any, options: Options): Settings => {
  if (!Policy.isPolicy(policy)) {
    throw new InvalidPolicy({ argument: `${place}.policy`, value: policy, rule: "a Policy" })
  }
  if (!Spec.isDeclared(policy.spec)) {
    throw new InvalidPolicy({
      argument: `${place}.policy`,
      value: Policy.format(policy),
      rule: "a policy with an end (add attempts(n), recurs(n) or within(duration)), or say unlimited"
    })
  }
  const { attemptTimeout = "10 seconds", excerptBytes = 1024, exhausted = "error" } = options
  const { headers = true, profile = "standard" } = options
  const { redirects, responseHeaders = [] } = options
  const transience = transienceOf(`${place}.transience`, options.transience ?? Transience.standard)
  const whole = combinedOf(transience)(policy)
  return {
    policy: whole,
    hintLimit: Spec.hintLimit(whole.spec) ?? 0,
    name: options.name,
    attemptTimeout: timeout(`${place}.attemptTimeout`, attemptTimeout),
    budget: budgetOf(place, options.budget),
    contextual: options.budget === "context",
    profile: profileOf(`${place}.profile`, profile),
    transience,
    sendsHeaders: headers,
    allowed: headerNames(`${place}.responseHeaders`, responseHeaders),
    excerpt: validate.integer(`${place}.excerptBytes`, excerptBytes, 0, 65_536),
    exhausted: exhaustedOf(`${place}.exhausted`, exhausted),
    redirects: redirects === undefined ? undefined : validate.integer(`${place}.redirects`, redirects, 0, 100),
    generate: keyForm(`${place}.keyed`, options.keyed),
    onRetry: options.onRetry,
    onEvent: options.onEvent
  }
}
