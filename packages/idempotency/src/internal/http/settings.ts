/** The options of the middleware, checked, with their defaults. */
import { InvalidPolicy } from "@reprise/core/InvalidPolicy"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import type { Options } from "../../HttpIdempotency.ts"
import type { Reconciled } from "../../Idempotency.ts"
import * as check from "../check.ts"
import * as once from "../settings.ts"
import * as recorded from "./recorded.ts"

export type AnyOptions = Options<unknown, unknown, unknown>

export interface Settings {
  readonly scope: Effect.Effect<string, unknown, unknown>
  readonly payload: Effect.Effect<unknown, unknown, unknown> | undefined
  readonly reconcile: Effect.Effect<Reconciled<HttpServerResponse>, unknown, unknown> | undefined
  readonly transaction: AnyOptions["transaction"]
  readonly required: boolean
  readonly header: string
  readonly unquoted: boolean
  readonly methods: ReadonlySet<string>
  /** The headers of responses that are recorded. */
  readonly headers: ReadonlyArray<string>
  readonly maxBodyBytes: number
  readonly maxResponseBytes: number
  readonly retryAfter: Duration.Duration
  readonly documentation: string | undefined
  readonly interrupts: boolean
  /** Whether what is in doubt may be settled later. */
  readonly settles: boolean
  readonly general: once.General
}

const names: ReadonlyArray<keyof AnyOptions> = [
  "scope",
  "payload",
  "transaction",
  "required",
  "header",
  "unquotedKeys",
  "methods",
  "headers",
  "maxBodyBytes",
  "maxResponseBytes",
  "retryAfter",
  "documentation",
  "onDisconnect",
  // And those of `once` that it takes.
  "failure",
  "lease",
  "onAbandoned",
  "reconcile",
  "retention",
  "transience",
  "wait"
]

const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const megabyte = 1_048_576

const effect = (argument: string, value: unknown, isOptional: boolean): void =>
  check.holds(argument, value, Effect.isEffect(value) || (isOptional && value === undefined), "an effect")

const boolean = (argument: string, value: boolean | undefined, otherwise: boolean): boolean => {
  check.holds(argument, value, value === undefined || typeof value === "boolean", "true or false")
  return value ?? otherwise
}

const tokens = (argument: string, values: ReadonlyArray<string>, rule: string): ReadonlyArray<string> => {
  check.holds(argument, values, Array.isArray(values), `a list of ${rule}`)
  return values.map((value, index) => check.text(`${argument}[${index}]`, value, token, rule))
}

const headersOf = (argument: string, values: ReadonlyArray<string>): ReadonlyArray<string> =>
  tokens(argument, values, "names of headers").map((name, index) => {
    const lower = name.toLowerCase()
    if (!recorded.neverRecorded.test(lower)) return lower
    throw new InvalidPolicy({
      argument: `${argument}[${index}]`,
      value: name,
      rule: "no header of one caller, of the connection, or of the length"
    })
  })

export const settingsOf = (where: string, options: AnyOptions): Settings => {
  check.options(where, options, names)
  const { documentation, onAbandoned, onDisconnect = "finish", payload, reconcile, scope, transaction } = options
  effect(`${where}.scope`, scope, false)
  effect(`${where}.payload`, payload, true)
  effect(`${where}.reconcile`, reconcile, true)
  const isFunction = transaction === undefined || typeof transaction === "function"
  check.holds(`${where}.transaction`, transaction, isFunction, "a function, such as sql.withTransaction")
  check.holds(
    `${where}.onDisconnect`,
    onDisconnect,
    /^(?:finish|interrupt)$/.test(onDisconnect),
    "\"finish\" or \"interrupt\""
  )
  if (documentation !== undefined) {
    check.text(`${where}.documentation`, documentation, /^[\x21-\x7e]+$/, "the address of a page")
  }
  const maxBodyBytes = check.integer(`${where}.maxBodyBytes`, options.maxBodyBytes ?? megabyte, 1)
  return {
    scope,
    payload,
    reconcile,
    transaction,
    required: boolean(`${where}.required`, options.required, true),
    header: check.text(`${where}.header`, options.header ?? "idempotency-key", token, "the name of a header")
      .toLowerCase(),
    unquoted: boolean(`${where}.unquotedKeys`, options.unquotedKeys, false),
    methods: new Set(
      tokens(`${where}.methods`, options.methods ?? ["POST", "PATCH"], "names of methods").map((method) =>
        method.toUpperCase()
      )
    ),
    headers: [...recorded.standardHeaders, ...headersOf(`${where}.headers`, options.headers ?? [])],
    maxBodyBytes,
    maxResponseBytes: check.integer(`${where}.maxResponseBytes`, options.maxResponseBytes ?? megabyte, 0),
    retryAfter: Duration.millis(check.millis(`${where}.retryAfter`, options.retryAfter ?? 1000, 1)),
    documentation,
    interrupts: onDisconnect === "interrupt",
    settles: reconcile !== undefined || onAbandoned === "rerun",
    general: once.general(where, {
      success: recorded.Recorded,
      failure: options.failure,
      lease: options.lease,
      onAbandoned,
      retention: options.retention,
      transience: options.transience,
      wait: options.wait,
      maxPayloadBytes: maxBodyBytes
    })
  }
}

/** What runs for one request: {@link Settings.general}, and a way to settle a doubt that knows the request. */
export const forRequest = (
  settings: Settings,
  call: once.Call,
  reconcile: Effect.Effect<Reconciled<unknown>, unknown, unknown> | undefined
): once.Settings => once.withCall({ ...settings.general, reconcile }, call)
