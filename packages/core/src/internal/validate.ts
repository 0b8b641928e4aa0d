import * as Duration from "effect/Duration"
import * as Option from "effect/Option"
import { InvalidPolicy } from "../InvalidPolicy.ts"

const isDuration = "a finite duration"

/** Milliseconds of a duration that is finite and at least `least` milliseconds. */
export const duration = (argument: string, value: Duration.Input, least: number): number => {
  // `Duration.millis(NaN)` is zero, so a number is looked at before Effect reads it.
  const parsed = typeof value === "number" ? Option.some(Duration.millis(value)) : Duration.fromInput(value)
  const millis = typeof value === "number"
    ? value
    : Option.match(parsed, { onNone: () => NaN, onSome: Duration.toMillis })
  if (Number.isFinite(millis) && millis >= least) return millis
  throw new InvalidPolicy({ argument, value, rule: `${isDuration} of at least ${least} ms` })
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

/** A list with something in it; what a hole stands for is `undefined`. */
export const nonEmpty = <A>(argument: string, value: ReadonlyArray<A>): ReadonlyArray<A> => {
  if (Array.isArray(value) && value.length > 0) return Array.from(value)
  throw new InvalidPolicy({ argument, value, rule: "a list with at least one element" })
}
