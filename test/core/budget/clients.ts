/** Clients of the metastable model. */
import type { RetryBudget } from "@reprise/core"
import { seeded } from "../Recording.ts"
import type { Client } from "./metastable.ts"
import { type Meter, meterOf, take } from "./meter.ts"

const nothing = (): void => {}
const now = (): number => 0

export const never: Client = { request: nothing, failed: () => undefined, start: now, succeeded: nothing }

/** At most three retries, each at once. */
export const fixed3: Client = {
  ...never,
  failed: (_, { retries }) => retries < 3 ? {} : undefined
}

/** `bucket10_0.1` of the fixture. */
export const bucket = (): Client => {
  let tokens = 10
  return {
    ...never,
    failed: () => tokens >= 1 ? (tokens--, {}) : undefined,
    succeeded: () => {
      tokens = Math.min(10, tokens + 0.1)
    }
  }
}

/** {@link fixed3} under a budget, with the ceiling that its first retry is told. */
const budgeted = (meter: Meter): Client => ({
  request: meter.request,
  failed: (now, request, timedOut) => {
    meter.failure?.(now)
    if (request.retries === 0) request.ceiling = Math.min(3, meter.ceiling(now))
    return request.retries < request.ceiling ? take(meter, now, { error: "busy", timedOut }) : undefined
  },
  start: meter.start,
  succeeded: (now) => meter.success?.(now, undefined)
})

/** So many processes, each with a budget of its own and a phase of its own. */
export const processes =
  (count: number, budget: () => RetryBudget.RetryBudget) => (seed: number): ReadonlyArray<Client> => {
    const random = seeded(seed)
    return Array.from({ length: count }, () => budgeted(meterOf(budget(), random.nextDoubleUnsafe())))
  }
