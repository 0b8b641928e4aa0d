import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import type { Measurement } from "./Measurement.ts"
import { alone, atMost, compare } from "./Row.ts"
import { net } from "./rounds.ts"

const script = fileURLToPath(new URL("sleeping.ts", import.meta.url))
const sleepers = ["run", "schedule", "times", "policy", "byHand", "sleep", "cockatiel", "p-retry"] as const

type Sleeper = typeof sleepers[number]

const run = promisify(execFile)

const sample = async (who: Sleeper, many: number): Promise<{ readonly each: number; readonly left: number | null }> =>
  JSON.parse((await run(process.execPath, ["--expose-gc", script, who, String(many)])).stdout)

const empty = <A>(): Record<Sleeper, Array<A>> =>
  Object.fromEntries(sleepers.map((who) => [who, [] as Array<A>])) as Record<Sleeper, Array<A>>

export const heap: Measurement = {
  title: "Heap of an operation that sleeps before its first retry",
  async measure({ many, quick }) {
    // Only the pair of the target is the promised 100,000: what one sleeper of the others holds shows with fewer.
    const manyOf = (who: Sleeper) => who === "run" || who === "schedule" ? many(100_000, 20_000) : many(20_000, 20_000)
    const rounds = many(7, 3)
    const each = empty<number>()
    const left = empty<number>()
    for (let round = 0; round < rounds; round++) {
      // A heap does not grow by the clock, so two of them may be filled at a time.
      for (let i = 0; i < sleepers.length; i += 2) {
        await Promise.all(
          sleepers.slice(i, i + 2).map(async (who) => {
            const sleepers = manyOf(who)
            const one = await sample(who, sleepers)
            each[who].push(one.each)
            if (one.left !== null) left[who].push(one.left / sleepers)
          })
        )
      }
    }
    return [
      compare("Retry.run ÷ Effect.retry, equal schedule", "bytes", each.run, each.schedule, atMost(0.75)),
      compare("Retry.run ÷ Effect.retry, schedule and times", "bytes", each.run, each.times),
      compare("Effect.retry with the policy ÷ equal schedule", "bytes", each.policy, each.schedule),
      compare("Retry.run ÷ catchCause and sleep by hand", "bytes", each.run, each.byHand),
      compare("Retry.run ÷ a fibre that only sleeps", "bytes", each.run, each.sleep),
      compare("Retry.run ÷ cockatiel", "bytes", each.run, each.cockatiel),
      compare("Retry.run ÷ p-retry", "bytes", each.run, each["p-retry"]),
      compare(
        "less the bare fibre: Retry.run ÷ equal schedule",
        "bytes",
        net(each.run, each.sleep),
        net(each.schedule, each.sleep)
      ),
      // Of few of them, what the engine itself keeps for a while is more than what each could leave.
      ...(quick ? [] : [alone("left by each after interruption", "bytes", left.run, atMost(1, "ours"))])
    ]
  }
}
