/** Checks of options: what is wrong is a mistake of the program, and thrown where it is made. */
import { InvalidPolicy } from "@reprise/core/InvalidPolicy"
import * as Duration from "effect/Duration"
import * as Option from "effect/Option"

/** Milliseconds of a duration that is finite and at least `least`. */
export const millis = (argument: string, value: Duration.Input, least: number): number => {
  // `Duration.millis(NaN)` is zero, so a number is looked at as it is.
  const found = typeof value === "number"
    ? value
    : Option.getOrElse(Option.map(Duration.fromInput(value), Duration.toMillis), () => Number.NaN)
  if (Number.isFinite(found) && found >= least) return found
  throw new InvalidPolicy({ argument, value, rule: `a finite duration of at least ${least} ms` })
}

/** An integer of at least `least`. */
export const integer = (argument: string, value: number, least: number): number => {
  if (Number.isSafeInteger(value) && value >= least) return value
  throw new InvalidPolicy({ argument, value, rule: `an integer of at least ${least}` })
}

/** A text that a pattern knows. */
export const text = (argument: string, value: string, pattern: RegExp, rule: string): string => {
  if (typeof value === "string" && pattern.test(value)) return value
  throw new InvalidPolicy({ argument, value, rule })
}

/** An object that has these fields, and no others: a misspelt option would be ignored in silence. */
export const options = (argument: string, value: unknown, known: ReadonlyArray<string>): void => {
  if (typeof value !== "object" || value === null) throw new InvalidPolicy({ argument, value, rule: "an object" })
  for (const key of Object.keys(value)) {
    if (known.includes(key)) continue
    throw new InvalidPolicy({ argument: `${argument}.${key}`, value: key, rule: `one of ${known.join(", ")}` })
  }
}
