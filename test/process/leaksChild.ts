// A program that makes 100,000 runs of each kind, for a test that asks what they leave. It needs --expose-gc.
import { Deadline, Policy, Retry, RetryBudget, RetryControl, RetryEvents, RetryLog, RetryMetrics } from "@reprise/core"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Metric from "effect/Metric"

/** What runs of one kind left. */
export interface Left {
  readonly kind: string
  readonly timers: number
  readonly fibers: number
  /** Runs that the observers think are waiting. */
  readonly waiting: number
  readonly heapBytes: number
  /** Slots of a budget of concurrent retries that stay taken. */
  readonly slots: number
}

const perKind = 100_000
const atOnce = 500

const collect = globalThis.gc
if (collect === undefined) throw new Error("Start it with --expose-gc")

let fibers = 0
let waiting = 0
const counting: Metric.FiberRuntimeMetricsService = {
  recordFiberStart: () => void fibers++,
  recordFiberEnd: () => void fibers--
}

const counted = Context.make(Metric.FiberRuntimeMetrics, counting)
const watching = Layer.mergeAll(
  RetryEvents.layer([
    RetryEvents.observer({
      event: () => {},
      wantsFirstSuccess: () => true,
      waiting: (_, change) => void (waiting += change)
    }),
    RetryLog.observer,
    RetryMetrics.observer
  ]),
  RetryEvents.layerPubSub(),
  RetryControl.layer(RetryControl.make()),
  Layer.succeedContext(counted),
  Logger.layer([])
)

const policy = Policy.immediate(2)
const sleeping = Policy.constant("1 hour").pipe(Policy.attempts(3))
const busy = Effect.fail("busy")
const failing = (times: number) =>
  Effect.flatMap(Retry.Attempt, ({ number }) => number <= times ? busy : Effect.succeed(number))

type Kind = "success" | "retried" | "exhausted" | "timed out" | "interrupted in a wait" | "interrupted in an attempt"
const kinds: Record<Kind, (options: Retry.Options<string>) => Effect.Effect<unknown, unknown>> = {
  "success": (options) => Retry.run(failing(0), policy, options),
  "retried": (options) => Retry.run(failing(1), policy, options),
  "exhausted": (options) => Retry.run(busy, policy, options),
  "timed out": (options) => Retry.run(Effect.never, policy, { ...options, attemptTimeout: "1 milli" }),
  "interrupted in a wait": (options) => Retry.run(busy, sleeping, options),
  "interrupted in an attempt": (options) => Retry.run(Effect.never, policy, { ...options, attemptTimeout: "1 hour" })
}

/** Capacities are such that nothing is denied; `concurrent` has back all that it gave. */
const concurrent = RetryBudget.concurrent({ percent: 0, minimum: 1_000_000, maxWaiting: 1_000_000 })
const budget = RetryBudget.all([
  concurrent,
  RetryBudget.quota({ capacity: 1e9, retryCost: 1, timeoutCost: 1, perOperation: 1, maxWaiting: 1_000_000 }),
  RetryBudget.keyed(
    () => RetryBudget.make({ initial: 1e9, minPerSecond: 1e7, perOperation: 1, maxWaiting: 1_000_000 }),
    () => "tenant"
  )
])

type Way = (kind: Kind) => Effect.Effect<unknown, unknown>
const ways: ReadonlyArray<Way> = [false, true].flatMap((paid) =>
  [false, true].flatMap((limited): ReadonlyArray<Way> => {
    const options: Retry.Options<string> = paid ? { name: "charge", budget, onRetry: () => Effect.void } : {}
    return [(kind) => limited ? Deadline.within(kinds[kind](options), "1 day") : kinds[kind](options)]
  })
)

/** So many runs, a few at a time, half of them watched. */
const make = Effect.fnUntraced(function* (kind: Kind, runs: number, watched: Context.Context<never>) {
  const plain = ways.map((way) => way(kind))
  const forks = [Effect.runForkWith(counted), Effect.runForkWith(watched)]
  for (let made = 0; made < runs; made += atOnce) {
    const forked = Array.from({ length: atOnce }, (_, index) => forks[index % 2]!(plain[(index >> 1) % plain.length]!))
    yield* Effect.yieldNow
    if (kind.startsWith("interrupted")) yield* Fiber.interruptAll(forked)
    else yield* Fiber.awaitAll(forked)
  }
})

const look = Effect.gen(function* () {
  collect()
  return {
    timers: process.getActiveResourcesInfo().filter((resource) => resource === "Timeout").length,
    fibers,
    waiting,
    heapBytes: process.memoryUsage().heapUsed,
    slots: -(yield* RetryBudget.balance(concurrent))
  }
})

const program = Effect.gen(function* () {
  const watched = yield* Layer.build(watching)
  for (const kind of Object.keys(kinds) as ReadonlyArray<Kind>) {
    yield* make(kind, perKind / 10, watched)
    const before = yield* look
    yield* make(kind, perKind, watched)
    const after = yield* look
    const left: Left = {
      kind,
      timers: after.timers - before.timers,
      fibers: after.fibers - before.fibers,
      waiting: after.waiting,
      heapBytes: after.heapBytes - before.heapBytes,
      slots: after.slots - before.slots
    }
    console.log(JSON.stringify(left))
  }
}).pipe(Effect.scoped, Effect.provide(Logger.layer([])))

await Effect.runPromise(program)
