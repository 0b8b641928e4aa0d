/** The options of `Idempotency.once`, checked, with their defaults. */
import { InvalidPolicy } from "@reprise/core/InvalidPolicy"
import * as Transience from "@reprise/core/Transience"
import type * as Effect from "effect/Effect"
import type { Options, Reconciled } from "../Idempotency.ts"
import * as check from "./check.ts"
import * as outcome from "./outcome.ts"

export interface Settings {
  readonly key: string
  readonly scope: string
  readonly method: string | undefined
  readonly path: string | undefined
  readonly payload: unknown
  readonly codec: outcome.Codec
  /** All in milliseconds. */
  readonly lease: number
  readonly retention: number
  readonly wait: number
  readonly reruns: boolean
  readonly reconcile: Effect.Effect<Reconciled<unknown, unknown>, unknown, unknown> | undefined
  readonly transience: Transience.Classifier
  readonly maxPayloadBytes: number
}

export type AnyOptions = Options<unknown, unknown, unknown, unknown>

/** The options that say nothing of one call. */
const general: ReadonlyArray<keyof AnyOptions> = [
  "success",
  "failure",
  "lease",
  "retention",
  "wait",
  "onAbandoned",
  "reconcile",
  "transience",
  "maxPayloadBytes"
]
const known = ["key", "scope", "payload", "method", "path", ...general]

/** Long enough for a renewal or two to be late. */
const leastLease = 100
const mostScope = 255
const day = 24 * 60 * 60 * 1000

export const settingsOf = (where: string, options: AnyOptions): Settings => {
  check.options(where, options, known)
  const { onAbandoned = "doubt" } = options
  if (onAbandoned !== "doubt" && onAbandoned !== "rerun") {
    throw new InvalidPolicy({ argument: `${where}.onAbandoned`, value: onAbandoned, rule: "\"doubt\" or \"rerun\"" })
  }
  const rule = `a text of 1 to ${mostScope} characters: whose key it is`
  return {
    key: options.key,
    scope: check.text(`${where}.scope`, options.scope, /^.{1,255}$/s, rule),
    method: options.method,
    path: options.path,
    payload: options.payload,
    codec: outcome.codec(options.success, options.failure),
    lease: Math.ceil(check.millis(`${where}.lease`, options.lease ?? 30_000, leastLease)),
    retention: Math.ceil(check.millis(`${where}.retention`, options.retention ?? day, 1)),
    wait: options.wait === undefined ? 0 : check.millis(`${where}.wait`, options.wait, 0),
    reruns: onAbandoned === "rerun",
    reconcile: options.reconcile,
    transience: options.transience ?? Transience.standard,
    maxPayloadBytes: check.integer(`${where}.maxPayloadBytes`, options.maxPayloadBytes ?? 1_048_576, 1)
  }
}
