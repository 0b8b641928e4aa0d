import { describe, expect, it } from "@effect/vitest"
import { Policy, Retry } from "@reprise/core"
import * as Cause from "effect/Cause"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { errorOf, reasonOf } from "./exits.ts"
import { record, recordWith } from "./Recording.ts"

class Busy extends Data.TaggedError("Busy")<{ readonly retryAfter?: number | "do not retry" }> {}
class Declined extends Data.TaggedError("Declined")<{}> {}

const busy = new Busy({})
const second = Policy.constant("1 second")

describe("R2: what passes through", () => {
  it.each<[what: string, cause: Cause.Cause<Busy>]>([
    ["a defect", Cause.die("broken")],
    ["an interruption", Cause.interrupt(1)],
    ["a failure with a defect", Cause.combine(Cause.fail(busy), Cause.die("broken"))],
    ["a defect with a failure", Cause.combine(Cause.die("broken"), Cause.fail(busy))],
    ["a failure with an interruption", Cause.combine(Cause.fail(busy), Cause.interrupt(1))],
    ["a cause of nothing", Cause.empty]
  ])("%s is not retried, and leaves with its own cause", (_, cause) => {
    const { attempts, exit } = record(() => Effect.failCause(cause), Policy.immediate(3))
    expect(attempts).toBe(1)
    expect(Exit.isFailure(exit) && exit.cause).toBe(cause)
  })

  it("a defect in a later attempt ends the run", () => {
    const { attempts, exit } = record(
      (n) => n < 3 ? Effect.fail(busy) : Effect.die("broken"),
      Policy.immediate(5)
    )
    expect(attempts).toBe(3)
    expect(exit).toEqual(Exit.die("broken"))
  })

  it("the first failure of several is the input", () => {
    const both = (first: Busy | Declined, then: Busy | Declined) => Cause.combine(Cause.fail(first), Cause.fail(then))
    const policy = Policy.immediate(2).pipe(Policy.whileTag("Busy"))
    expect(record(() => Effect.failCause(both(busy, new Declined())), policy).attempts).toBe(3)
    expect(record(() => Effect.failCause(both(new Declined(), busy)), policy).attempts).toBe(1)
  })

  it("the whole cause of the last attempt is kept", () => {
    const cause = Cause.combine(Cause.fail(busy), Cause.fail(new Busy({ retryAfter: 1 })))
    const error = errorOf(record(() => Effect.failCause(cause), Policy.immediate(1)).exit)
    expect(error?._tag === "RetryExhausted" && error.lastCause).toBe(cause)
  })
})

describe("R2: the order of what decides", () => {
  const tooLong = new Busy({ retryAfter: 3_600_000 })
  const hints = Policy.honoringRetryAfter()

  it("classification comes before attempts", () => {
    const policy = second.pipe(Policy.attempts(1), Policy.whileTag("Busy"))
    expect(errorOf(record(() => Effect.fail(new Declined()), policy).exit)).toEqual(new Declined())
  })

  it("attempts come before a hint that is too long", () => {
    expect(reasonOf(record(() => Effect.fail(tooLong), second.pipe(hints, Policy.attempts(1))).exit)).toBe("Attempts")
    expect(reasonOf(record(() => Effect.fail(tooLong), second.pipe(hints, Policy.attempts(2))).exit)).toBe(
      "RetryAfterTooLong"
    )
  })

  it("attempts come before a wish not to be retried", () => {
    const told = new Busy({ retryAfter: "do not retry" })
    expect(reasonOf(record(() => Effect.fail(told), second.pipe(hints, Policy.attempts(1))).exit)).toBe("Attempts")
    expect(reasonOf(record(() => Effect.fail(told), second.pipe(hints, Policy.attempts(2))).exit)).toBe("Pushback")
  })

  it("a hint that is too long comes before the elapsed limit", () => {
    const policy = second.pipe(hints, Policy.within("1 milli"))
    expect(reasonOf(record(() => Effect.fail(tooLong), policy).exit)).toBe("RetryAfterTooLong")
  })

  it("the end of a list comes before the elapsed limit", () => {
    const policy = Policy.max([Policy.delays([0]), Policy.within(Policy.constant("1 hour"), "1 minute")])
    expect(reasonOf(
      record((_, clock) => {
        clock.now += 60_000
        return Effect.fail(busy)
      }, policy).exit
    )).toBe("Elapsed")
    expect(
      reasonOf(
        record(() => Effect.fail(busy), Policy.max([Policy.delays([0]), Policy.within(second, "90 seconds")])).exit
      )
    )
      .toBe("End")
  })

  it.each<[what: string, policy: Policy.Unrestricted, error: Busy | Declined]>([
    ["classification", Policy.immediate(3), new Declined()],
    ["attempts", Policy.attempts(second, 1), busy],
    ["a hint", second.pipe(hints, Policy.attempts(3)), tooLong],
    ["the elapsed limit", Policy.within(second, "500 millis"), busy]
  ])("`when` is not asked after a no of %s", (_, policy, error) => {
    let asked = 0
    recordWith(
      () => Effect.fail(error),
      Retry.run(policy.pipe(Policy.whileTag("Busy")), {
        when: () => {
          asked++
          return Effect.succeed(true)
        }
      })
    )
    expect(asked).toBe(0)
  })

  it("`onRetry` comes after `when`, and before the wait", () => {
    const order: Array<string> = []
    const { waits } = recordWith(
      (n) => n === 1 ? Effect.fail(busy) : Effect.void,
      Retry.run(Policy.attempts(second, 2), {
        when: () => Effect.sync(() => order.push("when") > 0),
        onRetry: ({ delay }) => Effect.sync(() => order.push(`onRetry ${Duration.toMillis(delay)}`))
      })
    )
    expect(order).toEqual(["when", "onRetry 1000"])
    expect(waits).toEqual([1000])
  })
})

describe("R3: nothing is slept after the last failure", () => {
  it.each([1, 2, 4, 10])("attempts(%i)", (n) => {
    const { attempts, exit, waits } = record(() => Effect.fail(busy), Policy.attempts(second, n))
    expect([attempts, waits.length, reasonOf(exit)]).toEqual([n, n - 1, "Attempts"])
  })

  it("nor after a terminal one", () => {
    const policy = Policy.immediate(3).pipe(Policy.whileTag("Busy"))
    expect(record(() => Effect.fail(new Declined()), policy).waits).toEqual([])
  })

  it("nor after success", () => {
    expect(record((n) => n === 3 ? Effect.void : Effect.fail(busy), Policy.attempts(second, 9)).waits).toHaveLength(2)
  })
})
