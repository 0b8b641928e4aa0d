// Whatever a server sends: nothing throws, nothing is negative or NaN, and time grows as the text does.
import { describe, expect, it } from "@effect/vitest"
import * as RetryHint from "@reprise/http/RetryHint"
import * as fc from "fast-check"
import { threadCpuUsage } from "node:process"
import { forAll } from "../laws/forAll.ts"

const now = 1_768_478_400_000
const million = 1_000_000

const profiles: ReadonlyArray<RetryHint.ProfileName> = [
  "standard",
  "lenient",
  "openai",
  "anthropic",
  "azure",
  "github",
  "discord",
  "aws",
  "grpc",
  "google",
  "stripe"
]

const names = [
  "x-should-retry",
  "stripe-should-retry",
  "retry-after-ms",
  "x-ms-retry-after-ms",
  "retry-after",
  "ratelimit",
  "x-ratelimit-retry-after",
  "x-ratelimit-reset-after",
  "ratelimit-reset",
  "x-ratelimit-reset",
  "x-rate-limit-reset",
  "x-ratelimit-remaining",
  "x-ratelimit-reset-requests",
  "x-ratelimit-reset-tokens",
  "anthropic-ratelimit-requests-reset",
  "anthropic-ratelimit-requests-remaining",
  "x-amz-retry-after",
  "grpc-retry-pushback-ms",
  "date",
  "age"
]

/** What is wrong with a reading. */
const faults = ({ hint, shouldRetry, source, tooLong }: RetryHint.Reading): ReadonlyArray<string> => {
  const wait = hint && RetryHint.toMillis(hint, now)
  const broken: ReadonlyArray<readonly [boolean, string]> = [
    [(hint === undefined) !== (source === undefined), "a hint from nowhere"],
    [![true, false, undefined].includes(shouldRetry), "no verdict"],
    [wait !== undefined && !(wait >= 0), "no wait"],
    [wait === Infinity && !tooLong, "a wait without end that is not too long"],
    [hint?._tag === "After" && !(hint.millis >= 0), "a delay that is none"],
    [hint?._tag === "At" && !Number.isFinite(hint.epochMillis), "a moment that is none"]
  ]
  return broken.filter(([wrong]) => wrong).map(([, fault]) => fault)
}

/** What is wrong with the readings of a response by every profile. */
const faultsOf = (response: RetryHint.Response): ReadonlyArray<string> =>
  profiles.flatMap((profile) => faults(RetryHint.read(response, { now, profile, ownBackoff: 100 })))

/** Near to what is sent: pieces of values, put together at random. */
const value = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.array(
    fc.constantFrom(
      ...Array.from("0123456789.,;=-+:\"\\ \t\0eExX"),
      ..."default r=0 t=30 limit= remaining= reset= Thu, Jan GMT 2026 12:00:30 Infinity NaN ms true false ٣ ３ é".split(
        " "
      )
    )
  ).map((pieces) => pieces.join("")),
  fc.integer().map(String),
  fc.double().map(String),
  fc.date().map(String)
)

describe("a response that may be anything", () => {
  it("has a wait that is none, at least 0, or too long", () => {
    const headers = fc.dictionary(fc.constantFrom(...names), fc.oneof(value, fc.array(value)))
    forAll([fc.integer({ min: 100, max: 599 }), headers, fc.anything()], (status, headers, body) => {
      expect(faultsOf({ status, headers, body })).toEqual([])
    }, 500)
  })

  it("also when it is no response at all", () => {
    forAll([fc.anything(), fc.anything(), fc.anything()], (status, headers, body) => {
      // What a program in JavaScript may hand over.
      expect(faultsOf({ status, headers, body } as RetryHint.Response)).toEqual([])
    }, 500)
  })

  it("also when it does not want to be read", () => {
    const traps = Object.fromEntries(
      Reflect.ownKeys(Reflect).map((trap) => [trap, () => {
        throw new Error("not to be read")
      }])
    )
    const hostile = new Proxy({}, traps)
    const throwing = {
      get: (): string => {
        throw new Error("no headers")
      }
    }
    expect(faultsOf({ status: 429, headers: hostile, body: hostile })).toEqual([])
    expect(faultsOf({ status: 429, headers: throwing, body: { error: hostile } })).toEqual([])
  })

  it("and a clock that is none changes nothing but dates", () => {
    for (const clock of [Number.NaN, Infinity, -Infinity]) {
      const read = (text: string): RetryHint.Reading =>
        RetryHint.read({ status: 429, headers: { "retry-after": text } }, { now: clock })
      expect(read("5").hint).toEqual({ _tag: "After", millis: 5000 })
      for (const text of ["Thursday, 15-Jan-26 12:00:30 GMT", "Thu, 15 Jan 2026 12:00:30 GMT"]) {
        expect(faults(read(text))).toEqual([])
      }
    }
  })
})

