/** Options that are checked where they are given. */
import { InvalidPolicy } from "@reprise/core/InvalidPolicy"
import * as Duration from "effect/Duration"
import * as Option from "effect/Option"

/** An object with no option but these: a misspelt one would otherwise be ignored in silence. */
export const options = <O extends object>(place: string, value: O, known: ReadonlyArray<string>): O => {
  if (typeof value !== "object" || value === null) {
    throw new InvalidPolicy({ argument: `${place}.options`, value, rule: "an object of options" })
  }
  for (const key of Object.keys(value)) {
    if (!known.includes(key)) {
      throw new InvalidPolicy({
        argument: `${place}.${key}`,
        value: key,
        rule: `one of the options ${known.join(", ")}`
      })
    }
  }
  return value
}

/** A duration that is finite and at least so many milliseconds. */
export const duration = (argument: string, value: Duration.Input, least: number): Duration.Duration => {
  // `Duration.millis(NaN)` is zero, so a number is looked at as it is.
  const millis = typeof value === "number"
    ? Option.some(value)
    : Option.map(Duration.fromInput(value), Duration.toMillis)
  if (Option.isSome(millis) && Number.isFinite(millis.value) && millis.value >= least) {
    return Duration.millis(millis.value)
  }
  throw new InvalidPolicy({ argument, value, rule: `a finite duration of at least ${least} ms` })
}

/** Refuses, by the name of the argument, what does not hold. */
export const holds = (argument: string, value: unknown, rule: string, yes: boolean): void => {
  if (!yes) throw new InvalidPolicy({ argument, value, rule })
}
