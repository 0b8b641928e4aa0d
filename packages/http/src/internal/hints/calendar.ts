/**
 * Moments in UTC from the fields of a calendar, by arithmetic: the zone of the machine has no part in it.
 */

/** The fields of a moment; `month` is 1 to 12. */
export interface Fields {
  readonly year: number
  readonly month: number
  readonly day: number
  readonly hour: number
  readonly minute: number
  readonly second: number
}

export const millisPerDay = 86_400_000

/** The last moment that dates can name (ECMA-262, 21.4.1.1). */
export const lastMoment = 8.64e15

const isLeap = (year: number): boolean => year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)

const daysIn = (year: number, month: number): number =>
  month === 2 ? isLeap(year) ? 29 : 28 : month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31

// Years begin in March here, so that a leap day is the last day of one, and 400 of them, an era, are always as long. All
// of it is from Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms": `days_from_civil`, `civil_from_days`.
const daysPerEra = 146_097

// From 0000-03-01 to 1970-01-01.
const epoch = 719_468

/** Days from 1970-01-01 to a day of the Gregorian calendar. */
const daysTo = (year: number, month: number, day: number): number => {
  const marchYear = month > 2 ? year : year - 1
  const era = Math.floor(marchYear / 400)
  const yearOfEra = marchYear - era * 400
  const dayOfYear = Math.floor((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5) + day - 1
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear
  return era * daysPerEra + dayOfEra - epoch
}

/**
 * Milliseconds since the epoch; undefined when there is no such day or time.
 *
 * A leap second stands only at the end of a day, and is read as the second after it, which is how clocks that count
 * milliseconds since the epoch see it.
 */
export const toMillis = ({ day, hour, minute, month, second, year }: Fields): number | undefined => {
  if (!(month >= 1 && month <= 12 && day >= 1 && day <= daysIn(year, month))) return undefined
  const leapSecond = second === 60 && hour === 23 && minute === 59
  if (!(hour <= 23 && minute <= 59 && (second <= 59 || leapSecond))) return undefined
  return daysTo(year, month, day) * millisPerDay + ((hour * 60 + minute) * 60 + second) * 1000
}

/** The calendar year in which a moment lies. */
export const yearOf = (millis: number): number => {
  const days = Math.floor(millis / millisPerDay) + epoch
  const era = Math.floor(days / daysPerEra)
  const dayOfEra = days - era * daysPerEra
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1460) + Math.floor(dayOfEra / 36_524) - Math.floor(dayOfEra / 146_096)) / 365
  )
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100))
  // January is the eleventh month since March.
  return era * 400 + yearOfEra + (dayOfYear >= 306 ? 1 : 0)
}

/** The same moment of the calendar so many years later; the 29th of February may become the 1st of March. */
export const addYears = (millis: number, years: number): number => {
  const year = yearOf(millis)
  const sinceNewYear = millis - daysTo(year, 1, 1) * millisPerDay
  const march = daysTo(year, 3, 1) - daysTo(year, 1, 1)
  // Before March the days count from new year, after it from March, so that a leap day between moves nothing.
  return sinceNewYear < march * millisPerDay
    ? daysTo(year + years, 1, 1) * millisPerDay + sinceNewYear
    : daysTo(year + years, 3, 1) * millisPerDay + sinceNewYear - march * millisPerDay
}