describe("numbers that are none", () => {
  const unreadable = [
    "",
    " ",
    "-1",
    "-0",
    "+1",
    "1e3",
    "0x10",
    "0b1",
    "1_000",
    "NaN",
    "Infinity",
    "-Infinity",
    "٣٠",
    "３０",
    "30\0",
    "\u00a030",
    "3 0",
    "30;",
    "1.",
    ".5",
    "1.5.5",
    "1,5",
    "30, 30",
    "null",
    "true"
  ]
  const numbers = [
    "retry-after",
    "retry-after-ms",
    "x-ms-retry-after-ms",
    "ratelimit-reset",
    "x-ratelimit-reset",
    "x-ratelimit-reset-after",
    "x-ratelimit-retry-after"
  ]
  it.each(numbers)("%s", (name) => {
    for (const value of unreadable) {
      const { hint, source, tooLong } = RetryHint.read({ status: 429, headers: { [name]: value } }, { now })
      expect({ value, hint, source, tooLong }).toEqual({ value, hint: undefined, source: undefined, tooLong: false })
    }
  })
})

describe("a header of a million characters", () => {
  const digits = "9".repeat(million)

  it.each([
    "retry-after",
    "retry-after-ms",
    "x-ratelimit-reset",
    "x-ratelimit-reset-after"
  ])("%s: digits are too long, and not absent", (name) => {
    const { hint, source, tooLong } = RetryHint.read({ status: 429, headers: { [name]: digits } }, { now })
    expect({ hint, source, tooLong }).toEqual({
      hint: { _tag: "After", millis: Infinity },
      source: name,
      tooLong: true
    })
  })

  it("so they are in RateLimit", () => {
    for (const text of [`"p";r=0;t=${digits}`, `limit=1, remaining=0, reset=${digits}`]) {
      expect(RetryHint.read({ status: 429, headers: { ratelimit: text } }, { now }).tooLong).toBe(true)
    }
  })

  it("zeros before a number are nothing", () => {
    const headers = { "retry-after": `${"0".repeat(million)}30` }
    expect(RetryHint.read({ status: 429, headers }, { now }).hint).toEqual({ _tag: "After", millis: 30_000 })
  })

  const pieces: ReadonlyArray<readonly [name: string, piece: string, last: string]> = [
    ["digits", "9", "x"],
    ["blanks", " ", "x"],
    ["tabs", "\t", ""],
    ["commas", ",", ""],
    ["numbers in a list", "1, ", "x"],
    ["points", ".", ""],
    ["quotes", "\"", ""],
    ["an open string", "\"a", ""],
    ["backslashes", "\"\\", ""],
    ["semicolons", ";", ""],
    ["parameters", "\"p\";r=0;t=1;", ""],
    ["policies", "\"p\";r=0;t=1, ", "x"],
    ["parameters of one policy", "p;r=0;t=1;a;b;", ""],
    ["members", "limit=1, remaining=0, ", "x"],
    ["durations", "1m", "x"],
    ["a date", "Thu, 15 Jan 2026 ", ""],
    ["signs", "-", ""],
    ["colons", ":", ""]
  ]
  it.each(pieces)("%s take time in proportion", (_, piece, last) => {
    const time = (length: number, times: number): number => {
      const value = piece.repeat(Math.ceil(length / piece.length)).slice(0, length) + last
      const headers = Object.fromEntries(names.map((name) => [name, value]))
      const start = threadCpuUsage()
      for (let read = 0; read < times; read++) {
        for (const profile of ["lenient", "anthropic", "grpc", "aws"] as const) {
          expect(faults(RetryHint.read({ status: 429, headers }, { now, profile }))).toEqual([])
        }
      }
      const { system, user } = threadCpuUsage(start)
      return (system + user) / 1000
    }
    time(5000, 4)
    const short = Math.min(time(20_000, 10), time(20_000, 10))
    const long = Math.min(time(200_000, 1), time(200_000, 1))
    // As much text: a square would be ten times, and 8 ms are what the clock of the processor counts in.
    expect(long).toBeLessThan(3 * short + 8)
  })

  it("many headers and many lines take time in proportion too", () => {
    const headers = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`x-${index}`, "1"]))
    const lines = Array.from({ length: 100_000 }, () => "1")
    const start = threadCpuUsage()
    expect(faults(RetryHint.read({ status: 429, headers: { ...headers, "retry-after": lines } }, { now }))).toEqual([])
    const { system, user } = threadCpuUsage(start)
    expect((system + user) / 1000).toBeLessThan(500)
  })
})
