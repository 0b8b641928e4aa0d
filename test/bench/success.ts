import { Retry } from "@reprise/core"
import { Effect, Schedule } from "effect"
import { again, anew } from "./inFibre.ts"
import type { Measurement } from "./Measurement.ts"
import { peers } from "./peers.ts"
import { policy, schedule } from "./policy.ts"
import { atMost, compare } from "./Row.ts"
import { type Side, takeTurns } from "./rounds.ts"

const operation: Effect.Effect<number, Error> = Effect.succeed(1)
const synchronous: Effect.Effect<number, Error> = Effect.sync(() => 1)
const recurs = Schedule.recurs(4)

const prebuilt = {
  bare: again(operation),
  run: again(Retry.run(operation, policy)),
  schedule: again(Effect.retry(operation, schedule)),
  recurs: again(Effect.retry(operation, recurs)),
  catchCause: again(Effect.suspend(() => Effect.catchCause(operation, () => operation))),
  bareSync: again(synchronous),
  runSync: again(Retry.run(synchronous, policy))
}

const built = {
  bare: anew(() => operation),
  run: anew(() => operation.pipe(Retry.run(policy))),
  schedule: anew(() => operation.pipe(Effect.retry(schedule)))
}

const call = async (): Promise<number> => 1
const callEffect = Effect.tryPromise(call)

const oneByOne = (run: () => Promise<number>): Side => async (iterations) => {
  let sum = 0
  for (let i = 0; i < iterations; i++) sum += await run()
  return sum
}

const promises = {
  run: oneByOne(() => Effect.runPromise(callEffect.pipe(Retry.run(policy)))),
  bare: oneByOne(() => Effect.runPromise(callEffect)),
  schedule: oneByOne(() => Effect.runPromise(callEffect.pipe(Effect.retry(schedule)))),
  "cockatiel": oneByOne(() => peers["cockatiel"](call)),
  "p-retry": oneByOne(() => peers["p-retry"](call)),
  "async-retry": oneByOne(() => peers["async-retry"](call)),
  "exponential-backoff": oneByOne(() => peers["exponential-backoff"](call)),
  "@smithy/util-retry": oneByOne(() => peers["@smithy/util-retry"](call)),
  "a loop by hand": oneByOne(() => peers["a loop by hand"](call))
}

const names = Object.keys(peers) as Array<keyof typeof peers>

export const success: Measurement = {
  title: "The operation succeeds at once",
  async measure({ many }) {
    const rounds = many(15, 7)
    const one = await takeTurns(prebuilt, { rounds, iterations: many(200_000, 50_000) })
    const two = await takeTurns(built, { rounds, iterations: many(200_000, 50_000) })
    const three = await takeTurns(promises, { rounds, iterations: many(40_000, 10_000) })
    return [
      compare("Retry.run ÷ bare effect", "ns", one.run, one.bare, atMost(3.5)),
      compare("Retry.run ÷ bare effect, an Effect.sync", "ns", one.runSync, one.bareSync),
      compare("Retry.run ÷ lazy catchCause", "ns", one.run, one.catchCause),
      compare("Retry.run ÷ Effect.retry, equal schedule", "ns", one.run, one.schedule),
      compare("lazy catchCause ÷ bare effect", "ns", one.catchCause, one.bare),
      compare("Effect.retry, equal schedule ÷ bare effect", "ns", one.schedule, one.bare),
      compare("Effect.retry, recurs ÷ bare effect", "ns", one.recurs, one.bare),
      compare("built each time: Retry.run ÷ bare effect", "ns", two.run, two.bare),
      compare("built each time: Retry.run ÷ Effect.retry", "ns", two.run, two.schedule),
      compare("runPromise: Retry.run ÷ bare effect", "ns", three.run, three.bare),
      compare("runPromise: Retry.run ÷ Effect.retry", "ns", three.run, three.schedule),
      ...names.map((name) => compare(`runPromise: Retry.run ÷ ${name}`, "ns", three.run, three[name]))
    ]
  }
}
