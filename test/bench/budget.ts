import { RetryBudget } from "@reprise/core"
import * as Context from "effect/Context"
import type { Measurement } from "./Measurement.ts"
import { alone, atMost } from "./Row.ts"
import { type Side, takeTurns } from "./rounds.ts"

interface Meter {
  readonly request: (now: number) => void
  readonly withdraw: (now: number, failure: { readonly error: unknown; readonly timedOut: boolean }) => unknown
  readonly start: (now: number, withdrawal: object) => number
  readonly settle?: (withdrawal: object) => void
  readonly failure?: (now: number) => void
  readonly success?: (now: number, last: object | undefined) => void
  readonly enter?: () => void
  readonly exit?: () => void
}

const meterOf = (budget: RetryBudget.RetryBudget): Meter =>
  // What lies under the key is the driver's, and this is a driver.
  (budget[RetryBudget.TypeId] as { readonly at: (context: Context.Context<never>) => Meter }).at(Context.empty())

const failure = { error: "busy", timedOut: false }

const isGranted = (answer: unknown): answer is object => typeof answer === "object" && answer !== null

// In all of them the clock has a thousand iterations in a second.

/** All that a run asks that needs no retry. */
const succeeds = (meter: Meter): Side => {
  let now = 0
  return (iterations) => {
    for (let i = 0; i < iterations; i++) {
      meter.request(now += 1)
      meter.enter?.()
      meter.exit?.()
      meter.success?.(now, undefined)
    }
    return iterations
  }
}

/** All that a run asks whose first attempt fails and whose retry succeeds. Says how many had their retry. */
const isRetried = (meter: Meter): Side => {
  let now = 0
  return (iterations) => {
    let retried = 0
    for (let i = 0; i < iterations; i++) {
      meter.request(now += 1)
      meter.enter?.()
      meter.exit?.()
      meter.failure?.(now)
      const withdrawal = meter.withdraw(now, failure)
      if (!isGranted(withdrawal) || meter.start(now, withdrawal) > 0) continue
      meter.enter?.()
      meter.exit?.()
      meter.settle?.(withdrawal)
      meter.success?.(now, withdrawal)
      retried++
    }
    return retried
  }
}

/** A failed attempt that asks for a retry, where nothing is left. Says how many were denied it. */
const isDenied = (meter: Meter): Side => {
  let now = 0
  const asks = (): boolean => {
    meter.failure?.(now += 1)
    const withdrawal = meter.withdraw(now, failure)
    if (!isGranted(withdrawal)) return false
    meter.start(now, withdrawal)
    return true
  }
  while (asks());
  return (iterations) => {
    let denied = 0
    for (let i = 0; i < iterations; i++) if (!asks()) denied++
    return denied
  }
}

/** Each with as much as is asked of it, and with a reserve that runs out. */
const kinds = {
  make: { rich: () => RetryBudget.make({ ratio: 2 }), poor: () => RetryBudget.make({ minPerSecond: 0 }) },
  ratio: { rich: () => RetryBudget.ratio({ ratio: 2 }), poor: () => RetryBudget.ratio({ minPerSecond: 0 }) },
  throttle: { rich: () => RetryBudget.throttle({ tokenRatio: 1 }), poor: () => RetryBudget.throttle() },
  quota: { rich: () => RetryBudget.quota(), poor: () => RetryBudget.quota() },
  concurrent: { rich: () => RetryBudget.concurrent(), poor: () => RetryBudget.concurrent() }
}

/** What is measured of each, and what it may take: 150 ns for a deposit, and as much for a check. */
const rows = {
  "a run that succeeds": { side: succeeds, of: "rich", most: 150 },
  "a retry that is denied": { side: isDenied, of: "poor", most: 150 },
  "a run with one retry, granted and settled": { side: isRetried, of: "rich", most: 300 }
} as const

export const budget: Measurement = {
  title: "A budget in the process, without a run",
  async measure({ many }) {
    const entries = Object.entries(kinds).flatMap(([kind, budgets]) =>
      Object.entries(rows).map(([what, { most, of, side }]) =>
        [`${kind}: ${what}`, { most, side: side(meterOf(budgets[of]())) }] as const
      )
    )
    const all = await takeTurns(
      Object.fromEntries(entries.map(([name, { side }]) => [name, side])),
      { rounds: many(15, 7), iterations: many(1_000_000, 200_000) }
    )
    return entries.map(([name, { most }]) => alone(name, "ns", all[name]!, atMost(most, "ours")))
  }
}
