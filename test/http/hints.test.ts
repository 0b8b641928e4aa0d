// What the vectors leave open: where headers come from, which rule goes first, and profiles of one's own.
import { describe, expect, it } from "@effect/vitest"
import * as RetryHint from "@reprise/http/RetryHint"
import * as HttpHeaders from "effect/http/Headers"

const now = 1_768_478_400_000

const read = (
  headers: RetryHint.Headers,
  profile: RetryHint.ProfileName | RetryHint.Profile = "standard",
  rest: Partial<RetryHint.Response & RetryHint.Options> = {}
): RetryHint.Reading => RetryHint.read({ status: 429, headers, ...rest }, { now, profile, ...rest })

const millis = ({ hint }: RetryHint.Reading): number | undefined => hint && RetryHint.toMillis(hint, now)

describe("headers", () => {
  it.each<[name: string, headers: RetryHint.Headers]>([
    ["a record", { "retry-after": "5" }],
    ["a record with names in any case", { "Retry-After": "5" }],
    ["fetch's", new Headers({ "Retry-After": "5" })],
    ["Effect's", HttpHeaders.fromInput({ "Retry-After": "5" })],
    ["a map", new Map([["retry-after", "5"]])],
    ["lines", { "retry-after": ["5"] }]
  ])("%s", (_, headers) => {
    expect(millis(read(headers))).toBe(5000)
  })

  it("of several lines, or several spellings of a name, none is believed", () => {
    for (const headers of [{ "retry-after": ["5", "60"] }, { "retry-after": "5", "Retry-After": "60" }]) {
      expect(read(headers).hint).toBeUndefined()
      expect(millis(read(headers, "lenient"))).toBe(60_000)
    }
  })

  it("lists go on over lines", () => {
    expect(millis(read({ ratelimit: ["\"a\";r=0;t=5", "\"b\";r=0;t=9"] }))).toBe(9000)
  })
})

describe("which goes first", () => {
  // Each is the only one left when those before it are taken away.
  const order: ReadonlyArray<readonly [header: string, value: string, millis: number]> = [
    ["retry-after-ms", "1", 1],
    ["x-ms-retry-after-ms", "2", 2],
    ["retry-after", "3", 3000],
    ["ratelimit", "\"p\";r=0;t=4", 4000],
    ["x-ratelimit-retry-after", "5", 5000],
    ["x-ratelimit-reset-after", "6", 6000],
    ["ratelimit-reset", "7", 7000],
    ["x-ratelimit-reset", "8", 8000],
    ["x-rate-limit-reset", "9", 9000],
    ["x-ratelimit-reset-requests", "10s", 10_000]
  ]
  it("is as it is written", () => {
    for (const [index, [header, , wait]] of order.entries()) {
      const reading = read(Object.fromEntries(order.slice(index).map(([name, value]) => [name, value])))
      expect([reading.source, millis(reading)]).toEqual([header, wait])
    }
  })

  it("what cannot be read is passed by", () => {
    for (const [index, [, , wait]] of order.entries()) {
      const headers = order.map(([name, value], at) => [name, at < index ? "soon" : value])
      expect(millis(read(Object.fromEntries(headers)))).toBe(wait)
    }
  })

  it("too long is readable, and hides what comes after", () => {
    expect(read({ "retry-after": "9".repeat(30), "x-ratelimit-reset": "5" })).toMatchObject({
      source: "retry-after",
      tooLong: true
    })
  })
})

describe("whether", () => {
  it.each(["x-should-retry", "stripe-should-retry"])("%s decides, and says no more", (name) => {
    expect(read({ [name]: "true", "retry-after": "5" })).toEqual({
      hint: { _tag: "After", millis: 5000 },
      source: "retry-after",
      tooLong: false,
      shouldRetry: true,
      decidedBy: name
    })
    expect(read({ [name]: "false", "retry-after": "5" })).toEqual({
      hint: { _tag: "DoNotRetry" },
      source: name,
      tooLong: false,
      shouldRetry: false,
      decidedBy: name
    })
  })

  it.each(["True", "FALSE", "1", "0", "no", "", "true, true", "falsee"])("%j is neither", (value) => {
    expect(read({ "x-should-retry": value })).toMatchObject({ hint: undefined, shouldRetry: undefined })
  })

  it("a header goes before the status", () => {
    expect(read({ "x-should-retry": "true" }, "openai", { status: 404 }).shouldRetry).toBe(true)
    expect(read({ "x-should-retry": "false" }, "openai", { status: 500 }).shouldRetry).toBe(false)
    expect(read({ "stripe-should-retry": "true" }, "stripe", { status: 429 }).shouldRetry).toBe(true)
  })

  it("a pushback goes before everything", () => {
    const headers = { "x-should-retry": "true", "retry-after": "5" }
    expect(read({ ...headers, "grpc-retry-pushback-ms": "-1" }, "grpc")).toMatchObject({
      hint: { _tag: "DoNotRetry" },
      shouldRetry: false
    })
    expect(millis(read({ ...headers, "grpc-retry-pushback-ms": "7" }, "grpc"))).toBe(7)
  })

  it("a plain 403 of GitHub is none, a 429 or a 500 is not its business", () => {
    const verdict = (status: number) => read({}, "github", { status }).shouldRetry
    expect([403, 429, 500].map(verdict)).toEqual([false, undefined, undefined])
    const body = { message: "You have exceeded a secondary rate limit." }
    const wait = (status: number) => millis(read({}, "github", { status, body }))
    expect([403, 429, 500].map(wait)).toEqual([60_000, 60_000, undefined])
  })
})

