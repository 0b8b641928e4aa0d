// nodejs/undici#5519, googleapis/retry-request#38: a hint of zero was taken for none, and a past date made a negative
// wait. Rule R7: 0 is 0; a past date is 0; never negative.
import { describe, expect, it } from "@effect/vitest"
import { Policy, Retry, RetryExhausted, Transience } from "@reprise/core"
import * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import { draws, recordWith } from "../core/Recording.ts"
import * as VirtualClock from "../core/VirtualClock.ts"

const now = 1_800_000_000_000
const policy = Policy.constant("1 second").pipe(Policy.honoringRetryAfter(), Policy.attempts(2))

const wait = (error: unknown, drive: typeof retryRun, draw: number): number | undefined => {
  const clock = VirtualClock.instant()
  clock.wall = now
  return recordWith(() => Effect.fail(error), drive, { clock, random: draws(draw) }).waits[0]
}
const retryRun = (self: Effect.Effect<never, unknown>): Effect.Effect<never, unknown> => Retry.run(self, policy)
const effectRetry = (self: Effect.Effect<never, unknown>): Effect.Effect<never, unknown> => Effect.retry(self, policy)

const nothing: ReadonlyArray<readonly [what: string, retryAfter: Transience.RetryAfter]> = [
  ["0", 0],
  ["-0", -0],
  ["a Duration of zero", Duration.zero],
  ["'0 seconds'", "0 seconds"],
  ["0n", 0n],
  ["now", new Date(now)],
  ["a millisecond ago", new Date(now - 1)],
  ["1970", new Date(0)],
  ["before 1970", new Date(-1e12)],
  ["a DateTime that is past", DateTime.makeUnsafe(now - 5000)],
  ["a negative number", -1],
  ["a large negative number", -Number.MAX_VALUE],
  ["minus infinity", -Infinity],
  ["a negative Duration", Duration.seconds(-30)]
]

describe.each([["Retry.run", retryRun], ["Effect.retry", effectRetry]])("F11: a hint of no wait, in %s", (_, drive) => {
  it.each(nothing)("%s: the policy's own delay, and no spread", (_, retryAfter) => {
    for (const draw of [0, 0.5, 0.999]) expect(wait({ retryAfter }, drive, draw)).toBe(1000)
  })

  it.each(nothing)("%s, as an error says it of itself", (_, retryAfter) => {
    const error = Transience.annotate(new Error("busy"), { transience: "transient", retryAfter })
    expect(wait(error, drive, 0.5)).toBe(1000)
  })

  it.each(nothing)("%s: with no delay of its own, none at all", (_, retryAfter) => {
    const immediate = Policy.immediate(3).pipe(Policy.honoringRetryAfter())
    const clock = VirtualClock.instant()
    clock.wall = now
    const { attempts, waits } = recordWith(() => Effect.fail({ retryAfter }), Retry.run(immediate), { clock })
    expect([attempts, waits]).toEqual([4, []])
  })
})

describe("F11: a hint of any wait", () => {
  it("is never earlier than it says, nor ten percent later than its sum", () => {
    for (let hint = 1; hint <= 60_000; hint = hint * 3 + 1) {
      for (const draw of [0, 0.3, 0.999_999]) {
        const waited = wait({ retryAfter: hint }, retryRun, draw)!
        expect(waited).toBeGreaterThanOrEqual(hint + 1000)
        // A Duration is exact to the nanosecond.
        expect(waited).toBeLessThan(hint + 1000 + Math.min(5000, hint / 10) + 1e-6)
      }
    }
  })

  it("a first hint of zero does not hide a later one", () => {
    const { waits } = recordWith(
      (n) => Effect.fail({ retryAfter: n === 1 ? 0 : 2000 }),
      Retry.run(Policy.constant("1 second").pipe(Policy.honoringRetryAfter(), Policy.attempts(3))),
      { random: draws(0) }
    )
    expect(waits).toEqual([1000, 3000])
  })

  it.each([[0, now], [new Date(now - 5000), now], [undefined, undefined]])(
    "%s is told apart from none by when to come back",
    (retryAfter, retryAt) => {
      const clock = VirtualClock.instant()
      clock.wall = now
      const once = Policy.constant("1 second").pipe(Policy.honoringRetryAfter(), Policy.attempts(1))
      const { exit } = recordWith(() => Effect.fail({ retryAfter }), Retry.run(once), { clock })
      const error = Option.getOrUndefined(Exit.findErrorOption(exit))
      expect(RetryExhausted.is(error) && error.retryAt?.epochMilliseconds).toBe(retryAt)
    }
  )

  it("zero on the error outside counts before a wait on its cause", () => {
    expect(wait({ retryAfter: 0, cause: { retryAfter: 5000 } }, retryRun, 0)).toBe(1000)
  })
})
