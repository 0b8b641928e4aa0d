import type * as Duration from "effect/Duration"
import * as validate from "../validate.ts"
import { longest } from "../stepper/waits.ts"

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour
const year = 365.25 * day

const two = (millis: number, large: number, name: string, small: number, smallName: string): string => {
  const rounded = Math.round(millis / small)
  const ratio = large / small
  const rest = rounded % ratio
  return `${Math.floor(rounded / ratio)} ${name}${rest === 0 ? "" : ` ${rest} ${smallName}`}`
}

/** Milliseconds for people: three digits up to a minute, the two largest units above it. */
export const spell = (millis: number): string => {
  const short = Number(millis.toPrecision(3))
  if (short < 1000) return `${short} ms`
  if (short < minute) return `${short / 1000} s`
  if (millis < hour - 500) return two(millis, minute, "min", 1000, "s")
  if (millis < day - minute / 2) return two(millis, hour, "h", minute, "min")
  if (millis < 2 * year) return two(millis, day, "d", hour, "h")
  return `${Number((millis / year).toPrecision(3))} years`
}

/** What an attempt takes at most, small enough that many of them are a number still; nothing without a timeout. */
export const timeoutOf = (attemptTimeout: number | undefined): number => Math.min(attemptTimeout ?? 0, longest)

/** Milliseconds of a duration that may be left out. Throws `InvalidPolicy`. */
export const optionalDuration = (
  argument: string,
  value: Duration.Input | undefined,
  least: number
): number | undefined => value === undefined ? undefined : validate.duration(argument, value, least)
