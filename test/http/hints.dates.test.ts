// Dates in Retry-After (RFC 9110, 5.6.7), and the clock by which they are meant.
import { describe, expect, it } from "@effect/vitest"
import * as RetryHint from "@reprise/http/RetryHint"
import * as fc from "fast-check"
import { execFileSync } from "node:child_process"
import { forAll } from "../laws/forAll.ts"

const now = Date.UTC(2026, 0, 15, 12)

const moment = (text: string, at: number = now): number | undefined => {
  const { hint } = RetryHint.read({ status: 503, headers: { "retry-after": text } }, { now: at })
  return hint?._tag === "At" ? hint.epochMillis : undefined
}

const days = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
const two = (value: number, fill: string = "0"): string => String(value).padStart(2, fill)

/** The three forms of a moment, written by Node.js. */
const forms = (millis: number): { readonly imf: string; readonly rfc850: string; readonly asctime: string } => {
  const date = new Date(millis)
  const [day = "", month = ""] = [days[date.getUTCDay()], months[date.getUTCMonth()]]
  const time = `${two(date.getUTCHours())}:${two(date.getUTCMinutes())}:${two(date.getUTCSeconds())}`
  const year = date.getUTCFullYear()
  return {
    imf: date.toUTCString(),
    rfc850: `${day}, ${two(date.getUTCDate())}-${month}-${two(year % 100)} ${time} GMT`,
    asctime: `${day.slice(0, 3)} ${month} ${two(date.getUTCDate(), " ")} ${time} ${String(year).padStart(4, "0")}`
  }
}

const day = 86_400_000

const years = (millis: number, count: number): number => {
  const date = new Date(millis)
  return date.setUTCFullYear(date.getUTCFullYear() + count)
}

const seconds = (from: number, to: number): fc.Arbitrary<number> =>
  fc.integer({ min: from / 1000, max: to / 1000 }).map((value) => value * 1000)

describe("the three forms", () => {
  it("of any moment are that moment", () => {
    forAll([seconds(years(Date.UTC(2001, 0, 1), -2000), Date.UTC(9999, 11, 31))], (millis) => {
      const { asctime, imf } = forms(millis)
      expect(moment(imf)).toBe(millis)
      expect(moment(asctime)).toBe(millis)
    }, 2000)
  })

  it("two digits of a year are the latest year that is not more than 50 years ahead", () => {
    forAll([seconds(Date.UTC(1980, 0, 1), Date.UTC(2080, 0, 1)), seconds(0, 36_500 * day)], (at, since) => {
      // Of the hundred years that end 50 years from then.
      const millis = years(at, -50) + 1000 + since
      fc.pre(millis <= years(at, 50))
      expect(moment(forms(millis).rfc850, at)).toBe(millis)
    }, 2000)
  })

  it.each([
    ["Wednesday, 15-Jan-76 12:00:00 GMT", Date.UTC(2076, 0, 15, 12)],
    ["Wednesday, 15-Jan-76 12:00:01 GMT", Date.UTC(1976, 0, 15, 12, 0, 1)],
    ["Friday, 01-Jan-99 00:00:00 GMT", Date.UTC(1999, 0, 1)],
    ["Saturday, 01-Jan-00 00:00:00 GMT", Date.UTC(2000, 0, 1)]
  ])("50 years are counted to the second: %s", (text, millis) => {
    expect(moment(text)).toBe(millis)
  })

  it.each([1e300, -1e300, Infinity, -Infinity, NaN, 9e15])("of two digits mean no year at %d", (at) => {
    for (const [name, value] of [["retry-after", "Sunday, 06-Nov-94 08:49:37 GMT"], ["retry-after", "30"]] as const) {
      const { hint } = RetryHint.read({ status: 503, headers: { [name]: value } }, { now: at })
      expect(hint).toEqual(value === "30" ? { _tag: "After", millis: 30_000 } : undefined)
    }
  })

  it.each([
    ["a leap second", "Sat, 31 Dec 2016 23:59:60 GMT", Date.UTC(2017, 0, 1)],
    ["a leap day", "Thu, 29 Feb 2024 00:00:00 GMT", Date.UTC(2024, 1, 29)],
    ["a leap day of a century", "Tue, 29 Feb 2000 00:00:00 GMT", Date.UTC(2000, 1, 29)],
    ["the wrong day of the week", "Mon, 15 Jan 2026 12:00:00 GMT", now]
  ])("%s is read", (_, text, millis) => {
    expect(moment(text)).toBe(millis)
  })

  it.each([
    ["Thu, 29 Feb 2026 00:00:00 GMT"],
    ["Thu, 29 Feb 1900 00:00:00 GMT"],
    ["Thu, 31 Apr 2026 00:00:00 GMT"],
    ["Thu, 00 Jan 2026 00:00:00 GMT"],
    ["Thu, 15 Jan 2026 24:00:00 GMT"],
    ["Thu, 15 Jan 2026 12:60:00 GMT"],
    ["Thu, 15 Jan 2026 12:00:61 GMT"],
    ["Thu, 15 Jan 2026 12:00:60 GMT"],
    ["Thu, 15 Jan 2026T12:00:30 GMT"],
    ["Thu, 15 Jan 26 12:00:30 GMT"],
    ["Thu, 15-Jan-26 12:00:30 GMT"],
    ["Thursday, 15 Jan 2026 12:00:30 GMT"],
    ["Thursday, 15-Jan-2026 12:00:30 GMT"],
    ["Thx, 15 Jan 2026 12:00:30 GMT"],
    ["Thu, 15 Foo 2026 12:00:30 GMT"],
    ["thu, 15 jan 2026 12:00:30 gmt"],
    ["Thu, 5 Jan 2026 12:00:30 GMT"],
    ["Thu,  5 Jan 2026 12:00:30 GMT"],
    ["Thu, 15 Jan 2026 12:00:30 UTC"],
    ["Thu, 15 Jan 2026 12:00:30 +0000"],
    ["Thu, 15 Jan 2026 12:00:30.5 GMT"],
    ["Thu, 15 Jan 2026 12.00.30 GMT"],
    ["Thu, 15 Jan 2026 12:00:30 GMT;"],
    ["Thu Jan 15 12:00:30 2026 GMT"],
    ["Thu Jan 5 12:00:30 2026"],
    ["Thu Jan 15 12:00:30 26"],
    ["2026-01-15T12:00:30Z"],
    ["Thu, １５ Jan 2026 12:00:30 GMT"]
  ])("%s is none", (text) => {
    expect(RetryHint.read({ status: 503, headers: { "retry-after": text } }, { now }).hint).toBeUndefined()
  })
})