describe("a reset", () => {
  it("is no reason to wait while quota is left", () => {
    const counts = ["x-ratelimit-remaining", "x-rate-limit-remaining", "ratelimit-remaining"]
    for (const name of ["ratelimit-reset", "x-ratelimit-reset", "x-rate-limit-reset", "x-ratelimit-reset-after"]) {
      for (const count of counts) {
        expect(read({ [name]: "30", [count]: "1" }).hint).toBeUndefined()
        expect(millis(read({ [name]: "30", [count]: "0" }, "standard", { status: 500 }))).toBe(30_000)
      }
    }
  })

  it("without a count is one when the status refuses for now", () => {
    const at = (status: number) => millis(read({ "x-ratelimit-reset": "30" }, "standard", { status }))
    expect([413, 429, 503].map(at)).toEqual([30_000, 30_000, 30_000])
    expect([200, 400, 403, 500, 502].map(at)).toEqual([undefined, undefined, undefined, undefined, undefined])
  })

  it.each([
    ["milliseconds since the epoch", `${now + 30_000}`, 30_000],
    ["seconds since the epoch", `${now / 1000 + 30}`, 30_000],
    ["seconds from now", "999999999", 999_999_999_000],
    ["the first that is a moment", "1000000000", 0],
    ["the first in milliseconds", "100000000000", 0],
    ["zero", "0", 0]
  ])("tells what it is by its magnitude: %s", (_, value, wait) => {
    expect(millis(read({ "x-ratelimit-reset": value }))).toBe(wait)
  })

  it("of the limits that are used up the last to be lifted counts", () => {
    const headers = {
      "x-ratelimit-reset-requests": "1h2m3.5s",
      "x-ratelimit-remaining-requests": "5",
      "x-ratelimit-reset-tokens": "20ms",
      "x-ratelimit-remaining-tokens": "0"
    }
    expect(read(headers, "openai")).toMatchObject({
      hint: { _tag: "After", millis: 20 },
      source: "x-ratelimit-reset-tokens"
    })
    expect(millis(read({ ...headers, "x-ratelimit-remaining-requests": "0" }, "openai"))).toBe(3_723_500)
  })
})

describe("RateLimit", () => {
  it.each([
    ["\"a\";r=0;t=5;w=60;unknown=?1;at=@5;name=tok/en", 5000],
    ["\"a\\\"b\\\\\";r=0;t=5", 5000],
    ["\"a\"; r=0; t=5 ,\t\"b\";r=0", 5000],
    ["\"a\";r=1;r=0;t=9;t=5", 5000],
    ["\"a\";r=0;t=9, \"b\";r=0;t=5", 9000],
    ["\"a\";r=0;t=0", 0],
    ["limit=100;w=60, remaining=0, reset=7", 7000],
    ["\"a\";r=0;t=5, \"b\";t=9", undefined],
    ["\"a\";r=0;t=5,", undefined],
    ["\"a\";r=0;t=5, garbage;;;", undefined],
    ["\"a\";r=0;t=5, \"b\";r=0;t=x", undefined],
    ["\"a\";r=0;t=-5", undefined],
    ["\"a\";r=-1;t=5", undefined],
    ["\"a\";R=0;T=5", undefined],
    ["\"a\";r=0;t", undefined],
    ["\"é\";r=0;t=5", undefined],
    ["(\"a\");r=0;t=5", undefined],
    ["limit=100, reset=7", undefined],
    ["limit=100, remaining=0", undefined]
  ])("%s", (value, wait) => {
    expect(millis(read({ ratelimit: value }))).toBe(wait)
  })
})

describe("timestamps of Anthropic's", () => {
  const at = (value: string): number | undefined =>
    millis(read({ "anthropic-ratelimit-tokens-reset": value }, "anthropic"))

  it.each([
    ["2026-01-15T12:00:45.5Z", 45_500],
    ["2026-01-15t12:00:45z", 45_000],
    ["2026-01-15T07:30:45-04:30", 45_000],
    ["2016-12-31T18:59:60-05:00", 0],
    ["2026-01-15 12:00:45Z", undefined],
    ["2026-01-15T12:00:45", undefined],
    ["2026-01-15T12:00:45+0100", undefined],
    ["2026-01-15T12:00:45+24:00", undefined],
    ["2026-02-30T12:00:45Z", undefined],
    ["2026-01-15T12:00:60Z", undefined],
    ["2026-01-15T12:00:45.Z", undefined],
    ["2026-1-15T12:00:45Z", undefined]
  ])("%s", (value, wait) => {
    expect(at(value)).toBe(wait)
  })
})

