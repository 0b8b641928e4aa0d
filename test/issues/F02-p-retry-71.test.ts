// sindresorhus/p-retry#71, connor4312/cockatiel#69: one shared signal collected listeners until Node warned.
// Rule R9: after 10,000 finished or interrupted runs, no listener, timer or fibre is left.
import { describe, expect, it } from "@effect/vitest"
import { Policy, Retry } from "@reprise/core"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { getEventListeners } from "node:events"

const runs = 10_000
const policy = Policy.constant("1 hour").pipe(Policy.attempts(3))
/** Timers of the test runner come and go. */
const few = 10
const timers = (): number => process.getActiveResourcesInfo().filter((resource) => resource === "Timeout").length

/** A signal that is handed to every attempt, as a client's would be. */
const listening = (signal: AbortSignal) =>
  Effect.callback<never, string>((resume) => {
    const stop = () => resume(Effect.interrupt)
    signal.addEventListener("abort", stop)
    queueMicrotask(() => {
      signal.removeEventListener("abort", stop)
      resume(Effect.fail("busy"))
    })
    return Effect.sync(() => signal.removeEventListener("abort", stop))
  })

describe("F2: 10,000 runs under one signal", () => {
  it("that finish leave no listener, timer or fibre", async () => {
    const { signal } = new AbortController()
    const before = timers()
    const run = Retry.run(Effect.fail("busy"), Policy.immediate(1))
    // A signal looks through all that listen before it takes another one: so many at a time.
    for (let batch = 0; batch < 50; batch++) {
      const fibers = Array.from({ length: runs / 50 }, () => Effect.runFork(run, { signal }))
      // Effect listens once for each, as long as it runs.
      expect(getEventListeners(signal, "abort")).toHaveLength(runs / 50)
      await Effect.runPromise(Fiber.awaitAll(fibers))
      expect(fibers.every((fiber) => fiber.pollUnsafe() !== undefined)).toBe(true)
      expect(getEventListeners(signal, "abort")).toHaveLength(0)
    }
    expect(timers() - before).toBeLessThan(few)
  })

  it("that are interrupted in their sleep leave no timer, of the process neither", async () => {
    const before = timers()
    const fibers = Array.from({ length: runs }, () => Effect.runFork(Retry.run(Effect.fail("busy"), policy)))
    expect(timers() - before).toBeGreaterThan(runs - few)
    await Effect.runPromise(Fiber.interruptAll(fibers))
    expect(timers() - before).toBeLessThan(few)
    expect(fibers.every((fiber) => fiber.pollUnsafe() !== undefined)).toBe(true)
  })

  it("that are interrupted in an attempt leave no listener, timer or fibre", async () => {
    const { signal } = new AbortController()
    const before = timers()
    let running = 0
    const attempt = Effect.callback<never, string>(() => {
      running++
      const stop = (): void => undefined
      signal.addEventListener("abort", stop)
      return Effect.sync(() => {
        running--
        signal.removeEventListener("abort", stop)
      })
    })
    const count = runs / 10
    const fibers = Array.from(
      { length: count },
      () => Effect.runFork(Retry.run(attempt, policy, { attemptTimeout: "1 hour" }))
    )
    expect(running).toBe(count)
    await Effect.runPromise(Fiber.interruptAll(fibers))
    expect([running, getEventListeners(signal, "abort").length]).toEqual([0, 0])
    expect(timers() - before).toBeLessThan(few)
  })

  it("whose attempts each listen leave nothing behind between attempts", async () => {
    const { signal } = new AbortController()
    let most = 0
    await Effect.runPromise(
      listening(signal).pipe(
        Effect.tapError(() => Effect.sync(() => most = Math.max(most, getEventListeners(signal, "abort").length))),
        Retry.run(Policy.immediate(1000)),
        Effect.ignore
      )
    )
    expect(most).toBe(0)
    expect(getEventListeners(signal, "abort")).toHaveLength(0)
  })
})
