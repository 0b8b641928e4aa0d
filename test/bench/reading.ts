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

const decorrelated = Policy.attempts(Policy.decorrelated({ base: 100, cap: 10_000 }), 10)

const hinted = Policy.honoringRetryAfter(jittered(10))

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
  async measure({ quick }) {
    const rounds = quick ? 7 : 15
    const parsed = timed(rounds, quick ? 5_000 : 20_000, () => Result.getOrThrow(Policy.parse(notation)))
    return [
      alone("Policy.parse, millions a second", "M/s", parsed.map((_) => 1e3 / _), atLeast(0.2, "ours")),
      alone("Plan.of, 10 attempts", "ms", millis(timed(rounds, 50, planOf(jittered(10)))), atMost(2, "ours")),
      alone("Plan.of, decorrelated", "ms", millis(timed(rounds, 50, planOf(decorrelated))), atMost(2, "ours")),
      alone("Plan.of, hints and jitter", "ms", millis(timed(rounds, 50, planOf(hinted, 1000))), atMost(2, "ours")),
      alone("Plan.of, 1,000 attempts", "ms", millis(timed(rounds, 2, planOf(jittered(1000)))), atMost(50, "ours")),
      alone("reprise plan, the whole process", "ms", millis(timed(7, 1, command)), atMost(400, "ours"))
    ]
  }
}
