import { RetryBudget } from "@reprise/core"
import * as Context from "effect/Context"
import type { Measurement } from "./Measurement.ts"
import { alone, atMost } from "./Row.ts"
import { type Side, takeTurns } from "./rounds.ts"

interface Meter {
  readonly request: (now: number) => void
  readonly withdraw: (now: number, failure: { readonly error: unknown; readonly timedOut: boolean }) => unknown
  readonly start: (now: number, withdrawal: object) => number
}

const meterOf = (budget: RetryBudget.RetryBudget): Meter =>
  // What lies under the key is the driver's, and this is a driver.
  (budget[RetryBudget.TypeId] as { readonly at: (context: Context.Context<never>) => Meter }).at(Context.empty())

const failure = { error: "busy", timedOut: false }

// A thousand a second, as its clock has it.
const deposits = (meter: Meter): Side => {
  let now = 0
  return (iterations) => {
    for (let i = 0; i < iterations; i++) meter.request(now += 1)
    return iterations
  }
}

/** Ten times as many as are granted; those that are start at once. */
const checks = (meter: Meter): Side => {
  let now = 0
  return (iterations) => {
    let asked = 0
    for (let i = 0; i < iterations; i++) {
      meter.request(now += 1)
      const withdrawal = meter.withdraw(now, failure)
      if (typeof withdrawal === "object" && withdrawal !== null) meter.start(now, withdrawal)
      asked++
    }
    return asked
  }
}

const kinds = {
  make: () => RetryBudget.make(),
  ratio: () => RetryBudget.ratio(),
  throttle: () => RetryBudget.throttle(),
  quota: () => RetryBudget.quota(),
  concurrent: () => RetryBudget.concurrent()
}

export const budget: Measurement = {
  title: "A budget in the process, without a run",
  async measure({ quick }) {
    const options = { rounds: quick ? 7 : 15, iterations: quick ? 200_000 : 1_000_000 }
    const names = Object.keys(kinds) as Array<keyof typeof kinds>
    const sides = Object.fromEntries(names.flatMap((name) => [
      [`${name}: a request`, deposits(meterOf(kinds[name]()))],
      [`${name}: a request, and a retry asked for`, checks(meterOf(kinds[name]()))]
    ]))
    const all = await takeTurns(sides, options)
    return Object.entries(all).map(([name, nanos]) =>
      alone(name, "ns", nanos, atMost(name.endsWith("asked for") ? 300 : 150, "ours"))
    )
  }
}
