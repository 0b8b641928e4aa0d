import { describe, expect, it } from "@effect/vitest"
import { Policy, Retry } from "@reprise/core"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { exhaustion } from "./exits.ts"
import { draws, record, recordWith } from "./Recording.ts"
import * as VirtualClock from "./VirtualClock.ts"

class Busy extends Data.TaggedError("Busy")<{ readonly retryAfter?: unknown }> {}

const now = 1_800_000_000_000
const second = Policy.constant("1 second")
const honoring = second.pipe(Policy.honoringRetryAfter(), Policy.attempts(2))

const hinted = (retryAfter: unknown, policy: Policy.Unrestricted = honoring, draw = 0) => {
  const clock = VirtualClock.instant()
  clock.wall = now
  return record(() => Effect.fail(new Busy({ retryAfter })), policy, { clock, random: draws(draw) })
}

describe("R7: wait = hint + own delay + spread from U[0, min(5 s, hint / 10))", () => {
  it.each<[what: string, retryAfter: unknown, draw: number, wait: number]>([
    ["0", 0, 0.5, 1000],
    ["1 s", 1000, 0, 2000],
    ["1 s", 1000, 0.5, 2050],
    ["30 s", 30_000, 0, 31_000],
    ["30 s", 30_000, 0.999, 33_997],
    ["60 s, the most", 60_000, 0.5, 63_500],
    ["a Duration", Duration.seconds(2), 0, 3000],
    ["a date to come", new Date(now + 10_000), 0, 11_000],
    ["a date past", new Date(now - 10_000), 0.9, 1000],
    ["less than nothing", -5000, 0.9, 1000],
    ["one that cannot be read", "soon", 0.9, 1000],
    ["none", undefined, 0.9, 1000]
  ])("hint %s, draw %d", (_, retryAfter, draw, wait) => {
    expect(hinted(retryAfter, honoring, draw).waits).toEqual([wait])
  })

  it("the spread is 5 s at most", () => {
    const policy = second.pipe(Policy.honoringRetryAfter({ max: "1 hour" }), Policy.attempts(2))
    expect(hinted(3_600_000, policy, 0.5).waits).toEqual([3_600_000 + 1000 + 2500])
  })

  it("clients given one date do not return together", () => {
    const waits = [0, 0.25, 0.5, 0.75].map((draw) => hinted(new Date(now + 20_000), honoring, draw).waits[0])
    expect(new Set(waits).size).toBe(4)
    for (const wait of waits) expect(wait).toBeGreaterThanOrEqual(20_000)
  })

  it("a cap of the policy does not shorten a hint", () => {
    expect(hinted(30_000, honoring.pipe(Policy.capped("1 second"))).waits).toEqual([31_000])
  })

  it("jitter outside of it does not draw below a hint", () => {
    expect(hinted(30_000, second.pipe(Policy.honoringRetryAfter(), Policy.jittered, Policy.attempts(2))).waits)
      .toEqual([30_000])
  })

  it("a policy that does not honour hints waits its own", () => {
    expect(hinted(30_000, Policy.attempts(second, 2)).waits).toEqual([1000])
  })

  it("every failure is asked anew", () => {
    const { waits } = record(
      (n) => Effect.fail(new Busy({ retryAfter: n === 2 ? undefined : n * 1000 })),
      second.pipe(Policy.honoringRetryAfter(), Policy.attempts(4)),
      { random: draws(0) }
    )
    expect(waits).toEqual([2000, 1000, 4000])
  })

  it("in Effect.retry too", () => {
    const { waits } = recordWith(() => Effect.fail(new Busy({ retryAfter: 30_000 })), Effect.retry(honoring), {
      random: draws(0)
    })
    expect(waits).toEqual([31_000])
  })
})

describe("R7: a hint that cannot be kept gives up at once", () => {
  it.each<[what: string, retryAfter: unknown, hint: number, retryAt: number | undefined]>([
    ["past max", 61_000, 61_000, now + 61_000],
    ["a date past max", new Date(now + 61_000), 61_000, now + 61_000],
    ["huge", 1e15, 1e15, now + 1e15],
    ["beyond all dates", Infinity, Number.MAX_SAFE_INTEGER, undefined]
  ])("%s", (_, retryAfter, hint, retryAt) => {
    const { attempts, exit } = hinted(retryAfter)
    const error = exhaustion(exit)
    expect(attempts).toBe(1)
    expect(error.reason).toEqual({
      _tag: "RetryAfterTooLong",
      hint: Duration.millis(hint),
      max: Duration.seconds(60)
    })
    expect(error.retryAt?.epochMilliseconds).toBe(retryAt)
  })

  it("of several limits, the smallest counts", () => {
    const policy = second.pipe(
      Policy.honoringRetryAfter({ max: "10 seconds" }),
      Policy.honoringRetryAfter({ max: "20 seconds" }),
      Policy.attempts(2)
    )
    expect(exhaustion(hinted(15_000, policy).exit).reason._tag).toBe("RetryAfterTooLong")
  })

  it("past the elapsed limit, and it carries retryAt", () => {
    const policy = second.pipe(Policy.honoringRetryAfter(), Policy.within("30 seconds"))
    const { attempts, exit } = hinted(29_500, policy)
    expect(attempts).toBe(1)
    expect(exhaustion(exit).reason._tag).toBe("Elapsed")
    expect(exhaustion(exit).retryAt?.epochMilliseconds).toBe(now + 29_500)
  })

  it("\"do not retry\" gives up, and nothing says when to come back", () => {
    const { attempts, exit } = hinted("do not retry")
    expect(attempts).toBe(1)
    expect(exhaustion(exit).reason).toEqual({ _tag: "Pushback" })
    expect(exhaustion(exit).retryAt).toBeUndefined()
  })

  it("a hint deep in a chain of causes is found", () => {
    const wrapped = new Error("outer", { cause: new Error("middle", { cause: new Busy({ retryAfter: 5000 }) }) })
    expect(record(() => Effect.fail(wrapped), honoring, { random: draws(0) }).waits).toEqual([6000])
  })

  it("the clock that a date is read on is the wall clock", () => {
    const clock = VirtualClock.instant()
    clock.wall = now
    clock.now = 5_000_000
    const { waits } = recordWith(
      () => Effect.fail(new Busy({ retryAfter: new Date(now + 10_000) })),
      Retry.run(honoring),
      { clock, random: draws(0) }
    )
    expect(waits).toEqual([11_000])
  })
})
