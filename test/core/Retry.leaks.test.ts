// R9: what a run leaves behind, which is nothing. Memory is looked at in test/process, in a process of its own.
import { describe, expect, it } from "@effect/vitest"
import { Deadline, Policy, Retry, RetryBudget, RetryEvents } from "@reprise/core"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Metric from "effect/Metric"
import * as VirtualClock from "./VirtualClock.ts"

const runs = 1000
const busy = Effect.fail("busy")
const policy = Policy.immediate(2)
const hour = Policy.constant("1 hour").pipe(Policy.attempts(3))

type Options = Retry.Options<unknown>

const kinds: Readonly<Record<string, (options: Options) => Effect.Effect<unknown, unknown>>> = {
  "succeed": (options) => Retry.run(Effect.void, policy, options),
  "succeed at their second attempt": (options) =>
    Retry.run(Effect.flatMap(Retry.Attempt, ({ number }) => number === 1 ? busy : Effect.void), policy, options),
  "are exhausted": (options) => Retry.run(busy, policy, options),
  "die": (options) => Retry.run(Effect.die("broken"), policy, options),
  "are interrupted in a wait": (options) => Retry.run(busy, hour, options),
  "are interrupted in an attempt": (options) => Retry.run(Effect.never, policy, options),
  "are interrupted in an attempt with a timeout": (options) =>
    Retry.run(Effect.never, policy, { ...options, attemptTimeout: "1 hour" }),
  "are interrupted in `onRetry`": (options) => Retry.run(busy, hour, { ...options, onRetry: () => Effect.never }),
  "are interrupted in `when`": (options) => Retry.run(busy, hour, { ...options, when: () => Effect.never })
}

/** Everything that a run can have around it and may leave something in. */
const around = () => {
  const budget = RetryBudget.all([
    RetryBudget.concurrent({ percent: 0, minimum: runs * 2, maxWaiting: runs * 2 }),
    RetryBudget.make({ initial: 1e6, minPerSecond: 1e6, perOperation: 1, maxWaiting: runs * 2 })
  ])
  let waiting = 0
  const observer = RetryEvents.observer({
    wantsFirstSuccess: () => true,
    event: () => {},
    waiting: (_, change) => void (waiting += change)
  })
  return { budget, layer: RetryEvents.layer([observer]), waiting: () => waiting }
}

describe("R9: runs leave no timer, fibre, wait or slot", () => {
  it.effect.each(Object.keys(kinds))("that %s", (kind) => {
    const { budget, layer, waiting } = around()
    const clock = VirtualClock.stopped()
    let fibers = 0
    const counting: Metric.FiberRuntimeMetricsService = {
      recordFiberStart: () => void fibers++,
      recordFiberEnd: () => void fibers--
    }
    return Effect.gen(function* () {
      const run = kinds[kind]!
      const forked = yield* Effect.forEach(Array.from({ length: runs }, (_, index) => index), (index) => {
        const self = run(index % 2 === 0 ? {} : { budget })
        return Effect.forkChild(index % 3 === 0 ? Deadline.within(self, "1 day") : self)
      })
      for (let turn = 0; turn < 10; turn++) yield* Effect.yieldNow
      if (kind.includes("interrupted")) {
        expect(fibers).toBeGreaterThanOrEqual(runs)
        yield* Fiber.interruptAll(forked)
      } else {
        yield* Fiber.awaitAll(forked)
      }
      const balance = yield* RetryBudget.balance(budget)
      expect({ timers: clock.timers, fibers, waiting: waiting(), balance }).toEqual({
        timers: 0,
        fibers: 0,
        waiting: 0,
        balance: runs * 2
      })
    }).pipe(
      Effect.provide(layer),
      VirtualClock.provide(clock),
      Effect.provideService(Metric.FiberRuntimeMetrics, counting)
    )
  })

  // A fault that was: they lost their observers in the middle of a wait, which was over for nobody.
  it("that outlive the layer of their observers", async () => {
    const { layer, waiting } = around()
    const fiber = await Effect.runPromise(
      Effect.provide(Effect.forkDetach(Retry.run(busy, hour), { startImmediately: true }), layer)
    )
    await Effect.runPromise(Fiber.interrupt(fiber))
    expect(waiting()).toBe(0)
  })
})
