import { describe, expect, it } from "@effect/vitest"
import { Policy, Retry } from "@reprise/core"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import { draws, recordWith } from "./Recording.ts"

class Busy extends Data.TaggedError("Busy")<{}> {}
class Declined extends Data.TaggedError("Declined")<{}> {}

const second = Policy.constant("1 second")
const growing = Policy.exponential(100)
const failing = () => Effect.fail(new Busy())

describe("a policy in Effect.retry", () => {
  it.each<[notation: string, policy: Policy.Unrestricted]>(
    [
      Policy.attempts(growing, 4),
      Policy.delays([5, 0, 10]),
      Policy.within(second, "2500 millis"),
      growing.pipe(Policy.jittered, Policy.capped(250), Policy.attempts(6)),
      Policy.concat(Policy.immediate(2), Policy.recurs(second, 2)),
      Policy.max([Policy.attempts(growing, 3), second]),
      Policy.min([Policy.recurs(growing, 2), Policy.recurs(second, 3)]),
      Policy.none
    ].map((policy) => [Policy.format(policy), policy as Policy.Unrestricted])
  )("makes the same attempts at the same times as Retry.run: %s", (_, policy) => {
    const ours = recordWith(failing, Retry.run(policy), { random: draws(0.1, 0.7, 0.3) })
    const effects = recordWith(failing, Effect.retry(policy), { random: draws(0.1, 0.7, 0.3) })
    expect(effects.starts).toEqual(ours.starts)
  })

  it("fails with the last error, in place of RetryExhausted", () => {
    expect(recordWith(failing, Effect.retry(Policy.attempts(second, 2))).exit).toEqual(Exit.fail(new Busy()))
  })

  it("classifies", () => {
    const policy = Policy.attempts(second, 3).pipe(Policy.whileTag("Busy"))
    expect(recordWith(() => Effect.fail(new Declined()), Effect.retry(policy)).attempts).toBe(1)
    expect(recordWith(failing, Effect.retry(policy)).attempts).toBe(3)
  })

  it("as the schedule of its options", () => {
    const policy = Policy.attempts(second, 5)
    expect(recordWith(failing, Effect.retry({ schedule: policy, times: 2 })).attempts).toBe(3)
    expect(recordWith(failing, Effect.retry({ schedule: policy, while: () => false })).attempts).toBe(1)
  })

  it("an endless one is Effect's to judge", () => {
    expect(recordWith((n) => n < 50 ? failing() : Effect.succeed(n), Effect.retry(second)).exit).toEqual(
      Exit.succeed(50)
    )
  })
})

describe("a policy in Effect.retryOrElse", () => {
  it("ends in the fallback, which is told the last wait", () => {
    const { attempts, exit } = recordWith(
      failing,
      Effect.retryOrElse(
        Policy.attempts(growing, 3),
        (error, last) => Effect.succeed([error._tag, Duration.toMillis(last)])
      )
    )
    expect(attempts).toBe(3)
    expect(exit).toEqual(Exit.succeed(["Busy", 200]))
  })
})

describe("a policy in Effect.repeat", () => {
  it("waits between successes, as any schedule does", () => {
    const { attempts, waits } = recordWith(() => Effect.succeed(1), Effect.repeat(Policy.attempts(growing, 3)))
    expect([attempts, waits]).toEqual([3, [100, 200]])
  })
})

describe("a policy in Stream.retry", () => {
  it("starts the whole stream again, and fails with the last error", () => {
    const { attempts, exit, waits } = recordWith(
      failing,
      (operation) => Stream.fromEffect(operation).pipe(Stream.retry(Policy.attempts(growing, 3)), Stream.runDrain)
    )
    expect([attempts, waits]).toEqual([3, [100, 200]])
    expect(exit).toEqual(Exit.fail(new Busy()))
  })

  it("starts the policy anew after every element: at most n is per element", () => {
    const { attempts } = recordWith(
      (n) => Effect.succeed(n),
      (operation) =>
        Stream.fromEffect(operation).pipe(
          Stream.concat(Stream.fail(new Busy())),
          Stream.retry(Policy.attempts(second, 2)),
          Stream.take(20),
          Stream.runDrain
        )
    )
    expect(attempts).toBe(20)
  })
})

describe("a policy in Effect's own combinators", () => {
  it.each<[what: string, schedule: Schedule.Schedule<unknown>, waits: ReadonlyArray<number>]>([
    ["max", Schedule.max([Policy.attempts(growing, 4), Schedule.spaced("150 millis")]), [150, 200, 400]],
    ["min", Schedule.min([Policy.attempts(growing, 4), Schedule.recurs(0)]), [100, 200, 400]],
    ["concat", Schedule.concat(Policy.delays([5]), Policy.delays([7])), [5, 7]],
    [
      "addDelay",
      Schedule.addDelay(Policy.attempts(growing, 3), () => Effect.succeed(Duration.millis(1))),
      [101, 201]
    ],
    [
      "modifyDelay",
      Schedule.modifyDelay(Policy.attempts(growing, 3), () => Effect.succeed(Duration.millis(7))),
      [7, 7]
    ],
    ["upTo", Schedule.upTo(growing, { times: 2 }), [100, 200]],
    ["map", Schedule.map(Policy.attempts(growing, 3), () => Effect.succeed("mapped")), [100, 200]],
    ["passthrough", Schedule.passthrough(Policy.attempts(growing, 3)), [100, 200]]
  ])("%s", (_, schedule, waits) => {
    expect(recordWith(failing, Effect.retry(schedule)).waits).toEqual(waits)
  })

  it("they give a schedule, and no policy", () => {
    const schedule = Schedule.jittered(Policy.attempts(growing, 3))
    expect([Schedule.isSchedule(schedule), Policy.isPolicy(schedule)]).toEqual([true, false])
  })

  it("tap sees the waits", () => {
    const seen: Array<number> = []
    const tapped = Schedule.tap(
      Policy.attempts(growing, 3),
      ({ output }) => Effect.sync(() => void seen.push(Duration.toMillis(output)))
    )
    recordWith(failing, Effect.retry(tapped))
    expect(seen).toEqual([100, 200])
  })
})
