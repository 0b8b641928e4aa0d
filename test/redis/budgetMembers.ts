/** Processes that share a budget, played by layers in this one, each with a client of its own. */
import * as NodeRedis from "@effect/platform-node/NodeRedis"
import * as RetryBudget from "@reprise/core/RetryBudget"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Metric from "effect/Metric"
import * as Redis from "effect/persistence/Redis"
import * as Scope from "effect/Scope"
import { performance } from "node:perf_hooks"
import { setTimeout } from "node:timers/promises"
import { failure, meterIn, type Withdrawal } from "../core/budget/meter.ts"

/** What is done to a command on its way, and to its answer. */
export type Fault = <A>(command: Effect.Effect<A, Redis.RedisError>) => Effect.Effect<A, Redis.RedisError>

export interface Member {
  /** What runs inside have in their context. */
  readonly context: Context.Context<never>
  readonly requests: (count: number) => void
  /** Asks for a retry. */
  readonly take: () => Promise<Withdrawal | undefined>
  /** Asks for so many at once, and says how many were granted. */
  readonly takes: (count: number) => Promise<number>
  readonly refund: (withdrawal: Withdrawal) => void
  readonly start: (withdrawal: Withdrawal) => number
  readonly balance: () => number
  /** When commands were sent. */
  readonly sent: ReadonlyArray<number>
  readonly lines: ReadonlyArray<string>
  readonly warnings: () => ReadonlyArray<string>
  readonly fallbacks: () => number
  readonly send: Redis.Redis["Service"]["send"]
  readonly close: () => Promise<void>
}

export interface ClientOptions {
  readonly url: string
  readonly noticesFreezes?: boolean
}

const clientOf = ({ noticesFreezes = true, url }: ClientOptions) =>
  NodeRedis.layer({
    url,
    disableOfflineQueue: true,
    ...(noticesFreezes
      ? { pingInterval: 150, socket: { socketTimeout: 400, reconnectStrategy: 100 } }
      : { socket: { reconnectStrategy: 100 } })
  })

let names = 0

/** A name that no other budget has. */
export const newName = (): string => `test ${process.pid} ${performance.timeOrigin} ${++names}`

export const pause = (millis: number): Promise<void> => setTimeout(millis)

export const join = async (
  client: ClientOptions & { readonly before?: () => void; readonly fault?: Fault },
  options: RetryBudget.RedisOptions
): Promise<Member> => {
  const { before, fault = (command) => command } = client
  const scope = Scope.makeUnsafe()
  const lines: Array<string> = []
  const logger = Logger.layer([
    Logger.make(({ logLevel, message }) => void lines.push(`${logLevel} ${String(message)}`))
  ])
  const build = <A, E>(layer: Layer.Layer<A, E>) => Effect.runPromise(Layer.buildWithScope(layer, scope))
  const { eval: evaluate, ...rest } = Context.get(await build(Layer.provide(clientOf(client), logger)), Redis.Redis)
  const sent: Array<number> = []
  const watched = Redis.Redis.of({
    ...rest,
    eval: (script) => (...parameters) =>
      Effect.suspend(() => {
        sent.push(performance.now())
        return fault(evaluate(script)(...parameters))
      })
  })
  before?.()
  const context = await build(
    RetryBudget.layerRedis(options).pipe(
      Layer.provide(Layer.succeed(Redis.Redis, watched)),
      Layer.provideMerge(Layer.mergeAll(logger, Layer.succeed(Metric.MetricRegistry, new Map())))
    )
  )
  const meter = meterIn(Context.get(context, RetryBudget.Current)!, context)
  // The clock of Effect, which is the process's own, in milliseconds.
  const now = () => Number(process.hrtime.bigint()) / 1e6
  const take = async () => {
    const answer = meter.withdraw(now(), failure)
    if (!Effect.isEffect(answer)) return answer
    // What is an effect in the answer is this one.
    return Effect.runPromise(answer as Effect.Effect<Withdrawal | undefined>)
  }
  return {
    context,
    requests: (count) => {
      for (let i = 0; i < count; i++) meter.request(now())
    },
    take,
    takes: async (count) => {
      const answers = await Promise.all(Array.from({ length: count }, take))
      return answers.filter((answer) => answer !== undefined).length
    },
    refund: (withdrawal) => meter.refund(now(), withdrawal),
    start: (withdrawal) => meter.start(now(), withdrawal),
    balance: () => meter.balance(now()),
    sent,
    lines,
    warnings: () => lines.filter((line) => line.startsWith("Warn Redis does not answer")),
    fallbacks: () => {
      const found = Metric.snapshotUnsafe(context).find(({ id }) => id === "reprise.redis.fallback")
      return found?.type === "Counter" ? Number(found.state.count) : 0
    },
    send: rest.send,
    close: () => Effect.runPromise(Scope.close(scope, Exit.void))
  }
}
