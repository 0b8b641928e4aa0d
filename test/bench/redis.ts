import * as NodeRedis from "@effect/platform-node/NodeRedis"
import * as Policy from "@reprise/core/Policy"
import * as Retry from "@reprise/core/Retry"
import * as RetryBudget from "@reprise/core/RetryBudget"
import * as RetryExhausted from "@reprise/core/RetryExhausted"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as Redis from "effect/persistence/Redis"
import * as Scope from "effect/Scope"
import { performance } from "node:perf_hooks"
import { hasRedis, startRedis } from "../redis/server.ts"
import type { Many, Measurement } from "./Measurement.ts"
import { alone, compare } from "./Row.ts"
import { type Side, takeTurns } from "./rounds.ts"
import { quantile } from "./statistics.ts"

// A run that is denied is a withdrawal and little else: the retries themselves are not measured.
const denying = { ratio: 0, minPerSecond: 0 }

/** Whether the budget was what denied it. */
const failing: Effect.Effect<boolean> = Retry.run(Effect.fail("down"), Policy.immediate(1)).pipe(
  Effect.match({
    onFailure: (error) => RetryExhausted.is(error) && error.reason._tag === "Budget",
    onSuccess: () => false
  })
)

const succeeding: Effect.Effect<boolean> = Retry.run(Effect.succeed(true), Policy.immediate(1))

const script = Redis.script((key: string) => [key], { numberOfKeys: 1, lua: "return 1" }).withReturnType<number>()

/** So many at a time, again and again. Says how many were as they should be. */
const concurrently = <E>(self: Effect.Effect<boolean, E>, concurrency: number): Side => async (iterations) => {
  let done = 0
  const counted = Effect.map(self, (isRight) => {
    if (isRight) done++
  })
  await Effect.runPromise(Effect.replicateEffect(counted, iterations, { concurrency, discard: true }))
  return done
}

/** Decisions that a process made by itself, as Redis did not answer. */
const fallbacks = Effect.map(Metric.snapshot, (metrics) => {
  const metric = metrics.find(({ id }) => id === "reprise.redis.fallback")
  return metric?.type === "Counter" ? Number(metric.state.count) : 0
})

const latencies = async (run: () => Promise<unknown>, count: number): Promise<ReadonlyArray<number>> => {
  const samples: Array<number> = []
  for (let i = 0; i < count; i++) {
    const start = performance.now()
    await run()
    samples.push(performance.now() - start)
  }
  return samples
}

/** With everything built, and a way to run what it is for. */
const prepared = async (scope: Scope.Scope, url: string) => {
  const build = <A, E>(layer: Layer.Layer<A, E>) => Effect.runPromise(Layer.buildWithScope(layer, scope))
  const client = await build(
    NodeRedis.layer({ url, disableOfflineQueue: true, socket: { reconnectStrategy: 500 } })
  )
  const shared = await build(
    RetryBudget.layerRedis({ name: "bench", timeout: "1 second", ...denying }).pipe(
      Layer.provide(Layer.succeedContext(client))
    )
  )
  const own = await build(RetryBudget.layer(RetryBudget.ratio(denying)))
  return {
    withdraw: Effect.provideContext(failing, shared),
    evaluate: Effect.map(Context.get(client, Redis.Redis).eval(script)("bench"), (answer) => answer === 1),
    shared: Effect.provideContext(succeeding, shared),
    own: Effect.provideContext(succeeding, own)
  }
}

const measured = async (scope: Scope.Scope, url: string, many: Many) => {
  const { evaluate, own, shared, withdraw } = await prepared(scope, url)
  const rounds = many(15, 7)
  const iterations = many(10_000, 2_000)
  const rates = await takeTurns({
    withdraw: concurrently(withdraw, 100),
    evaluate: concurrently(evaluate, 100)
  }, { rounds, iterations })
  const successes = await takeTurns({
    shared: concurrently(shared, 1),
    own: concurrently(own, 1)
  }, { rounds, iterations: iterations * 5 })
  const medians: Array<number> = []
  const slowest: Array<number> = []
  for (let round = 0; round < rounds; round++) {
    const samples = await latencies(() => Effect.runPromise(withdraw), iterations / 5)
    medians.push(quantile(samples, 0.5))
    slowest.push(quantile(samples, 0.99))
  }
  const alones = await Effect.runPromise(fallbacks)
  if (alones > 0) throw new Error(`${alones} decisions were made without Redis`)
  return [
    alone("a withdrawal, one at a time", "ms", medians),
    alone("a withdrawal, one at a time, 99th percentile", "ms", slowest),
    compare("a withdrawal ÷ a script that does nothing, 100 at a time", "ns", rates.withdraw, rates.evaluate),
    alone("withdrawals, 100 at a time, millions a second", "M/s", rates.withdraw.map((_) => 1e3 / _)),
    compare("a run that succeeds ÷ with a budget of its own", "ns", successes.shared, successes.own)
  ]
}

export const redis: Measurement = {
  title: "A budget in Redis, on the loopback",
  async measure({ many }) {
    if (!hasRedis) return []
    const server = await startRedis()
    const scope = Scope.makeUnsafe()
    try {
      return await measured(scope, server.url, many)
    } finally {
      await Effect.runPromise(Scope.close(scope, Exit.void))
      await server.stop()
    }
  }
}
