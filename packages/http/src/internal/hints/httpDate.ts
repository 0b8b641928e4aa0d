/**
 * The three forms of an HTTP-date (RFC 9110, 5.6.7), all of them in UTC.
 *
 * Effect's own parser has a fixed pivot for years of two digits and takes any case, where the RFC does not.
 */
import * as calendar from "./calendar.ts"
import { digits } from "./text.ts"

const days = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
const longDays = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

// "Wednesday, 06-Nov-94 08:49:37 GMT"
const longest = 33

/**
 * Milliseconds since the epoch, or undefined when the text is no HTTP-date. `now` places years of two digits.
 *
 * The name of the day is one of seven, but need not be right: nothing depends on it.
 */
export const parse = (text: string, now: number): number | undefined => {
  if (text.length > longest) return undefined
  const comma = text.indexOf(",")
  if (comma === -1) return asctime(text)
  return comma === 3 ? imfFixdate(text) : rfc850(text, comma, now)
}

const time = (text: string, at: number): { hour: number; minute: number; second: number } | undefined => {
  const hour = digits(text, at, at + 2)
  const minute = digits(text, at + 3, at + 5)
  const second = digits(text, at + 6, at + 8)
  const separated = text[at + 2] === ":" && text[at + 5] === ":"
  return separated && hour !== undefined && minute !== undefined && second !== undefined
    ? { hour, minute, second }
    : undefined
}

const moment = (
  year: number | undefined,
  month: string,
  day: number | undefined,
  clock: ReturnType<typeof time>
): number | undefined =>
  year === undefined || day === undefined || clock === undefined
    ? undefined
    : calendar.toMillis({ year, month: months.indexOf(month) + 1, day, ...clock })

/** `Sun, 06 Nov 1994 08:49:37 GMT` */
const imfFixdate = (text: string): number | undefined =>
  days.includes(text.slice(0, 3)) && text[4] === " " && text[7] === " " && text[11] === " "
    && text[16] === " " && text.slice(25) === " GMT"
    ? moment(digits(text, 12, 16), text.slice(8, 11), digits(text, 5, 7), time(text, 17))
    : undefined

/** `Sunday, 06-Nov-94 08:49:37 GMT` */
const rfc850 = (text: string, comma: number, now: number): number | undefined => {
  if (!longDays.includes(text.slice(0, comma))) return undefined
  const rest = text.slice(comma + 1)
  if (rest.length !== 23 || rest[0] !== " " || rest[3] !== "-" || rest[7] !== "-" || rest[10] !== " ") return undefined
  const short = digits(rest, 8, 10)
  if (rest.slice(19) !== " GMT" || short === undefined) return undefined
  // Of which century it is, is not to be said of a time that no date can name.
  if (!(Math.abs(now) <= calendar.lastMoment)) return undefined
  const at = (year: number): number | undefined => moment(year, rest.slice(4, 7), digits(rest, 1, 3), time(rest, 11))
  // The latest year with these digits that is not more than 50 years ahead, to the moment.
  const last = calendar.yearOf(now) + 50
  const year = last - (((last - short) % 100) + 100) % 100
  const millis = at(year)
  return millis === undefined || millis <= calendar.addYears(now, 50) ? millis : at(year - 100)
}

/** `Sun Nov  6 08:49:37 1994`: it names no zone, and is in UTC all the same. */
const asctime = (text: string): number | undefined =>
  text.length === 24 && days.includes(text.slice(0, 3)) && text[3] === " " && text[7] === " " && text[10] === " "
    && text[19] === " "
    ? moment(digits(text, 20), text.slice(4, 7), digits(text, text[8] === " " ? 9 : 8, 10), time(text, 11))
    : undefined
