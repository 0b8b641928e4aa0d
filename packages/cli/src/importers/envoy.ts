/**
 * Envoy's `retry_policy` of a route or a virtual host, as JSON or YAML. Source: Envoy's RetryPolicy message and its
 * jittered exponential back-off: from 25 ms, doubling up to ten times the base, drawn uniformly from zero.
 */
import * as Policy from "@reprise/core/Policy"
import { type Document, isScalar, LineCounter, parseDocument, visit } from "yaml"
import type { Imported, Importer, Unmapped } from "./Imported.ts"
import {
  duration,
  each,
  type Fields,
  fieldsOf,
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

/** Throws where a map has a key twice. The parser's own search compares every key with every other. */
const refuseTwice = (document: Document, lines: LineCounter): void =>
  visit(document, {
    Map: (_, { items }) => {
      const seen = new Set<string>()
      for (const { key } of items) {
        if (!isScalar(key)) continue
        const name = String(key.value)
        if (seen.has(name)) {
          throw new Unreadable(`has the same key twice: see line ${lines.linePos(key.range?.[0] ?? 0).line}`)
        }
        seen.add(name)
      }
    }
  })

const yaml = (text: string): unknown => {
  const lines = new LineCounter()
  const document = parseDocument(text, { logLevel: "error", lineCounter: lines, uniqueKeys: false })
  const [error] = document.errors
  if (error?.code === "MULTIPLE_DOCS") throw new Unreadable("has several documents: give each a file of its own")
  if (error !== undefined) {
    // Not its message: that quotes the file.
    const { col, line } = lines.linePos(error.pos[0])
    throw new Unreadable(`is no YAML: see line ${line}, column ${col}`)
  }
  refuseTwice(document, lines)
  try {
    return document.toJS({ maxAliasCount: mostAliases })
  } catch {
    throw new Unreadable("has too many aliases, or one that leads nowhere")
  }
}

const parse = (text: string): unknown => {
  if (text.trimStart().startsWith("{")) return json(text)
  try {
    return yaml(text)
  } catch (error) {
    // The parser calls itself for what is inside.
    throw error instanceof RangeError ? new Unreadable("is YAML of too many levels") : error
  }
}

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

/** The fields of a message inside the policy; `undefined` where there is none. */
const inside = (found: Found, name: string): Fields | undefined => {
  const value = found.fields[name] ?? undefined
  if (value === undefined) return undefined
  if (!isFields(value)) throw new Unreadable(`has a ${name} that is no object`)
  return normalized(value)
}

/** What is in such a message beside the fields that are read. */
const rest = (
  name: string,
  fields: Fields | undefined,
  read: ReadonlyArray<string>,
  reasons: unmapped.Reasons
): ReadonlyArray<Unmapped> =>
  Object.entries(fields ?? {}).filter(([field]) => !read.includes(field)).map(([field, value]) => ({
    field: `${name}.${field}`,
    value,
    reason: unmapped.reasonOf(reasons, field)
  }))

const headers: unmapped.Reasons = {
  reset_headers: "Retry-After is read as a hint; other headers by a classifier of your own"
}

const backOff = (fields: Fields): Policy.Unrestricted => {
  const base = fields["base_interval"] === undefined ? 25 : duration("base_interval", fields["base_interval"])
  const longest = fields["max_interval"] === undefined ? base * 10 : duration("max_interval", fields["max_interval"])
  return Policy.jittered(Policy.capped(Policy.exponential(base), longest))
}

/** Waits that the other side asks for. Envoy waits up to 300 s when nothing else is said. */
const longestHint = ({ max_interval: max }: Fields): number =>
  max === undefined ? 300_000 : duration("rate_limited_retry_back_off.max_interval", max)

const one = (found: Found): Imported => {
  const { at, fields } = found
  const listed = unmapped.list(found, mapped, reasons)
  const own = inside(found, "retry_back_off")
  const rateLimited = inside(found, "rate_limited_retry_back_off")
  const waits = Policy.attempts(
    backOff(own ?? {}),
    number("num_retries", fields["num_retries"] ?? 1) + 1
  )
  return {
    at,
    policy: Policy.format(
      rateLimited === undefined ? waits : Policy.honoringRetryAfter(waits, { max: longestHint(rateLimited) })
    ),
    unmapped: [
      ...listed,
      ...rest("retry_back_off", own, ["base_interval", "max_interval"], {}),
      ...rest("rate_limited_retry_back_off", rateLimited, ["max_interval"], headers)
    ]
  }
}

export const envoy: Importer = (text) =>
  reading(() => each(findAll(parse(text), "retry_policy"), ({ at }) => at, (_) => one(fieldsOf(_))))
