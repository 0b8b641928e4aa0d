/**
 * Envoy's `retry_policy` of a route or a virtual host, as JSON or YAML. Source: Envoy's RetryPolicy message and its
 * jittered exponential back-off: from 25 ms, doubling up to ten times the base, drawn uniformly from zero.
 */
import * as Policy from "@reprise/core/Policy"
import { parseDocument } from "yaml"
import type { Imported, Importer, Unmapped } from "./Imported.ts"
import {
  duration,
  type Fields,
  findAll,
  type Found,
  isFields,
  json,
  normalized,
  number,
  reading,
  Unreadable
} from "./tree.ts"
import * as unmapped from "./unmapped.ts"

/** More aliases than this are an attack, not a configuration. */
const mostAliases = 100

const yaml = (text: string): unknown => {
  const document = parseDocument(text, { prettyErrors: true, logLevel: "silent" })
  const [error] = document.errors
  if (error !== undefined) {
    // Not its message: that quotes the file.
    const [place] = error.linePos ?? []
    throw new Unreadable(`is no YAML${place === undefined ? "" : `: see line ${place.line}, column ${place.col}`}`)
  }
  try {
    return document.toJS({ maxAliasCount: mostAliases })
  } catch {
    throw new Unreadable("has too many aliases, or one that leads nowhere")
  }
}

const parse = (text: string): unknown => text.trimStart().startsWith("{") ? json(text) : yaml(text)

const mapped = ["num_retries", "retry_back_off", "rate_limited_retry_back_off"]

const kinds = "kinds of failure are not in a policy's numbers; in code: while(transient), or a classifier of your own"

const reasons: unmapped.Reasons = {
  retry_on: kinds,
  retriable_status_codes: kinds,
  retriable_headers: kinds,
  retriable_request_headers: "which requests are retried is up to the caller",
  per_try_timeout: "an option of the run, not of the policy: attemptTimeout, --attempt-timeout",
  per_try_idle_timeout: "no equivalent",
  retry_priority: "load balancing, not retrying",
  retry_host_predicate: "load balancing, not retrying",
  retry_options_predicates: "no equivalent",
  host_selection_retry_max_attempts: "load balancing, not retrying"
}

/** Waits that the other side asks for. Envoy waits up to 300 s when nothing else is said. */
const rateLimited = (value: unknown): { readonly max: number | undefined; readonly rest: ReadonlyArray<Unmapped> } => {
  if (!isFields(value)) return { max: undefined, rest: [] }
  const { max_interval: max, reset_headers: headers } = normalized(value)
  return {
    max: max === undefined ? 300_000 : duration("rate_limited_retry_back_off.max_interval", max),
    rest: [{
      field: "rate_limited_retry_back_off.reset_headers",
      value: headers,
      reason: "Retry-After is read as a hint; other headers by a classifier of your own"
    }]
  }
}

const backOff = (value: unknown): Policy.Unrestricted => {
  const fields: Fields = isFields(value) ? normalized(value) : {}
  const base = fields["base_interval"] === undefined ? 25 : duration("base_interval", fields["base_interval"])
  const longest = fields["max_interval"] === undefined ? base * 10 : duration("max_interval", fields["max_interval"])
  return Policy.jittered(Policy.capped(Policy.exponential(base), longest))
}

const one = (found: Found): Imported => {
  const { at, fields } = found
  const listed = unmapped.list(found, mapped, reasons)
  const { max, rest: headers } = rateLimited(fields["rate_limited_retry_back_off"])
  const waits = Policy.attempts(
    backOff(fields["retry_back_off"]),
    number("num_retries", fields["num_retries"] ?? 1) + 1
  )
  return {
    at,
    policy: Policy.format(max === undefined ? waits : Policy.honoringRetryAfter(waits, { max })),
    unmapped: [...listed, ...headers]
  }
}

export const envoy: Importer = (text) => reading(() => findAll(parse(text), "retry_policy").map(one))
