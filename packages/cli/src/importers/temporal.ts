/**
 * Temporal's RetryPolicy, as JSON. Source: temporal.io, "Retry Policies": `initialInterval * backoffCoefficient ** n`,
 * at most `maximumInterval`, without jitter.
 */
import * as Policy from "@reprise/core/Policy"
import type { Imported, Importer, Unmapped } from "./Imported.ts"
import { duration, each, fieldsOf, findAll, type Found, isZero, json, number, reading } from "./tree.ts"
import * as unmapped from "./unmapped.ts"

const mapped = ["initial_interval", "backoff_coefficient", "maximum_interval", "maximum_attempts"]

const reasons: unmapped.Reasons = {
  non_retryable_error_types: "names of another program's errors; in code: until(name), or Policy.whileTag"
}

const defaultCoefficient = 2

/** Waits that a coefficient of zero would end are what somebody may have meant, and so it is said. */
const unset = (field: string): Unmapped => ({
  field,
  value: 0,
  reason: `Temporal takes zero for nothing said, and so this is its default, ${defaultCoefficient}`
})

const one = (found: Found): Imported => {
  const { at, fields, spelled } = found
  // Zero is what a protocol buffer has for nothing: the default, or no limit.
  const interval = (field: string, spelling: string, otherwise: number) => {
    const value = fields[field]
    return value === undefined || isZero(value) ? otherwise : duration(spelling, value)
  }
  const initial = interval("initial_interval", "initialInterval", 1_000)
  const longest = interval("maximum_interval", "maximumInterval", initial * 100)
  const given = number("backoffCoefficient", fields["backoff_coefficient"] ?? defaultCoefficient)
  const attempts = number("maximumAttempts", fields["maximum_attempts"] ?? 0)
  const waits = Policy.capped(Policy.exponential(initial, given === 0 ? defaultCoefficient : given), longest)
  return {
    at,
    policy: Policy.format(attempts === 0 ? Policy.unlimited(waits) : Policy.attempts(waits, attempts)),
    unmapped: [...given === 0 ? [unset(spelled("backoff_coefficient"))] : [], ...unmapped.list(found, mapped, reasons)]
  }
}

export const temporal: Importer = (text) =>
  reading(() => each(findAll(json(text), "retry_policy"), ({ at }) => at, (_) => one(fieldsOf(_))))