describe("the zone of the machine", () => {
  it.each(["America/New_York", "Pacific/Kiritimati", "UTC"])("has no part in it: %s", (zone) => {
    const { asctime, imf, rfc850 } = forms(now + 30_000)
    const program = `
      import * as RetryHint from "@reprise/http/RetryHint"
      const read = (text) =>
        RetryHint.read({ status: 503, headers: { "retry-after": text } }, { now: ${now} }).hint.epochMillis
      console.log(JSON.stringify([...${JSON.stringify([asctime, imf, rfc850])}.map(read),
        new Date(0).getTimezoneOffset()]))`
    const output = execFileSync(process.execPath, ["--input-type=module", "--eval", program], {
      cwd: new URL("../..", import.meta.url),
      env: { ...process.env, TZ: zone },
      encoding: "utf8"
    })
    const offset = { "America/New_York": 300, "Pacific/Kiritimati": 640, UTC: 0 }[zone]
    expect(JSON.parse(output)).toEqual([now + 30_000, now + 30_000, now + 30_000, offset])
  })
})

describe("the clock of the server", () => {
  const hour = 3_600_000
  const wait = (headers: Record<string, string>, date?: boolean): number | undefined => {
    const { hint } = RetryHint.read({ status: 429, headers }, { now, date })
    return hint && RetryHint.toMillis(hint, now)
  }
  const written = (millis: number): string => new Date(millis).toUTCString()

  it.each([
    ["ahead", hour],
    ["behind", -hour],
    ["not set", -now],
    ["the same", 0]
  ])("%s: a date counts from the Date beside it", (_, ahead) => {
    const date = written(now + ahead)
    expect(wait({ date, "retry-after": written(now + ahead + 30_000) })).toBe(30_000)
    expect(wait({ date, "retry-after": written(now + ahead - 30_000) })).toBe(0)
  })

  it("so do moments in other headers", () => {
    const date = written(now + hour)
    const reset = (now + hour) / 1000 + 30
    expect(wait({ date, "x-ratelimit-reset": `${reset}` })).toBe(30_000)
    expect(wait({ date, "x-ratelimit-reset": `${reset}000` })).toBe(30_000)
  })

  it("a wait from now needs no clock", () => {
    expect(wait({ date: written(now + hour), "retry-after": "30" })).toBe(30_000)
  })

  it("a response from a cache is older than its arrival", () => {
    expect(wait({ date: written(now - 600_000), age: "600", "retry-after": written(now + 30_000) })).toBe(30_000)
  })

  it("years of two digits are placed by it", () => {
    const at = Date.UTC(1976, 0, 15, 12)
    expect(wait({ date: written(at), "retry-after": forms(at + 30_000).rfc850 })).toBe(30_000)
  })

  it("is left alone when it cannot be read, or is not to be", () => {
    const headers = { "retry-after": written(now + 30_000) }
    expect(wait({ ...headers, date: "yesterday" })).toBe(30_000)
    expect(wait({ ...headers, date: written(now), age: "old" })).toBe(30_000)
    expect(wait({ ...headers, date: written(now + hour) }, false)).toBe(30_000)
  })

  it("a hint that is a moment is one by the clock here", () => {
    const headers = { date: written(now + hour), "retry-after": written(now + hour + 30_000) }
    expect(RetryHint.read({ status: 503, headers }, { now }).hint).toEqual({ _tag: "At", epochMillis: now + 30_000 })
  })
})
