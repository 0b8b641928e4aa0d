/**
 * Durations as texts: `6m0s`, as OpenAI's reset headers and everything else written in Go has them, and the JSON form
 * of `google.protobuf.Duration`, `3.5s`.
 */
import { decimal, isDigit } from "./text.ts"

const units: ReadonlyMap<string, number> = new Map([
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1000],
  ["ms", 1],
  ["us", 0.001],
  ["µs", 0.001],
  ["ns", 0.000_001]
])

/** Milliseconds of numbers with units, one after another; undefined when one has no unit, or there is none. */
export const parse = (text: string): number | undefined => {
  let total = 0
  let at = 0
  while (at < text.length) {
    const start = at
    while (isNumeric(text.charCodeAt(at))) at++
    const number = at
    while (at < text.length && !isNumeric(text.charCodeAt(at))) at++
    const unit = units.get(text.slice(number, at))
    const millis = unit === undefined ? undefined : decimal(text.slice(start, number), unit)
    if (millis === undefined) return undefined
    total += millis
  }
  return at === 0 ? undefined : total
}

const isNumeric = (code: number): boolean => isDigit(code) || code === 46

/** Milliseconds of digits, perhaps a point and one to nine more, and an `s` (protobuf's duration.proto, JSON mapping). */
export const parseProtobuf = (text: string): number | undefined => {
  if (!text.endsWith("s")) return undefined
  const point = text.indexOf(".")
  // Nine digits of a fraction and the "s".
  if (point !== -1 && text.length - point > 11) return undefined
  return decimal(text.slice(0, -1), 1000)
}
