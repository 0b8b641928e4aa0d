import { Plan, Policy } from "@reprise/core"
import { Result } from "effect"
import { spawnSync } from "node:child_process"
import { performance } from "node:perf_hooks"
import { fileURLToPath } from "node:url"
import type { Measurement } from "./Measurement.ts"
import { alone, atLeast, atMost } from "./Row.ts"

const main = fileURLToPath(new URL("../../packages/cli/src/main.ts", import.meta.url))

const notation = "exponential(500ms) | cap(30s) | jitter | attempts(5)"

const jittered = (attempts: number): Policy.Any => Policy.jittered(Policy.attempts(Policy.exponential(500), attempts))

const decorrelated = (attempts: number): Policy.Any =>
  Policy.attempts(Policy.decorrelated({ base: 100, cap: 10_000 }), attempts)

const hinted = (attempts: number): Policy.Any => Policy.honoringRetryAfter(jittered(attempts))

const twice = (attempts: number): Policy.Any =>
  Policy.constant(500).pipe(Policy.jittered, Policy.jittered, Policy.attempts(attempts))

/** Samples of something that takes a while, in nanoseconds each. */
const timed = (rounds: number, iterations: number, run: () => unknown): ReadonlyArray<number> => {
  for (let i = 0; i < iterations; i++) run()
  return Array.from({ length: rounds }, () => {
    const start = performance.now()
    for (let i = 0; i < iterations; i++) run()
    return (performance.now() - start) * 1e6 / iterations
  })
}

const planOf = (policy: Policy.Any, hint?: number) => (): Plan.Plan =>
  Result.getOrThrow(Plan.of(policy, { attemptTimeout: 1000, hint }))

const millis = (nanos: ReadonlyArray<number>): ReadonlyArray<number> => nanos.map((_) => _ / 1e6)

const command = (): void => {
  const { status } = spawnSync(process.execPath, [main, "plan", `${notation.replace("5)", "10)")}`])
  if (status !== 0) throw new Error(`reprise plan ended with ${status}`)
}

export const reading: Measurement = {
  title: "Policies that are read",
  async measure({ many }) {
    const rounds = many(15, 7)
    const parsed = timed(rounds, many(20_000, 5_000), () => Result.getOrThrow(Policy.parse(notation)))
    return [
      alone("Policy.parse, millions a second", "M/s", parsed.map((_) => 1e3 / _), atLeast(0.2, "ours")),
      ...[10, 1000].flatMap((attempts) => {
        const of = attempts === 10 ? ", 10 attempts" : ", 1,000 attempts"
        const plans = (what: string, policy: Policy.Any, hint?: number) =>
          alone(
            `Plan.of, ${what}${of}`,
            "ms",
            millis(timed(rounds, attempts === 10 ? 50 : 2, planOf(policy, hint))),
            atMost(attempts === 10 ? 2 : 50, "ours")
          )
        return [
          plans("jitter", jittered(attempts)),
          plans("decorrelated", decorrelated(attempts)),
          plans("hints and jitter", hinted(attempts), 1000),
          plans("jitter upon jitter", twice(attempts))
        ]
      }),
      alone("reprise plan, the whole process", "ms", millis(timed(many(7, 7), 1, command)), atMost(400, "ours"))
    ]
  }
}
