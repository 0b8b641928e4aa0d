// aws/aws-sdk-js-v3#4754: one call that used up its retries left a client without any, for good.
// A budget recovers, and one run cannot drain it alone.
import { describe, expect, it } from "@effect/vitest"
import { Policy, Retry, RetryBudget, RetryExhausted } from "@reprise/core"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import { draws, recordWith } from "../core/Recording.ts"
import * as VirtualClock from "../core/VirtualClock.ts"

const budgets = [
  ["make", () => RetryBudget.make({ initial: 20 })],
  ["ratio", () => RetryBudget.ratio()],
  ["throttle", () => RetryBudget.throttle({ maxTokens: 100 })],
  ["quota", () => RetryBudget.quota()],
  ["concurrent", () => RetryBudget.concurrent()]
] as const

const endless = Policy.constant("10 millis").pipe(Policy.attempts(1000))

const client = (budget: RetryBudget.RetryBudget) => {
  const clock = VirtualClock.instant()
  const random = draws(0)
  return {
    clock,
    /** A run whose first attempts fail, so many of them. */
    run: (failures: number) =>
      recordWith((n) => n <= failures ? Effect.fail("busy") : Effect.succeed(n), Retry.run(endless, { budget }), {
        clock,
        random
      }),
    left: () => Effect.runSync(RetryBudget.balance(budget).pipe(VirtualClock.provide(clock)))
  }
}

describe("F12: a run that fails for ever", () => {
  it.each(budgets.filter(([name]) => name === "make" || name === "ratio" || name === "quota"))(
    "leaves most of %s to the others, and says why it gave up",
    (_, budget) => {
      const { left, run } = client(budget())
      const before = left()
      const { exit } = run(Infinity)
      const error = Option.getOrUndefined(Exit.findErrorOption(exit))
      expect(RetryExhausted.is(error) && error.reason._tag).toBe("Budget")
      expect(left()).toBeGreaterThanOrEqual(before * 0.75)
      expect(run(1).attempts).toBe(2)
    }
  )

  it.each(budgets)("and others like it leave %s to come back", (_, budget) => {
    const { clock, run } = client(budget())
    for (let i = 0; i < 10; i++) run(Infinity)
    // A minute, in which what is called works again.
    for (let i = 0; i < 600; i++) {
      run(0)
      clock.now += 100
    }
    expect(run(1).attempts).toBe(2)
  })

  it.each([["make", () => RetryBudget.make()], ["ratio", () => RetryBudget.ratio()]])(
    "leaves %s to come back without any success, with time alone",
    (_, budget) => {
      const { clock, run } = client(budget())
      for (let i = 0; i < 300; i++) run(Infinity)
      clock.now += 20_000
      expect(run(1).attempts).toBe(2)
    }
  )
})
