import { beforeAll, describe, expect, it, vi } from "@effect/vitest"
import { Policy, Retry, RetryBudget } from "@reprise/core"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import { once } from "node:events"
import { Worker } from "node:worker_threads"
import type { Bytes } from "./successBytes.ts"
import * as VirtualClock from "./VirtualClock.ts"

describe("R13: the success path allocates no run state", () => {
  /**
   * Bytes above the least. Measured are 32 to 78: what the handler closes over (settings, operation, site, fibre), and
   * the site anew whenever a collection took it; and 120 for a state of seven fields and a list.
   */
  const bound = 100

  let bytes: Bytes
  // Not in the test, whose second would count the worker's time on a busy machine.
  beforeAll(async () => {
    const worker = new Worker(new URL("successBytes.ts", import.meta.url))
    bytes = (await once(worker, "message") as [Bytes])[0]
  })

  it("costs what its handler closes over, and no state", () => {
    expect(bytes.run - bytes.least).toBeLessThan(bound)
  })

  it("would be seen to cost more if it made a state", () => {
    expect(bytes.eager - bytes.least).toBeGreaterThan(bound)
  })

  it.each(
    [
      ["and has nobody to tell", {}, undefined],
      ["also where a budget is told of successes", {}, RetryBudget.throttle()],
      ["also where `onEvent` is told of them", { onEvent: () => Effect.void }, undefined]
    ] as const
  )("makes no state: the stepper is started by the first failure, %s", (_, options, budget) => {
    const policy = Policy.attempts(Policy.constant(5), 3)
    const start = vi.spyOn(Policy.stepper(policy), "start")
    const run = <A, E>(self: Effect.Effect<A, E>) =>
      Effect.runSyncExit(
        Retry.run(self, policy, options).pipe(
          Effect.provideService(RetryBudget.Current, budget),
          VirtualClock.provide(VirtualClock.instant())
        )
      )
    expect(run(Effect.succeed(1))._tag).toBe("Success")
    expect(start).toHaveBeenCalledTimes(0)
    run(Effect.fail("busy"))
    expect(start).toHaveBeenCalledTimes(1)
  })

  it("reads the time once, the date never, and draws nothing", () => {
    const read = { monotonic: 0, wall: 0, random: 0 }
    const counting: VirtualClock.VirtualClock = {
      ...VirtualClock.instant(),
      currentTimeMillisUnsafe: () => ++read.wall,
      currentTimeNanosUnsafe: () => BigInt(++read.wall),
      monotonicTimeNanosUnsafe: () => BigInt(++read.monotonic)
    }
    Effect.runSync(
      Retry.run(Effect.void, Policy.standard.pipe(Policy.honoringRetryAfter())).pipe(
        VirtualClock.provide(counting),
        Effect.provideService(Random.Random, {
          nextDoubleUnsafe: () => ++read.random,
          nextIntUnsafe: () => ++read.random
        })
      )
    )
    expect(read).toEqual({ monotonic: 1, wall: 0, random: 0 })
  })
})
