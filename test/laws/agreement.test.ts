import { describe, expect, it } from "@effect/vitest"
import { draws, policy, script, scriptWithTimeouts } from "./generators.ts"
import { forAll } from "./forAll.ts"
import { asSlept, byOracle, byStepper, endOf, runByEffect, runByRetry } from "./virtualTime.ts"

const slept = (waits: ReadonlyArray<number>) => waits.map(asSlept).filter((_) => _ > 0)

describe("every reader of a policy means what the rules say", () => {
  it("the stepper waits and stops as the oracle does", () => {
    forAll([policy, scriptWithTimeouts, draws], (policy, script, draws) => {
      expect(byStepper(policy, script, draws)).toEqual(byOracle(policy, script, draws))
    }, 1500)
  })

  it("Retry.run waits and stops as the oracle does", () => {
    forAll([policy, scriptWithTimeouts, draws], (policy, script, draws) => {
      const { attempts, end, waits } = byOracle(policy, script, draws)
      const run = runByRetry(policy, script, draws)
      expect([run.attempts, run.sleeps, endOf(run)]).toEqual([attempts, slept(waits), end])
    }, 600)
  })

  it("Effect.retry waits as the oracle does", () => {
    forAll([policy, script, draws], (policy, script, draws) => {
      const { attempts, waits } = byOracle(policy, script, draws)
      const run = runByEffect(policy, script, draws)
      expect([run.attempts, run.sleeps]).toEqual([attempts, slept(waits)])
    }, 600)
  })
})
