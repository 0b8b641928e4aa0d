/**
 * Numbers in the text of a header, read by character codes: in time linear in its length, and nothing but ASCII.
 */

/** Whether a character code is one of `0` to `9`. */
export const isDigit = (code: number): boolean => code >= 48 && code <= 57

const isBlank = (code: number): boolean => code === 32 || code === 9

/** Without the optional white space around a field value: spaces and tabs, no other (RFC 9110, 5.6.3). */
export const trim = (text: string): string => {
  let start = 0
  let end = text.length
  while (start < end && isBlank(text.charCodeAt(start))) start++
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--
  return text.slice(start, end)
}

/**
 * The number that a text of digits writes, `Infinity` when no double holds it; undefined when there is anything else,
 * or nothing.
 */
export const digits = (text: string, start: number = 0, end: number = text.length): number | undefined => {
  if (start >= end) return undefined
  let value = 0
  for (let at = start; at < end; at++) {
    const code = text.charCodeAt(at)
    if (!isDigit(code)) return undefined
    value = value * 10 + code - 48
  }
  return value
}

/**
 * The number that digits write, with or without a decimal point between them, times `unit`. Of the fraction nine digits
 * count.
 *
 * The parts are scaled apart: 64.57 seconds are 64570 milliseconds, and not 64569.99999999999.
 */
export const decimal = (text: string, unit: number): number | undefined => {
  const point = text.indexOf(".")
  if (point === -1) return times(digits(text), unit)
  const whole = digits(text, 0, point)
  if (whole === undefined || digits(text, point + 1) === undefined) return undefined
  const nanos = Number(text.slice(point + 1, point + 10).padEnd(9, "0"))
  return whole * unit + nanos * unit / 1e9
}

const times = (value: number | undefined, unit: number): number | undefined =>
  value === undefined ? undefined : value * unit
