/** A client's own options, and those of a request on top of them. */
import type * as Policy from "@reprise/core/Policy"
import * as Presets from "@reprise/core/Presets"
import * as RetryBudget from "@reprise/core/RetryBudget"
import * as Context from "effect/Context"
import type { Options, RequestOptions } from "../../HttpRetry.ts"
import * as origins from "../semantics/origins.ts"
import { remembered } from "../semantics/remembered.ts"
import * as settings from "../semantics/settings.ts"
import * as validate from "../semantics/validate.ts"

/** What is said of the requests inside; see `HttpRetry.withOptions`. */
export const Current: Context.Reference<RequestOptions | undefined> = /* @__PURE__ */ Context.Reference(
  "@reprise/http/HttpRetry/RequestOptions",
  { defaultValue: (): RequestOptions | undefined => undefined }
)

/** The options of a request, as they are now: `undefined` is not given. */
export const given = (options: RequestOptions): RequestOptions => {
  const { policy, ...rest } = validate.options("withOptions", options, settings.requestKinds)
  settings.make("withOptions", policy ?? Presets.http, rest)
  return Object.fromEntries(Object.entries(options).filter((entry) => entry[1] !== undefined))
}

/** What is given, on top of what is given around it. */
export const over = (
  options: RequestOptions
): (around: RequestOptions | undefined) => RequestOptions => {
  const merged = remembered((around: RequestOptions): RequestOptions => ({ ...around, ...options }))
  return (around) => around === undefined ? options : merged(around)
}

/** What all requests of a client share. */
export interface Config {
  readonly settings: (more: RequestOptions | undefined) => settings.Settings
  /** The budgets by origin around one that they share, or each with one of its own. */
  readonly origins: (shared: RetryBudget.RetryBudget | undefined) => origins.Origins
}

export const make = (policy: Policy.Any, options: Options): Config => {
  validate.options("client", options, settings.clientKinds)
  const most = settings.most("client", options)
  const { ...mine } = options
  const base = settings.make("client", policy, mine)
  const own = origins.make(() => RetryBudget.make(), most)
  const around = remembered((shared: RetryBudget.RetryBudget) => origins.make(() => shared, most))
  const whole = remembered(({ policy: another, ...more }: RequestOptions) =>
    settings.make("withOptions", another ?? policy, { ...mine, ...more })
  )
  return {
    settings: (more) => more === undefined ? base : whole(more),
    origins: (shared) => shared === undefined ? own : around(shared)
  }
}
