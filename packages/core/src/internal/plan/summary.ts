import type * as Plan from "../../Plan.ts"
import { spell } from "./duration.ts"

/** How many times as much, for people. */
export const times = (n: number): string => `${Number(n.toPrecision(3))}x`

const why = (end: Plan.Limited["end"]): string =>
  end === "Terminal"
    ? ": this failure is not worth one"
    : end === "RetryAfterTooLong"
    ? ": the failing system asks for a longer wait than the policy allows"
    : ""

const attempts = (plan: Plan.Plan): string => {
  switch (plan._tag) {
    case "Limited":
      return plan.attempts === 1 ? `1 attempt, no retry${why(plan.end)}` : `At most ${plan.attempts} attempts`
    case "TimeLimited":
      return "Any number of attempts, as chance has it, until time is up"
    case "Unlimited":
      return `No end: the first ${plan.delays.length} retries are shown`
  }
}

const longest = ({ delays }: Plan.Plan): string =>
  delays.length === 0 ? "" : `; longest wait ${spell(delays.reduce((most, { max }) => Math.max(most, max), 0))}`

const total = ({ max, mean, min, p50, p95, p99, precision }: Plan.Total): string =>
  min === max
    ? `Waits in all: ${spell(max)}`
    : `Waits in all: ${spell(min)} to ${spell(max)}, mean ${spell(mean)}, p50 ${spell(p50)}, p95 ${spell(p95)}, ` +
      `p99 ${spell(p99)}${precision === "simulated" ? " (simulated)" : ""}`

const worstCase = ({ attemptTimeout, worstCase }: Exclude<Plan.Plan, Plan.Unlimited>): string =>
  worstCase === undefined || attemptTimeout === undefined
    ? "Worst case: unknown, as an attempt has no timeout"
    : `Worst case: ${spell(worstCase)}, with attempts of up to ${spell(attemptTimeout)}`

const hints = ({ uncountedHint }: Plan.Plan): ReadonlyArray<string> =>
  uncountedHint === undefined ? [] : [`Not counted: hints, which are followed up to ${spell(uncountedHint)} each`]

/** What a plan comes to, in a few lines. */
export const summary = (plan: Plan.Plan): ReadonlyArray<string> => {
  const first = attempts(plan) + longest(plan)
  const rest = plan._tag === "Unlimited"
    ? ["Worst case: none, and no limit to the load while calls fail"]
    : [total(plan.total), worstCase(plan), `Load when every call fails: ${times(plan.amplification)}`]
  return [first, ...rest, ...hints(plan)]
}

/** So many of the delays that a chart can show them: evenly chosen, the last among them. */
export const chosen = (delays: ReadonlyArray<Plan.Delay>, most: number): ReadonlyArray<Plan.Delay> =>
  delays.length <= most
    ? delays
    : Array.from({ length: most }, (_, index) => delays[Math.round(index * (delays.length - 1) / (most - 1))]!)
