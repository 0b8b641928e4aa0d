/** The options of `FetchRetry.fetch`, checked, and with the defaults in their places. */
import { InvalidPolicy } from "@reprise/core/InvalidPolicy"
import * as IdempotencyKey from "@reprise/core/IdempotencyKey"
import type * as Policy from "@reprise/core/Policy"
import * as RetryBudget from "@reprise/core/RetryBudget"
import type * as Duration from "effect/Duration"
import type { Fetch, Options } from "../../FetchRetry.ts"
import * as keys from "../semantics/key.ts"
import * as origins from "../semantics/origins.ts"
import * as shared from "../semantics/settings.ts"
import * as validate from "../semantics/validate.ts"

export interface Settings extends shared.Settings {
  readonly origins: origins.Origins
  readonly deadline: Duration.Duration | undefined
  readonly idempotent: Options["idempotent"]
  readonly idempotencyKey: Options["idempotencyKey"]
  readonly keyForm: keys.KeyForm
  /** The headers in which a key may stand. */
  readonly keyHeaders: ReadonlyArray<string>
  /** What the fetch has turned out to do. */
  readonly seen: { hidesRedirects: boolean }
  readonly bufferBody: number
  /** `undefined` is the global one of the moment. */
  readonly fetch: Fetch | undefined
  readonly when: Options["when"]
  readonly told: Options["onRetry"]
}

const kinds: validate.Kinds<Options> = {
  name: ["a text"],
  attemptTimeout: [],
  deadline: [],
  budget: [],
  maxOrigins: [],
  profile: [],
  transience: [],
  headers: ["true", "false"],
  responseHeaders: [],
  idempotent: ["true", "false", "a function"],
  idempotencyKey: [],
  idempotencyKeyForm: [],
  exhausted: [],
  bufferBody: [],
  fetch: ["a function"],
  when: ["a function"],
  onRetry: ["a function"]
}

const keyOf = (key: Options["idempotencyKey"]): Options["idempotencyKey"] => {
  const isKey = key === undefined || typeof key === "boolean" || typeof key === "function" ||
    IdempotencyKey.isIdempotencyKey(key)
  if (isKey) return key
  throw new InvalidPolicy({
    argument: "fetch.idempotencyKey",
    // A key is a secret, so the message does not show it.
    value: typeof key,
    rule: "true, a function, or a text of 1 to 255 printable ASCII characters without a space at either end"
  })
}

export const make = (policy: Policy.Any, given: Options): Settings => {
  const options = validate.options("fetch", given, kinds)
  const { bufferBody = 0, deadline, fetch, idempotencyKeyForm = {}, idempotent, onRetry, when } = options
  const settings = shared.make("fetch", policy, { ...options, onRetry: undefined })
  const keyForm = keys.form(
    "fetch.idempotencyKeyForm",
    validate.options("fetch.idempotencyKeyForm", idempotencyKeyForm, shared.keyKinds)
  )
  return {
    ...settings,
    origins: origins.make(() => settings.budget ?? RetryBudget.make(), shared.most("fetch", options)),
    deadline: deadline === undefined ? undefined : validate.duration("fetch.deadline", deadline, 1),
    idempotent,
    idempotencyKey: keyOf(options.idempotencyKey),
    keyForm,
    keyHeaders: [keys.standardHeader, keyForm.header],
    seen: { hidesRedirects: false },
    bufferBody: validate.integer("fetch.bufferBody", bufferBody, 0, Number.MAX_SAFE_INTEGER),
    fetch,
    when,
    told: onRetry
  }
}