describe("RetryInfo", () => {
  const info = (retryDelay: unknown): object => ({ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay })
  const of = (body: unknown): number | undefined => millis(read({}, "google", { body }))

  it("is found where Google's APIs put it", () => {
    expect(of({ error: { details: [{ "@type": "x" }, info("2s")] } })).toBe(2000)
    expect(of({ details: [info("2s")] })).toBe(2000)
    expect(of([{ error: { details: [info("2s")] } }])).toBe(2000)
  })

  it("the first readable counts, and goes before the standard headers", () => {
    const body = { error: { details: [info("soon"), info("2s"), info("9s")] } }
    expect(millis(read({ "retry-after": "5" }, "google", { body }))).toBe(2000)
    expect(millis(read({ "retry-after": "5" }, "google", { body: {} }))).toBe(5000)
  })

  it.each<[name: string, delay: unknown, millis: number | undefined]>([
    ["a bigint of seconds", { seconds: 3n }, 3000],
    ["nanoseconds alone", { nanos: 500_000_000 }, 500],
    ["less than nothing", { seconds: "-3" }, undefined],
    ["no field at all", {}, undefined],
    ["more nanoseconds than a second has", { seconds: 3, nanos: 1e9 }, undefined],
    ["more digits than nanoseconds have", "1.0000000001s", undefined]
  ])("%s", (_, delay, wait) => {
    expect(of({ error: { details: [info(delay)] } })).toBe(wait)
  })
})

describe("Amazon's hint", () => {
  it("is the most that is added where the client's own delay comes on top", () => {
    expect(millis(read({ "x-amz-retry-after": "1500" }, "aws"))).toBe(1500)
    expect(millis(read({ "x-amz-retry-after": "20000" }, "aws"))).toBe(5000)
  })
})

describe("a profile of one's own", () => {
  it("is made of rules, in their order", () => {
    const profile = RetryHint.make("shop", [
      RetryHint.verdict("X-Try-Again"),
      RetryHint.seconds("X-Come-Back-In"),
      RetryHint.milliseconds("x-pause"),
      RetryHint.reset("x-quota-reset", ["x-quota-left"]),
      RetryHint.status((status) => status === 418)
    ])
    expect(profile).toMatchObject({ name: "shop", readsBody: false })
    expect(read({ "x-come-back-in": "2.5", "x-pause": "1" }, profile)).toMatchObject({
      hint: { _tag: "After", millis: 2500 },
      source: "x-come-back-in",
      shouldRetry: false,
      decidedBy: "status"
    })
    expect(read({ "x-try-again": "true" }, profile).decidedBy).toBe("x-try-again")
    expect(millis(read({ "x-quota-reset": "5", "x-quota-left": "0" }, profile))).toBe(5000)
    expect(read({ "retry-after": "5" }, profile).hint).toBeUndefined()
  })

  it("extends one that is built in, and knows whether it reads bodies", () => {
    const profile = RetryHint.make("mine", [RetryHint.retryInfo, ...RetryHint.profile("standard").rules])
    expect(profile.readsBody).toBe(true)
    expect(RetryHint.profile("standard").readsBody).toBe(false)
    expect(millis(read({ "retry-after": "5" }, profile))).toBe(5000)
  })

  it.each<[name: string, hint: RetryHint.Finding["hint"], millis: number | undefined]>([
    ["NaN", { _tag: "After", millis: Number.NaN }, undefined],
    ["a moment that is NaN", { _tag: "At", epochMillis: Number.NaN }, undefined],
    ["less than nothing", { _tag: "After", millis: -5 }, 0],
    ["long past", { _tag: "At", epochMillis: -Infinity }, 0],
    ["more than there is", { _tag: "After", millis: 2e15 }, Infinity],
    ["no moment", { _tag: "At", epochMillis: 9e15 }, Infinity]
  ])("what its rules find is brought within bounds: %s", (_, hint, wait) => {
    const profile = RetryHint.make("odd", [{ source: "here", body: false, read: () => ({ hint }) }])
    const reading = read({}, profile)
    expect(millis(reading)).toBe(wait)
    expect(reading.tooLong).toBe(wait === Infinity)
  })

  it("a rule that throws has found nothing", () => {
    const broken: RetryHint.Rule = {
      source: "here",
      body: false,
      read: () => {
        throw new Error("broken")
      }
    }
    const profile = RetryHint.make("broken", [broken, ...RetryHint.profile("standard").rules])
    expect(millis(read({ "retry-after": "5" }, profile))).toBe(5000)
  })
})
