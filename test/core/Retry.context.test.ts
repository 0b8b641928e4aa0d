// The context of a run is that of its attempts, and of nothing else.
import { Policy, Retry, RetryLayers } from "@reprise/core"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Scheduler from "effect/Scheduler"
import { describe, expect, it } from "vitest"

const policy = Policy.immediate(2)

/** How many executions the layers around make of a call. */
const around = RetryLayers.total

describe("what stands around a run does not stand inside it", () => {
  it("when it has succeeded, failed or died", async () => {
    const seen = (operation: Effect.Effect<unknown, unknown>) =>
      Effect.runPromise(Effect.andThen(Effect.exit(Retry.run(operation, policy)), around))
    expect(await Effect.runPromise(Retry.run(around, policy))).not.toBe(await Effect.runPromise(around))
    for (const operation of [Effect.succeed(1), Effect.fail("no"), Effect.die("no")]) {
      expect(await seen(operation)).toBe(await Effect.runPromise(around))
    }
  })

  it("when it is interrupted, after whichever of its steps", () => {
    const outside = Effect.runSync(around)
    const seen: Array<unknown> = []
    const run = Effect.onExit(
      Retry.run(Effect.forever(Effect.yieldNow), policy),
      () => Effect.map(around, (found) => void seen.push(found))
    )
    const most = 60
    for (let steps = 0; steps < most; steps++) {
      const due: Array<() => void> = []
      const scheduler = new Scheduler.MixedScheduler("async", (f) => (due.push(f), () => {}))
      // The fiber yields after every step or two, so that an interruption finds it there.
      const context = Context.make(Scheduler.Scheduler, scheduler).pipe(Context.add(Scheduler.MaxOpsBeforeYield, 3))
      const fiber = Effect.runForkWith(context)(run)
      for (let step = 0; step < steps; step++) due.shift()?.()
      fiber.interruptUnsafe()
      for (let step = 0; step < 1000 && due.length > 0; step++) due.shift()?.()
      expect(fiber.pollUnsafe()).toBeDefined()
    }
    expect(seen.length).toBeGreaterThan(most / 2)
    expect(new Set(seen)).toEqual(new Set([outside]))
  })
})
