/** The options of operations, checked, with their defaults: what calls have in common once, and then each call. */
import * as Transience from "@reprise/core/Transience"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { GeneralOptions, Options, Reconciled } from "../Idempotency.ts"
import * as check from "./check.ts"
import * as outcome from "./outcome.ts"

/** What calls have in common. */
export interface General {
  /** How errors name the function that was given the options. */
  readonly where: string
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

/** What is of one call. */
export interface Call {
  readonly key: string
  readonly scope: string
  readonly payload: unknown
  readonly method?: string | undefined
  readonly path?: string | undefined
}

export interface Settings extends General, Call {}

export type AnyGeneral = GeneralOptions<unknown, unknown, unknown, unknown>
export type AnyOptions = Options<unknown, unknown, unknown, unknown>

/** The names of the options that say nothing of one call. */
const names: ReadonlyArray<keyof AnyGeneral> = [
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

/** Long enough for a renewal or two to be late. */
const leastLease = 100
const mostScope = 255
const day = 24 * 60 * 60 * 1000

/** Checks what calls have in common; `others` are the options that stand beside it. */
export const general = (where: string, options: AnyGeneral, others: ReadonlyArray<string> = []): General => {
  check.options(where, options, [...others, ...names])
  const { failure, onAbandoned = "doubt", reconcile, success } = options
  check.holds(`${where}.success`, success, Schema.isSchema(success), "a schema")
  check.holds(`${where}.failure`, failure, failure === undefined || Schema.isSchema(failure), "a schema")
  check.holds(`${where}.reconcile`, reconcile, reconcile === undefined || Effect.isEffect(reconcile), "an effect")
  const isKnown = onAbandoned === "doubt" || onAbandoned === "rerun"
  check.holds(`${where}.onAbandoned`, onAbandoned, isKnown, "\"doubt\" or \"rerun\"")
  return {
    where,
    codec: outcome.codec(success, failure),
    lease: Math.ceil(check.millis(`${where}.lease`, options.lease ?? 30_000, leastLease)),
    retention: Math.ceil(check.millis(`${where}.retention`, options.retention ?? day, 1)),
    wait: options.wait === undefined ? 0 : check.millis(`${where}.wait`, options.wait, 0),
    reruns: onAbandoned === "rerun",
    reconcile,
    transience: options.transience ?? Transience.standard,
    maxPayloadBytes: check.integer(`${where}.maxPayloadBytes`, options.maxPayloadBytes ?? 1_048_576, 1)
  }
}

export const scope = (where: string, value: string): string =>
  check.text(`${where}.scope`, value, /^.{1,255}$/s, `a text of 1 to ${mostScope} characters: whose key it is`)

/** Completes them for one call. Its key and payload are from outside, and are looked at when it runs. */
export const withCall = (general: General, { key, method, path, payload, scope: whose }: Call): Settings => ({
  ...general,
  key,
  scope: scope(general.where, whose),
  payload,
  method,
  path
})

/** All at once. */
export const settingsOf = (where: string, options: AnyOptions): Settings => {
  const { key, method, path, payload, scope } = options
  return withCall(general(where, options, ["key", "scope", "payload", "method", "path"]), {
    key,
    scope,
    payload,
    method,
    path
  })
}
