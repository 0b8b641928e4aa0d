/** The options of `FetchRetry.fetch`, checked, and with the defaults in their places. */
import { InvalidPolicy } from "@reprise/core/InvalidPolicy"
import * as IdempotencyKey from "@reprise/core/IdempotencyKey"
import type * as Policy from "@reprise/core/Policy"
import * as RetryBudget from "@reprise/core/RetryBudget"
import type * as Duration from "effect/Duration"
import type { Fetch, Options } from "../../FetchRetry.ts"
import * as keys from "../semantics/key.ts"
import type { KeyForm } from "../client/marks.ts"
import * as origins from "../semantics/origins.ts"
import * as shared from "../semantics/settings.ts"
import * as validate from "../semantics/validate.ts"

export interface Settings extends Omit<shared.Settings, "redirects"> {
  readonly origins: origins.Origins
  readonly deadline: Duration.Duration | undefined
  readonly idempotent: Options["idempotent"]
  readonly idempotencyKey: Options["idempotencyKey"]
  readonly keyForm: KeyForm
  /** The headers in which a key may stand. */
  readonly keyHeaders: ReadonlyArray<string>
  /** Whether the fetch has turned out not to show redirects. */
  readonly redirects: { hidden: boolean }
  readonly exhausted: "error" | "response"
  readonly bufferBody: number
  /** `undefined` is the global one of the moment. */
  readonly fetch: Fetch | undefined
  readonly when: Options["when"]
  readonly told: Options["onRetry"]
}

const sharedNames = ["name", "attemptTimeout", "budget", "profile", "transience", "headers", "responseHeaders"] as const

const ownNames: ReadonlyArray<keyof Options> = [
  "bufferBody",
  "deadline",
  "exhausted",
  "fetch",
  "idempotencyKey",
  "idempotencyKeyForm",
  "idempotent",
  "maxOrigins",
  "onRetry",
  "when"
]

const isKey = (key: Options["idempotencyKey"]): boolean =>
  key === undefined || typeof key === "boolean" || typeof key === "function" || IdempotencyKey.isIdempotencyKey(key)

const functionNames = ["fetch", "when", "onRetry"] as const

const checkOwn = (options: Options): void => {
  for (const name of functionNames) {
    const value = options[name]
    validate.holds(`fetch.${name}`, value, "a function", value === undefined || typeof value === "function")
  }
  const { exhausted, idempotencyKey, idempotent } = options
  // A key is a secret, so the message does not show it.
  if (!isKey(idempotencyKey)) {
    throw new InvalidPolicy({
      argument: "fetch.idempotencyKey",
      value: typeof idempotencyKey,
      rule: "true, a function, or a text of 1 to 255 printable ASCII characters without a space at either end"
    })
  }
  const kinds = [undefined, "error", "response"]
  validate.holds("fetch.exhausted", exhausted, `"error" or "response"`, kinds.includes(exhausted))
  const known = ["undefined", "boolean", "function"]
  validate.holds("fetch.idempotent", idempotent, "true, false or a function", known.includes(typeof idempotent))
}

export const make = (policy: Policy.Any, given: Options): Settings => {
  const options = validate.options("fetch", given, [...sharedNames, ...ownNames])
  checkOwn(options)
  const { bufferBody = 0, deadline, exhausted = "error", fetch, idempotencyKeyForm = {}, maxOrigins = 1000 } = options
  const common = Object.fromEntries(sharedNames.map((name) => [name, options[name]]))
  shared.check("fetch", common, [])
  const settings = shared.make("fetch", policy, common)
  const keyForm = keys.form(
    "fetch.idempotencyKeyForm",
    validate.options("fetch.idempotencyKeyForm", idempotencyKeyForm, ["header", "style"])
  )
  return {
    ...settings,
    origins: origins.make(
      () => settings.budget ?? RetryBudget.make(),
      shared.integer("fetch.maxOrigins", maxOrigins, 1, 1_000_000)
    ),
    deadline: deadline === undefined ? undefined : validate.duration("fetch.deadline", deadline, 1),
    idempotent: options.idempotent,
    idempotencyKey: options.idempotencyKey,
    keyForm,
    keyHeaders: [keys.standardHeader, keyForm.header],
    redirects: { hidden: false },
    exhausted,
    bufferBody: shared.integer("fetch.bufferBody", bufferBody, 0, Number.MAX_SAFE_INTEGER),
    fetch,
    when: options.when,
    told: options.onRetry
  }
}
