/**
 * The timestamps of RFC 3339, 5.6, as Anthropic's reset headers have them: `2026-01-15T12:00:45Z`, with a fraction or
 * an offset where there is one.
 */
import * as calendar from "./calendar.ts"
import { decimal, digits } from "./text.ts"

// A date, a time, an offset, and a fraction of nanoseconds with room to spare.
const longest = 64

/** Milliseconds since the epoch, or undefined when the text is no timestamp. */
export const parse = (text: string): number | undefined => {
  if (text.length > longest || text[4] !== "-" || text[7] !== "-" || text[13] !== ":" || text[16] !== ":") {
    return undefined
  }
  if (text[10] !== "T" && text[10] !== "t") return undefined
  const zone = zoneAt(text)
  const offset = offsetOf(text.slice(zone))
  const fraction = zone === 19 ? 0 : text[19] === "." ? decimal(`0${text.slice(19, zone)}`, 1000) : undefined
  const year = digits(text, 0, 4)
  const month = digits(text, 5, 7)
  const day = digits(text, 8, 10)
  const hour = digits(text, 11, 13)
  const minute = digits(text, 14, 16)
  const second = digits(text, 17, 19)
  if (offset === undefined || fraction === undefined) return undefined
  if (year === undefined || month === undefined || day === undefined) return undefined
  if (hour === undefined || minute === undefined || second === undefined) return undefined
  // A leap second is one in UTC: where there is an offset it may stand at another hour.
  const millis = second === 60
    ? next(calendar.toMillis({ year, month, day, hour, minute, second: 59 }), offset)
    : calendar.toMillis({ year, month, day, hour, minute, second })
  return millis === undefined ? undefined : millis + fraction - offset
}

const next = (millis: number | undefined, offset: number): number | undefined =>
  millis !== undefined && (millis + 1000 - offset) % calendar.millisPerDay === 0 ? millis + 1000 : undefined

const zoneAt = (text: string): number => {
  for (let at = 19; at < text.length; at++) {
    if ("Zz+-".includes(text.charAt(at))) return at
  }
  return text.length
}

/** What the zone is ahead of UTC, in milliseconds. */
const offsetOf = (zone: string): number | undefined => {
  if (zone === "Z" || zone === "z") return 0
  const hours = digits(zone, 1, 3)
  const minutes = digits(zone, 4, 6)
  if (zone.length !== 6 || zone[3] !== ":" || hours === undefined || minutes === undefined) return undefined
  if (hours > 23 || minutes > 59) return undefined
  return (hours * 60 + minutes) * (zone[0] === "-" ? -60_000 : 60_000)
}
