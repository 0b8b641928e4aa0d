import type * as Plan from "../../Plan.ts"

const delay = ({ max, mean, min, retry, startEarliest, startLatest }: Plan.Delay): Plan.Json["delays"][number] => ({
  retry,
  min,
  mean,
  max,
  startEarliest,
  startLatest
})

const total = ({ max, mean, min, p50, p95, p99 }: Plan.Total): Plan.Json["total"] => ({ min, mean, max, p50, p95, p99 })

/** See `Plan.toJson`. */
export const toJson = (plan: Plan.Plan): Plan.Json => ({
  policy: plan.policy,
  description: plan.description,
  attempts: plan._tag === "Limited" ? plan.attempts : null,
  retries: plan._tag === "Limited" ? plan.retries : null,
  delays: plan.delays.map(delay),
  total: plan._tag === "Unlimited" ? null : total(plan.total),
  worstCase: plan._tag === "Unlimited" ? null : plan.worstCase ?? null,
  amplification: plan._tag === "Unlimited" ? null : plan.amplification,
  uncountedHint: plan.uncountedHint ?? null
})
