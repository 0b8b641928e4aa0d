import { it as effectIt } from "@effect/vitest"
import { Policy } from "@reprise/core"
import { Script, Timeline } from "@reprise/testing"
import { Clock, Context, Effect } from "effect"
import { TestClock } from "effect/testing"
import { expect, it } from "vitest"

const script = Script.make([...Script.times(3, Script.fail("no answer")), Script.succeed("ok")])
const policy = Policy.exponential("500 millis").pipe(Policy.attempts(5))

const outage = Script.make([Script.fail("no answer")])
const patient = Policy.exponential("1 second").pipe(Policy.capped("30 seconds"), Policy.attempts(8))

// These two stand in the README.
effectIt.effect("gives up within two minutes", () =>
  Effect.gen(function* () {
    const timeline = yield* Timeline.record(outage, patient)
    expect(timeline.outcome, `\n${Timeline.render(timeline)}\n`).toBe("Exhausted")
    expect(timeline.elapsed).toBeLessThan(120_000)
  }))

it("waits half a minute at most", async () => {
  const timeline = await Effect.runPromise(Timeline.record(outage, patient))
  expect(Math.max(...timeline.waits)).toBe(30_000)
})

effectIt.effect(
  "what such an assertion says when it fails has its rows below each other",
  () =>
    Effect.gen(function* () {
      const timeline = yield* Timeline.record(outage, patient)
      const failed = Effect.try({
        try: () => expect(timeline.outcome, `\n${Timeline.render(timeline)}\n`).toBe("Success"),
        catch: String
      })
      const lines = (yield* Effect.flip(failed)).split("\n")
      expect(lines.filter((line) => /^[1-8] \|/.test(line))).toHaveLength(8)
      expect(lines.at(-1)).toBe(": expected 'Exhausted' to be 'Success' // Object.is equality")
    })
)

it("works in plain Vitest", async () => {
  const timeline = await Effect.runPromise(Timeline.record(script, policy))
  expect(timeline.waits).toEqual([500, 1000, 2000])
})

effectIt.effect("leaves the clock of it.effect where it is", () =>
  Effect.gen(function* () {
    yield* TestClock.adjust("1 hour")
    const timeline = yield* Timeline.record(script, policy)
    expect(timeline.elapsed).toBe(3500)
    expect(yield* Clock.currentTimeMillis).toBe(3_600_000)
  }))

effectIt.live("works in it.live", () =>
  Effect.gen(function* () {
    expect((yield* Timeline.record(script, policy)).waits).toEqual([500, 1000, 2000])
  }))

effectIt.effect("an attempt may use TestClock as in any test", () =>
  Effect.gen(function* () {
    const operation = Effect.andThen(TestClock.adjust("7 seconds"), TestClock.withLive(script))
    const timeline = yield* Timeline.record(operation, policy)
    expect(timeline.waits).toEqual([500, 1000, 2000])
    expect(timeline.attempts.map(({ end, start }) => end - start)).toEqual([7000, 7000, 7000, 7000])
  }))

class Gateway extends Context.Service<Gateway, { readonly charge: Effect.Effect<string, string> }>()("Gateway") {}

effectIt.effect("hands the services of the test to the operation", () =>
  Effect.gen(function* () {
    const charge = Effect.flatMap(Gateway, (gateway) => gateway.charge)
    const timeline = yield* Effect.provideService(Timeline.record(charge, policy), Gateway, { charge: script })
    expect(timeline.outcome).toBe("Success")
    expect(timeline.attempts).toHaveLength(4)
  }))
