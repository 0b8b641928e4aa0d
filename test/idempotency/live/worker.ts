// One of several processes at one store: `worker.ts JSON`. It says `ready`, starts at a line of input, and says what came
// of it, as lines of JSON.
import * as Idempotency from "@reprise/idempotency/Idempotency"
import * as IdempotencyStore from "@reprise/idempotency/IdempotencyStore"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as SqlClient from "effect/sql/SqlClient"
import { appendFileSync, writeSync } from "node:fs"
import { once as event } from "node:events"
import { layerOf, type Place } from "./stores.ts"

/** Where a call is when its process is killed. */
export type Point =
  | "before claim"
  | "claim sent"
  | "claimed"
  | "effect begun"
  | "effect done"
  | "before finish"
  | "finish sent"
  | "finished"
  | "commit sent"
  | "committed"
  | "renewal sent"
  | "retake sent"
  | "reconciling"

export interface Task {
  readonly place: Place
  /** Gets a line for each effect that was done. */
  readonly log: string
  readonly lease: number
  readonly callers?: { readonly count: number; readonly key: string; readonly skew: number }
  /** Calls that each go on to a point; when all are there, the process kills itself. */
  readonly killed?: {
    readonly calls: ReadonlyArray<{ readonly key: string; readonly point: Point }>
    readonly inTransaction: boolean
    /** Milliseconds from the last step to the end. */
    readonly delay: number
  }
  /** One call, which does nothing for so many milliseconds before its effect. */
  readonly frozen?: { readonly key: string; readonly millis: number; readonly isBlocking: boolean }
}

const task: Task = JSON.parse(process.argv[2]!)
const say = (line: object | string): void => void writeSync(1, `${JSON.stringify(line)}\n`)

const effect = (key: string): string => {
  appendFileSync(task.log, `${key}\n`)
  return `${key} by ${process.pid}`
}
const options = (key: string) =>
  ({ key, scope: "live", payload: { key }, success: Schema.String, lease: task.lease, wait: "1 minute" }) as const

const outcome = (exit: Exit.Exit<string, unknown>): string => {
  const error = Option.getOrUndefined(Exit.findErrorOption(exit))
  return Exit.isSuccess(exit) ? exit.value : String((error as { readonly _tag?: string } | undefined)?._tag ?? exit)
}

/** A clock whose wall is wrong by so much. */
const skewed = (clock: Clock.Clock, millis: number): Clock.Clock => ({
  currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe() + millis,
  currentTimeNanosUnsafe: () => clock.currentTimeNanosUnsafe() + BigInt(millis) * 1_000_000n,
  currentTimeMillis: Effect.sync(() => clock.currentTimeMillisUnsafe() + millis),
  currentTimeNanos: Effect.sync(() => clock.currentTimeNanosUnsafe() + BigInt(millis) * 1_000_000n),
  monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
  monotonicTimeNanos: clock.monotonicTimeNanos,
  sleep: (duration) => clock.sleep(duration)
})

const callers = ({ count, key, skew }: NonNullable<Task["callers"]>) =>
  Effect.gen(function* () {
    const operation = Effect.map(Effect.sleep(300), () => effect(key))
    const call = Effect.map(Effect.exit(Idempotency.once(options(key), operation)), outcome)
    const clock = yield* Clock.Clock
    const all = yield* Effect.replicateEffect(call, count, { concurrency: "unbounded" }).pipe(
      Effect.provideService(Clock.Clock, skewed(clock, skew))
    )
    say({ answers: [...new Set(all)], count: all.length })
  })

const kill = (): void => {
  process.kill(process.pid, "SIGKILL")
}

const late: ReadonlyArray<Point> = ["claim sent", "finish sent", "retake sent"]
const settling: ReadonlyArray<Point> = ["retake sent", "reconciling"]

