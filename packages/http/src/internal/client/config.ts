/** A client's own options, and those of a request on top of them. */
import type * as Policy from "@reprise/core/Policy"
import * as RetryBudget from "@reprise/core/RetryBudget"
import * as Context from "effect/Context"
import type { Options, RequestOptions } from "../../HttpRetry.ts"
import * as origins from "../semantics/origins.ts"
import * as settings from "../semantics/settings.ts"

/** What is said of the requests inside; see `HttpRetry.withOptions`. */
export const Current: Context.Reference<RequestOptions | undefined> = /* @__PURE__ */ Context.Reference(
  "@reprise/http/HttpRetry/RequestOptions",
  { defaultValue: (): RequestOptions | undefined => undefined }
)

/** The options, of which what is given later counts; `undefined` is not given. */
export const merge = (first: RequestOptions | undefined, second: RequestOptions): RequestOptions => ({
  ...first,
  ...Object.fromEntries(Object.entries(second).filter((entry) => entry[1] !== undefined))
})

/** What all requests of a client share. */
export interface Config {
  readonly settings: (more: RequestOptions | undefined) => settings.Settings
  /** The budgets by origin around one that they share, or each with one of its own. */
  readonly origins: (shared: RetryBudget.RetryBudget | undefined) => origins.Origins
}

export const make = (policy: Policy.Any, options: Options): Config => {
  settings.check("client.options", options, ["policy"])
  const { maxOrigins = 1000, ...rest } = options
  const most = settings.integer("client.maxOrigins", maxOrigins, 1, 1_000_000)
  const base = settings.make("client", policy, rest)
  const own = origins.make(() => RetryBudget.make(), most)
  const around = new WeakMap<RetryBudget.RetryBudget, origins.Origins>()
  return {
    settings: (more) => {
      if (more === undefined) return base
      const { policy: another, ...merged } = merge(rest, more)
      return settings.make("withOptions", another ?? policy, merged)
    },
    origins: (shared) => {
      if (shared === undefined) return own
      let known = around.get(shared)
      if (known === undefined) around.set(shared, known = origins.make(() => shared, most))
      return known
    }
  }
}
