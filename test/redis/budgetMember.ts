/**
 * One process of a fleet that shares a budget: makes so many requests at a rate, all of which fail, and says what came of
 * them. It is started by `budgetFleet.ts`, and told to go by a message.
 */
import * as NodeRedis from "@effect/platform-node/NodeRedis"
import * as Policy from "@reprise/core/Policy"
import * as Retry from "@reprise/core/Retry"
import * as RetryBudget from "@reprise/core/RetryBudget"
import * as RetryExhausted from "@reprise/core/RetryExhausted"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Metric from "effect/Metric"
import { once } from "node:events"
import { performance } from "node:perf_hooks"
import { setTimeout } from "node:timers/promises"

export interface Load {
  readonly url: string
  readonly name: string
  readonly requests: number
  /** Requests a second. */
  readonly rate: number
  readonly ratio: number
  readonly noticesFreezes: boolean
}

export interface Result {
  readonly requests: number
  /** Retries that the budget granted, and how many of them have started. */
  readonly granted: number
  readonly retries: number
  /** Runs that have not ended. */
  readonly waiting: number
  /** How long runs took that were denied their retry, in milliseconds: they wait for nothing but the answer. */
  readonly slowest: number
  readonly median: number
  /** Runs that did not end as exhausted. */
  readonly strange: number
  readonly warnings: ReadonlyArray<string>
  readonly fallbacks: number
}

const load: Load = JSON.parse(process.argv[2]!)

const client = NodeRedis.layer({
  url: load.url,
  disableOfflineQueue: true,
  ...(load.noticesFreezes
    ? { pingInterval: 150, socket: { socketTimeout: 400, reconnectStrategy: 100 } }
    : { socket: { reconnectStrategy: 100 } })
})

const warnings: Array<string> = []
const logger = Logger.layer([
  Logger.make(({ logLevel, message }) => {
    const text = String(message)
    if (logLevel === "Warn" && text.includes("the retry budget")) warnings.push(text)
  })
])

const budget = RetryBudget.layerRedis({
  name: load.name,
  ratio: load.ratio,
  minPerSecond: 0,
  perOperation: 1
}).pipe(Layer.provide(client), Layer.provideMerge(logger))

const program = Effect.gen(function* () {
  let executed = 0
  let granted = 0
  let ended = 0
  let strange = 0
  const denied: Array<number> = []
  const operation = Effect.suspend(() => {
    executed++
    return Effect.fail("down")
  })
  const retried = Retry.run(operation, Policy.immediate(2), { onRetry: () => Effect.sync(() => void granted++) })
  const request = Effect.suspend(() => {
    const start = performance.now()
    return Effect.flatMap(Effect.exit(retried), (exit) =>
      Effect.sync(() => {
        ended++
        const error = Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
        if (!(error instanceof RetryExhausted.RetryExhausted)) strange++
        else if (error.attempts === 1) denied.push(performance.now() - start)
      }))
  })
  process.send!("ready")
  yield* Effect.promise(() => once(process, "message"))
  const start = performance.now()
  let started = 0
  while (started < load.requests) {
    const due = Math.min(load.requests, Math.ceil((performance.now() - start) / 1000 * load.rate))
    for (; started < due; started++) yield* Effect.forkScoped(request)
    process.send!(started)
    yield* Effect.promise(() => setTimeout(5))
  }
  // The pace of the budget holds back the last ones, for many seconds where there are no more requests: what they have
  // been granted is what counts. Those that wait for an answer have it soon.
  yield* Effect.promise(() => setTimeout(500))
  denied.sort((a, b) => a - b)
  const metrics = yield* Metric.snapshot
  const fallbacks = metrics.find(({ id }) => id === "reprise.redis.fallback")
  const result: Result = {
    requests: started,
    granted,
    retries: executed - started,
    waiting: started - ended,
    slowest: denied.at(-1) ?? 0,
    median: denied[denied.length >> 1] ?? 0,
    strange,
    warnings,
    fallbacks: fallbacks?.type === "Counter" ? Number(fallbacks.state.count) : 0
  }
  process.send!(result)
})

await Effect.runPromise(program.pipe(Effect.scoped, Effect.provide(budget)))
process.disconnect()
