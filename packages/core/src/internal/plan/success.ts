import type * as Plan from "../../Plan.ts"

/** See `Plan.success`. The probability that retry `n` runs at all is that of `n` failures, if there is time for it. */
export const successOf = (plan: Plan.Plan, failureRate: number): Plan.Success => {
  const attempts: Array<Plan.Success["attempts"][number]> = []
  let success = 0
  let executions = 0
  let failures = 1
  for (const reached of [1, ...plan.delays.map((_) => _.reached)]) {
    const runs = failures * reached
    executions += runs
    success += runs * (1 - failureRate)
    failures *= failureRate
    attempts.push({ attempt: attempts.length + 1, success, executions })
  }
  if (plan._tag !== "Unlimited") return { failureRate, attempts, success, executions }
  return failureRate === 1
    ? { failureRate, attempts, success: 0, executions: undefined }
    : { failureRate, attempts, success: 1, executions: 1 / (1 - failureRate) }
}
