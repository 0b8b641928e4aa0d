/** Checks of options: what is wrong is a mistake of the program, and thrown where it is made. */
import { InvalidPolicy } from "@reprise/core/InvalidPolicy"
import * as Duration from "effect/Duration"
import * as Option from "effect/Option"

/** A rule that a value keeps. */
export const holds = (argument: string, value: unknown, isKept: boolean, rule: string): void => {
  if (!isKept) throw new InvalidPolicy({ argument, value, rule })
}

/** A century, in milliseconds: with the time that it is, no more than stores and clocks can count. */
const longest = 36_525 * 24 * 60 * 60 * 1000

/** Milliseconds of a duration that is at least `least`. */
export const millis = (argument: string, value: Duration.Input, least: number): number => {
  // `Duration.millis(NaN)` is zero, so a number is looked at as it is.
  const found = typeof value === "number"
    ? value
    : Option.getOrElse(Option.map(Duration.fromInput(value), Duration.toMillis), () => Number.NaN)
  holds(argument, value, found >= least && found <= longest, `a duration of at least ${least} ms and at most 100 years`)
  return found
}

/** An integer of at least `least`. */
export const integer = (argument: string, value: number, least: number): number => {
  holds(argument, value, Number.isSafeInteger(value) && value >= least, `an integer of at least ${least}`)
  return value
}

/** A text that a pattern knows. */
export const text = (argument: string, value: string, pattern: RegExp, rule: string): string => {
  holds(argument, value, typeof value === "string" && pattern.test(value), rule)
  return value
}

/** An object that has these fields, and no others: a misspelt option would be ignored in silence. */
export const options = (argument: string, value: unknown, known: ReadonlyArray<string>): void => {
  if (typeof value !== "object" || value === null) throw new InvalidPolicy({ argument, value, rule: "an object" })
  for (const key of Object.keys(value)) {
    if (known.includes(key)) continue
    throw new InvalidPolicy({
      argument: `${argument}.${key}`,
      value: key,
      rule: `one of the options ${known.join(", ")}`
    })
  }
}
