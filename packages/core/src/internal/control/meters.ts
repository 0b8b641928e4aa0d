import * as Context from "effect/Context"
import * as RetryBudget from "../../RetryBudget.ts"
import type { Meter } from "../budget/meter.ts"
import { meterOf } from "../budget/resolve.ts"

/** The meter of a lowered ratio: that share of the requests of the last 10 seconds, and nothing in reserve. */
export const lowered = (ratio: number): Meter =>
  // The same for everybody, and it draws nothing: no context is asked for either.
  meterOf(RetryBudget.ratio({ ratio, minPerSecond: 0 }), Context.empty())
