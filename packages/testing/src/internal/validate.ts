import { InvalidPolicy } from "@reprise/core/InvalidPolicy"
import type * as Retry from "@reprise/core/Retry"
import * as Duration from "effect/Duration"
import * as Option from "effect/Option"
import type { Conditions } from "../Timeline.ts"

/** An integer of at least `least`. */
export const integer = (argument: string, value: number, least: number): number => {
  if (Number.isSafeInteger(value) && value >= least) return value
  throw new InvalidPolicy({ argument, value, rule: `an integer of at least ${least}` })
}

/** A list with something in it. */
export const nonEmpty = <A>(argument: string, value: ReadonlyArray<A>): ReadonlyArray<A> => {
  if (Array.isArray(value) && value.length > 0) return value
  throw new InvalidPolicy({ argument, value, rule: "a list with at least one element" })
}

/** Milliseconds, at least 0 and at most `most`. */
const millis = (argument: string, value: Duration.Input, most: number, rule: string): number => {
  // `Duration.millis(NaN)` is zero, so a number is looked at as it is.
  const time = typeof value === "number"
    ? Option.some(value)
    : Option.map(Duration.fromInput(value), Duration.toMillis)
  if (Option.isNone(time)) throw new InvalidPolicy({ argument, value, rule: "a duration such as \"500 millis\"" })
  if (time.value >= 0 && time.value <= most) return time.value
  throw new InvalidPolicy({ argument, value, rule })
}

type Draws = NonNullable<Conditions["random"]>

const drawsOf = (argument: string, value: Draws): Draws => {
  if (value === "lowest" || value === "highest") return value
  if (!Array.isArray(value)) {
    throw new InvalidPolicy({ argument, value, rule: "\"lowest\", \"highest\" or a list of draws" })
  }
  // A copy, as a recording may run after the list has changed.
  return Array.from(value, (draw: unknown, index) => {
    if (typeof draw === "number" && draw >= 0 && draw < 1) return draw
    throw new InvalidPolicy({
      argument: `${argument}[${index}]`,
      value: draw,
      rule: "a number of at least 0 and below 1"
    })
  })
}

const seedOf = (argument: string, value: number | string): number | string => {
  if (typeof value === "string" || Number.isFinite(value)) return value
  throw new InvalidPolicy({ argument, value, rule: "a string or a finite number" })
}

// Records, so that the compiler misses a name.
const conditionKeys: Record<keyof Conditions, true> = { seed: true, random: true, interruptAfter: true, patience: true }
const optionKeys: Record<keyof Retry.Options, true> = {
  name: true,
  attemptTimeout: true,
  when: true,
  repeatable: true,
  onRetry: true,
  onEvent: true,
  budget: true,
  origin: true,
  attemptSpans: true
}

/** The names of the options of `Retry.run`. */
export const runKeys: ReadonlyArray<string> = Object.keys(optionKeys)

/**
 * Refuses what would otherwise be ignored in silence: a name that is no condition, nor one of `more`. `place` is the
 * function that was called.
 */
export const known = (place: string, options: object, more: ReadonlyArray<string>): void => {
  if (typeof options !== "object" || options === null) {
    throw new InvalidPolicy({ argument: `${place}.options`, value: options, rule: "an object" })
  }
  const keys = [...more, ...Object.keys(conditionKeys)]
  for (const [key, value] of Object.entries(options)) {
    if (!keys.includes(key)) {
      throw new InvalidPolicy({ argument: `${place}.${key}`, value, rule: `one of the options ${keys.join(", ")}` })
    }
  }
}

/** {@link Conditions} that have been checked. Times are milliseconds. */
export interface Checked {
  readonly seed: number | string | undefined
  readonly random: Draws | undefined
  readonly interruptAt: number
  readonly patience: number
}

/** The conditions in a form to work with. */
export const conditions = (place: string, { interruptAfter, patience, random, seed }: Conditions): Checked => ({
  seed: seed === undefined ? undefined : seedOf(`${place}.seed`, seed),
  random: random === undefined ? undefined : drawsOf(`${place}.random`, random),
  interruptAt: interruptAfter === undefined
    ? Infinity
    : millis(`${place}.interruptAfter`, interruptAfter, Infinity, "a duration of at least 0 ms"),
  patience: patience === undefined
    ? 1000
    : millis(`${place}.patience`, patience, Number.MAX_VALUE, "a finite duration of at least 0 ms")
})
