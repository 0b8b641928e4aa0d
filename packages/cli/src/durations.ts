/**
 * Durations as they are written on a command line, and as people read them.
 */
import * as Policy from "@reprise/core/Policy"
import * as Result from "effect/Result"
import * as Flag from "effect/cli/Flag"

/**
 * Milliseconds of a duration in the units of the notation. It is the notation's reader that reads it, so that a
 * duration means the same in a policy and beside it.
 */
export const parse = (text: string): number => {
  const policy = /^\s*[\d.e+]+\s*[a-z]+\s*$/i.test(text) ? Policy.parse(`constant(${text})`) : undefined
  if (policy !== undefined && Result.isSuccess(policy) && policy.success.spec._tag === "Constant") {
    return policy.success.spec.delay
  }
  throw new Error("a duration of at least 1 ms, such as 500ms, 30s or \"2 minutes\"")
}

/** A flag whose value is a duration, in milliseconds. */
export const flag = (name: string, description: string): Flag.Flag<number> =>
  Flag.String(name).pipe(
    Flag.withMetavar("duration"),
    Flag.withDescription(description),
    Flag.mapTryCatch(parse, (error) => `${error instanceof Error ? error.message : String(error)}`)
  )

const minute = 60_000

/** Milliseconds for people: three digits up to a minute, minutes and seconds above. */
export const spell = (millis: number): string => {
  const short = Number(millis.toPrecision(3))
  if (short < 1_000) return `${millis < 10 ? short : Math.round(millis)} ms`
  if (short < minute) return `${short / 1_000} s`
  const seconds = Math.round(millis / 1_000)
  const parts: ReadonlyArray<readonly [number, string]> = [
    [Math.floor(seconds / 86_400), "d"],
    [Math.floor(seconds / 3_600) % 24, "h"],
    [Math.floor(seconds / 60) % 60, "min"],
    [seconds % 60, "s"]
  ]
  return parts.filter(([amount]) => amount > 0).slice(0, 2).map(([amount, unit]) => `${amount} ${unit}`).join(" ")
}
