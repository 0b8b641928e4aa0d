/** Options that are checked where they are given. */
import { InvalidPolicy } from "@reprise/core/InvalidPolicy"
import * as Duration from "effect/Duration"
import * as Option from "effect/Option"

/** For each option the types that its value may be of; none where the value itself is checked. */
export type Kinds<O> = { readonly [Name in keyof O]-?: ReadonlyArray<"a text" | "true" | "false" | "a function"> }

const typeOf = (kind: string): string => {
  switch (kind) {
    case "a text":
      return "string"
    case "a function":
      return "function"
    default:
      return "boolean"
  }
}

/** `true, false or a function` */
const listed = (words: ReadonlyArray<string>): string => {
  const last = words.at(-1) ?? ""
  return words.length < 2 ? last : `${words.slice(0, -1).join(", ")} or ${last}`
}

/** An object with no option but these: a misspelt one would otherwise be ignored in silence. */
export const options = <O extends object>(place: string, value: O, known: Kinds<O>): O => {
  if (typeof value !== "object" || value === null) {
    throw new InvalidPolicy({ argument: `${place}.options`, value, rule: "an object of options" })
  }
  const kindsOf = new Map<string, ReadonlyArray<string>>(Object.entries(known))
  for (const [name, given] of Object.entries(value)) {
    const kinds = kindsOf.get(name)
    const argument = `${place}.${name}`
    if (kinds === undefined) {
      // Not its value: a key that is given under another name is a secret all the same.
      throw new InvalidPolicy({ argument, value: name, rule: `one of the options ${[...kindsOf.keys()].join(", ")}` })
    }
    const fits = given === undefined || kinds.length === 0 || kinds.some((kind) => typeof given === typeOf(kind))
    holds(argument, given, listed(kinds), fits)
  }
  return value
}

/** A duration that is finite and at least so many milliseconds. */
export const duration = (
  argument: string,
  value: Duration.Input,
  least: number,
  rule: string = `a finite duration of at least ${least} ms`
): Duration.Duration => {
  // `Duration.millis(NaN)` is zero, so a number is looked at as it is.
  const millis = typeof value === "number"
    ? Option.some(value)
    : Option.map(Duration.fromInput(value), Duration.toMillis)
  if (Option.isSome(millis) && Number.isFinite(millis.value) && millis.value >= least) {
    return Duration.millis(millis.value)
  }
  throw new InvalidPolicy({ argument, value, rule })
}

export const integer = (argument: string, value: number, least: number, most: number): number => {
  if (Number.isSafeInteger(value) && value >= least && value <= most) return value
  throw new InvalidPolicy({ argument, value, rule: `an integer from ${least} to ${most}` })
}

/** Refuses, by the name of the argument, what does not hold. */
export const holds = (argument: string, value: unknown, rule: string, yes: boolean): void => {
  if (!yes) throw new InvalidPolicy({ argument, value, rule })
}
