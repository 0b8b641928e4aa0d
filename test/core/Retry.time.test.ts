import { describe, expect, it } from "@effect/vitest"
import { Policy, Retry } from "@reprise/core"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { exhaustion } from "./exits.ts"
import { draws, record, recordWith } from "./Recording.ts"
import * as VirtualClock from "./VirtualClock.ts"

class Busy extends Data.TaggedError("Busy")<{ readonly retryAfter?: number | Date }> {}

const busy = new Busy({})
const second = Policy.constant("1 second")

describe("R4: within(d) counts from the start of attempt 1 and includes the wait about to be slept", () => {
  it("a wait that would overshoot is not slept", () => {
    const { exit, waits } = record(() => Effect.fail(busy), Policy.within(second, "2500 millis"))
    expect(waits).toEqual([1000, 1000])
    expect(exhaustion(exit).reason._tag).toBe("Elapsed")
    expect(Duration.toMillis(exhaustion(exit).elapsed)).toBe(2000)
  })

  it("a retry may start at the very end", () => {
    expect(record(() => Effect.fail(busy), Policy.within(second, "2 seconds")).starts).toEqual([0, 1000, 2000])
  })

  it("the time of the attempts counts, that of the first included", () => {
    const { starts } = record((_, clock) => {
      clock.now += 600
      return Effect.fail(busy)
    }, Policy.within(second, "4 seconds"))
    expect(starts).toEqual([0, 1600, 3200])
  })

  it("reads the run's start also inside concat", () => {
    const policy = Policy.concat(Policy.delays([3000]), Policy.within(second, "4500 millis"))
    expect(record(() => Effect.fail(busy), policy).starts).toEqual([0, 3000, 4000])
  })

  it.each<[what: string, policy: Policy.Unrestricted]>([
    ["jitter after it", second.pipe(Policy.within("3500 millis"), Policy.jitteredWith({ min: 2, max: 2 }))],
    ["jitter before it", second.pipe(Policy.jitteredWith({ min: 2, max: 2 }), Policy.within("3500 millis"))],
    [
      "a longer wait of another member of max",
      Policy.max([
        Policy.within(second, "3500 millis"),
        Policy.constant("2 seconds")
      ])
    ]
  ])("with %s, it is the wait that will be slept that counts", (_, policy) => {
    const { starts, waits } = record(() => Effect.fail(busy), policy)
    expect(waits).toEqual([2000])
    expect(starts).toEqual([0, 2000])
  })

  it("a shorter wait than the one that jitter took away is allowed", () => {
    const policy = second.pipe(Policy.within("800 millis"), Policy.jittered)
    expect(record(() => Effect.fail(busy), policy, { random: draws(0.5) }).starts).toEqual([0, 500])
  })
})

describe("R4: elapsed time is the monotonic clock's", () => {
  it.each<[what: string, jump: number]>([["forwards", 86_400_000], ["backwards", -86_400_000]])(
    "a wall clock that jumps %s changes nothing",
    (_, jump) => {
      const { exit, starts } = record((_, clock) => {
        clock.wall += jump
        return Effect.fail(busy)
      }, Policy.within(second, "2500 millis"))
      expect(starts).toEqual([0, 1000, 2000])
      expect(Duration.toMillis(exhaustion(exit).elapsed)).toBe(2000)
    }
  )

  it("in Effect.retry too", () => {
    const { starts } = recordWith((_, clock) => {
      clock.wall += 86_400_000
      return Effect.fail(busy)
    }, Effect.retry(Policy.within(second, "2500 millis")))
    expect(starts).toEqual([0, 1000, 2000])
  })
})

describe("R2: a frozen process makes no late attempt", () => {
  it("the run gives up after the sleep", () => {
    const clock = VirtualClock.frozenFor(60_000)
    const { attempts, exit } = record(() => Effect.fail(busy), Policy.within(second, "10 seconds"), { clock })
    expect(attempts).toBe(1)
    const error = exhaustion(exit)
    expect(error.reason._tag).toBe("Elapsed")
    expect(Duration.toMillis(error.elapsed)).toBe(61_000)
    expect(error.lastError).toBe(busy)
    expect(error.waits.count).toBe(1)
  })

  it.each<[what: string, policy: Policy.Unrestricted]>([
    ["max", Policy.max([Policy.within(second, "10 seconds"), Policy.attempts(second, 5)])],
    ["concat, the first", Policy.concat(Policy.within(second, "10 seconds"), Policy.within(second, "20 seconds"))],
    ["min of two limits", Policy.min([Policy.within(second, "10 seconds"), Policy.within(second, "20 seconds")])],
    ["byInput", Policy.byInput([["busy", () => true, Policy.within(second, "10 seconds")]], Policy.standard)],
    ["a pipe around it", Policy.within(second, "10 seconds").pipe(Policy.jittered, Policy.attempts(9))]
  ])("through %s", (_, policy) => {
    const clock = VirtualClock.frozenFor(60_000)
    expect(record(() => Effect.fail(busy), policy, { clock }).attempts).toBe(1)
  })

  it("unless some member of min, or a later one of concat, has no such limit", () => {
    const frozen = { clock: VirtualClock.frozenFor(60_000) }
    const limited = Policy.within(second, "10 seconds")
    expect(record(() => Effect.fail(busy), Policy.min([limited, Policy.attempts(second, 3)]), frozen).attempts).toBe(3)
    expect(record(() => Effect.fail(busy), Policy.concat(limited, Policy.recurs(second, 2)), frozen).attempts).toBe(4)
  })

  it("`retryAt` stays the moment that was asked for", () => {
    const clock = VirtualClock.frozenFor(60_000)
    const at = new Date(5000)
    const policy = second.pipe(Policy.honoringRetryAfter(), Policy.within("10 seconds"))
    const { attempts, exit } = record(() => Effect.fail(new Busy({ retryAfter: at })), policy, { clock })
    expect(attempts).toBe(1)
    expect(exhaustion(exit).retryAt?.epochMilliseconds).toBe(5000)
  })

  it.each(["when", "onRetry"] as const)("time that `%s` took counts too, before the wait", (slow) => {
    const clock = VirtualClock.instant()
    const told: Array<string> = []
    const taking = (option: "when" | "onRetry") =>
      Effect.sync(() => {
        told.push(option)
        if (option === slow) clock.now += 9_500
        return true
      })
    const { attempts, exit, waits } = recordWith(
      () => Effect.fail(busy),
      Retry.run(Policy.within(second, "10 seconds"), {
        when: () => taking("when"),
        onRetry: () => Effect.asVoid(taking("onRetry"))
      }),
      { clock }
    )
    expect([attempts, waits]).toEqual([1, []])
    expect(exhaustion(exit).reason._tag).toBe("Elapsed")
    expect(Duration.toMillis(exhaustion(exit).elapsed)).toBe(9_500)
    // Nobody is told of a retry that is known not to come.
    expect(told).toEqual(slow === "when" ? ["when"] : ["when", "onRetry"])
  })
})