const killed = ({ calls, delay, inTransaction }: NonNullable<Task["killed"]>) =>
  Effect.gen(function* () {
    const store = yield* IdempotencyStore.IdempotencyStore
    const sql = yield* SqlClient.SqlClient
    let there = 0
    const reached = Effect.andThen(Effect.sync(() => void there++), Effect.never)

    const run = ({ key, point }: (typeof calls)[number]) => {
      const at = (name: Point) => (name === point ? reached : Effect.void)
      const send = <A, E>(name: Point, question: Effect.Effect<A, E>) =>
        name === point ? Effect.andThen(Effect.forkDetach(question, { startImmediately: true }), reached) : question
      const watched: IdempotencyStore.IdempotencyStore = {
        ...store,
        claim: (request) =>
          at("before claim").pipe(
            Effect.andThen(send("claim sent", store.claim(request))),
            Effect.tap(at("claimed"))
          ),
        renew: (held, terms) => send("renewal sent", store.renew(held, terms)),
        retake: (request, fence) => send("retake sent", store.retake(request, fence)),
        finish: (held, ending) =>
          at("before finish").pipe(
            Effect.andThen(send("finish sent", store.finish(held, ending))),
            Effect.tap(at("finished"))
          )
      }
      const done = inTransaction
        ? Effect.as(sql`INSERT INTO effects VALUES (${key})`, `${key} by ${process.pid}`)
        : Effect.sync(() => effect(key))
      const lasts = point === "renewal sent" ? Effect.never : Effect.void
      const operation = at("effect begun").pipe(
        Effect.andThen(done),
        Effect.tap(at("effect done")),
        Effect.tap(lasts)
      )
      const reconcile = Effect.as(at("reconciling"), Idempotency.notApplied)
      const watchedCall = Idempotency.once({ ...options(key), reconcile }, operation).pipe(
        Effect.provideService(IdempotencyStore.IdempotencyStore, watched)
      )
      // There is something to settle only when somebody has left it in doubt.
      const doubted = Effect.exit(Idempotency.once(options(key), Effect.die("left")))
      const call = settling.includes(point) ? Effect.andThen(doubted, watchedCall) : watchedCall
      if (!inTransaction) return call
      // Who sends COMMIT does not wait to be killed: it is on its way by then, or done.
      const last = Effect.sync(() => void (point === "commit sent" && there++))
      return Effect.tap(sql.withTransaction(Effect.tap(call, last)), at("committed"))
    }
    const start = (some: typeof calls) =>
      Effect.gen(function* () {
        const goal = there + some.length
        // One that ended is where it can get.
        for (const call of some) {
          yield* Effect.forkDetach(Effect.onExit(run(call), () => Effect.sync(() => void there++)))
        }
        while (there < goal) yield* Effect.sleep(1)
      })
    yield* start(calls.filter(({ point }) => !late.includes(point)))
    yield* start(calls.filter(({ point }) => late.includes(point)))
    if (delay > 0) yield* Effect.sleep(delay)
    kill()
  })

const frozen = ({ isBlocking, key, millis }: NonNullable<Task["frozen"]>) =>
  Effect.gen(function* () {
    const operation = Effect.suspend(() => {
      say("running")
      if (!isBlocking) return Effect.map(Effect.sleep(millis), () => effect(key))
      // Nothing else of the process runs meanwhile, as in a long computation: the effect is done at the first moment.
      const end = performance.now() + millis
      while (performance.now() < end);
      return Effect.sync(() => effect(key))
    })
    say({ outcome: outcome(yield* Effect.exit(Idempotency.once(options(key), operation))) })
  })

const program = Effect.gen(function* () {
  // The store is open, and its tables are there.
  yield* IdempotencyStore.IdempotencyStore
  say("ready")
  yield* Effect.promise(() => event(process.stdin, "data"))
  if (task.callers !== undefined) yield* callers(task.callers)
  if (task.killed !== undefined) yield* killed(task.killed)
  if (task.frozen !== undefined) yield* frozen(task.frozen)
})

// What it says is for the test alone: a doubt in the log would be a line of it.
await Effect.runPromise(Effect.provide(program, Layer.merge(layerOf(task.place), Logger.layer([]))))
process.exit()
