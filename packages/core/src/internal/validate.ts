import * as Duration from "effect/Duration"
import * as Option from "effect/Option"
import { InvalidPolicy } from "../InvalidPolicy.ts"

const parsed = (value: Duration.Input): Option.Option<number> =>
  // `Duration.millis(NaN)` is zero, so a number is looked at as it is.
  typeof value === "number" ? Option.some(value) : Option.map(Duration.fromInput(value), Duration.toMillis)

/** Milliseconds of a duration that is finite and at least `least` milliseconds. */
export const duration = (argument: string, value: Duration.Input, least: number): number => {
  const millis = parsed(value)
  if (Option.isNone(millis)) throw new InvalidPolicy({ argument, value, rule: "a duration such as \"500 millis\"" })
  if (Number.isFinite(millis.value) && millis.value >= least) return millis.value
  throw new InvalidPolicy({ argument, value, rule: `a finite duration of at least ${least} ms` })
}

/** An integer of at least `least`. */
export const integer = (argument: string, value: number, least: number): number => {
  if (Number.isSafeInteger(value) && value >= least) return value
  throw new InvalidPolicy({ argument, value, rule: `an integer of at least ${least}` })
}

/** A finite number of at least `least`. */
export const number = (argument: string, value: number, least: number): number => {
  if (Number.isFinite(value) && value >= least) return value
  throw new InvalidPolicy({ argument, value, rule: `a finite number of at least ${least}` })
}

/** An object of options. */
export const options = <O extends object>(argument: string, value: O): O => {
  if (typeof value === "object" && value !== null) return value
  throw new InvalidPolicy({ argument, value, rule: "an object of options" })
}

/** A list with something in it; what a hole stands for is `undefined`. */
export const nonEmpty = <A>(argument: string, value: ReadonlyArray<A>): ReadonlyArray<A> => {
  if (Array.isArray(value) && value.length > 0) return Array.from(value)
  throw new InvalidPolicy({ argument, value, rule: "a list with at least one element" })
}
