/** The options of `SqlRetry.transaction`, checked. */
import { InvalidPolicy } from "@reprise/core/InvalidPolicy"
import * as Duration from "effect/Duration"
import * as Option from "effect/Option"

/** What is handed on to core's run. */
const handedOn = ["name", "budget", "origin", "attemptSpans", "onRetry", "onEvent"]
const own = ["isolation", "idempotent", "attemptTimeout"]

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null

/** Refuses what would otherwise be ignored in silence, and takes the options apart. */
export const handOn = (options: unknown): Readonly<Record<string, unknown>> => {
  if (!isObject(options)) {
    throw new InvalidPolicy({ argument: "transaction.options", value: options, rule: "an object" })
  }
  const known = [...handedOn, ...own]
  const entries = Object.entries(options)
  for (const [key, value] of entries) {
    if (!known.includes(key)) {
      const rule = `one of the options ${known.join(", ")}`
      throw new InvalidPolicy({ argument: `transaction.${key}`, value, rule })
    }
  }
  return Object.fromEntries(entries.filter(([key]) => handedOn.includes(key)))
}

export const timeout = (value: Duration.Input | undefined): Duration.Duration | undefined => {
  if (value === undefined) return undefined
  const duration = Option.getOrUndefined(Duration.fromInput(value))
  if (duration !== undefined && Duration.isFinite(duration) && Duration.toMillis(duration) >= 1) return duration
  throw new InvalidPolicy({ argument: "transaction.attemptTimeout", value, rule: "finite and at least 1 ms" })
}

export const flag = (key: string, value: unknown): boolean => {
  if (value === undefined || typeof value === "boolean") return value === true
  throw new InvalidPolicy({ argument: `transaction.${key}`, value, rule: "a boolean" })
}
