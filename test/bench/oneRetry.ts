import { Policy, Retry } from "@reprise/core"
import { Data, Duration, Effect, Schedule } from "effect"
import { again } from "./inFibre.ts"
import type { Measurement } from "./Measurement.ts"
import { policy as growing, schedule as growingSchedule } from "./policy.ts"
import { atMost, compare } from "./Row.ts"
import { net, takeTurns } from "./rounds.ts"

class Unavailable extends Data.TaggedError("Unavailable")<{}> {}

// Made once: what an error costs is the same for everybody, and much.
const failed: Effect.Effect<number, Unavailable> = Effect.fail(new Unavailable())
const succeeded: Effect.Effect<number, Unavailable> = Effect.succeed(1)

/** Fails the first time, succeeds the second, and so on. */
const operation = (): Effect.Effect<number, Unavailable> => {
  let calls = 0
  return Effect.suspend(() => calls++ % 2 === 0 ? failed : succeeded)
}

const policy = Policy.immediate(4)
const schedule = Schedule.recurs(4)

/** As little as a schedule can do: no count, no end, one prebuilt answer. What it costs is what Effect's driver costs. */
const constant = Schedule.fromStep(
  Effect.succeed(() => Effect.succeed<[Duration.Duration, Duration.Duration]>([Duration.zero, Duration.zero]))
)

/** Starts a schedule and steps it twice, without sleeping. */
const stepped = (schedule: Schedule.Schedule<Duration.Duration, unknown>): Effect.Effect<number> =>
  Effect.flatMap(Schedule.toStep(schedule), (step) => {
    const once = Effect.suspend(() => step(0, undefined))
    return Effect.as(Effect.orDie(Effect.flatMap(once, () => once)), 1)
  })

const sides = () => {
  const byHand = operation()
  return {
    run: again(Retry.run(operation(), policy)),
    schedule: again(Effect.retry(operation(), schedule)),
    policy: again(Effect.retry(operation(), policy)),
    constant: again(Effect.retry(operation(), constant)),
    times: again(Effect.retry(operation(), { times: 4 })),
    floor: again(
      Effect.suspend(() => Effect.catchCause(byHand, () => Effect.flatMap(Effect.yieldNow, () => byHand)))
    ),
    yieldNow: again(Effect.as(Effect.yieldNow, 1))
  }
}

const steps = {
  policy: again(stepped(growing)),
  schedule: again(stepped(growingSchedule))
}

export const oneRetry: Measurement = {
  title: "The operation fails once, and is tried again without a wait",
  async measure({ many }) {
    const one = await takeTurns(sides(), { rounds: many(15, 7), iterations: many(60_000, 20_000) })
    const two = await takeTurns(steps, { rounds: many(15, 7), iterations: many(60_000, 10_000) })
    const netOf = (name: "run" | "schedule" | "policy" | "floor") => net(one[name], one.yieldNow)
    return [
      compare("Retry.run ÷ Effect.retry, recurs(4)", "ns", one.run, one.schedule, atMost(0.5)),
      compare("Effect.retry with the policy ÷ recurs(4)", "ns", one.policy, one.schedule, atMost(0.8)),
      compare("Retry.run ÷ Effect.retry, { times: 4 }", "ns", one.run, one.times),
      compare("floor: Effect.retry, constant step ÷ recurs(4)", "ns", one.constant, one.schedule),
      compare("floor: catchCause, yieldNow ÷ recurs(4)", "ns", one.floor, one.schedule),
      compare("Retry.run ÷ catchCause, yieldNow", "ns", one.run, one.floor),
      compare("yieldNow ÷ Retry.run", "ns", one.yieldNow, one.run),
      compare("less the yield: Retry.run ÷ recurs(4)", "ns", netOf("run"), netOf("schedule")),
      compare("less the yield: the policy ÷ recurs(4)", "ns", netOf("policy"), netOf("schedule")),
      compare("less the yield: Retry.run ÷ catchCause", "ns", netOf("run"), netOf("floor")),
      compare("two steps, no sleep: policy ÷ equal schedule", "ns", two.policy, two.schedule)
    ]
  }
}
