/**
 * Temporal's RetryPolicy, as JSON. Source: temporal.io, "Retry Policies": `initialInterval * backoffCoefficient ** n`,
 * at most `maximumInterval`, without jitter.
 */
import * as Policy from "@reprise/core/Policy"
import type { Imported, Importer } from "./Imported.ts"
import { duration, findAll, type Found, json, number, reading } from "./tree.ts"
import * as unmapped from "./unmapped.ts"

const mapped = ["initial_interval", "backoff_coefficient", "maximum_interval", "maximum_attempts"]

const reasons: unmapped.Reasons = {
  non_retryable_error_types: "names of another program's errors; in code: until(name), or Policy.whileTag"
}

const one = (found: Found): Imported => {
  const { at, fields } = found
  const initial = fields["initial_interval"] === undefined
    ? 1_000
    : duration("initialInterval", fields["initial_interval"])
  const longest = fields["maximum_interval"] === undefined
    ? initial * 100
    : duration("maximumInterval", fields["maximum_interval"])
  const coefficient = number("backoffCoefficient", fields["backoff_coefficient"] ?? 2)
  // Zero is what a protocol buffer has for nothing: no limit.
  const attempts = number("maximumAttempts", fields["maximum_attempts"] ?? 0)
  const waits = Policy.capped(Policy.exponential(initial, coefficient), longest)
  return {
    at,
    policy: Policy.format(attempts === 0 ? Policy.unlimited(waits) : Policy.attempts(waits, attempts)),
    unmapped: unmapped.list(found, mapped, reasons)
  }
}

export const temporal: Importer = (text) => reading(() => findAll(json(text), "retry_policy").map(one))
