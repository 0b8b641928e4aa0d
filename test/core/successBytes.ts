// The main module of a worker: bytes are those of an engine that has run nothing else. In one that has run other tests
// the same code is compiled otherwise, and costs up to four times as much.
import { Policy, Retry } from "@reprise/core"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { getHeapStatistics } from "node:v8"
import { parentPort } from "node:worker_threads"
import * as VirtualClock from "./VirtualClock.ts"

/** Bytes that one run allocates. */
export interface Bytes {
  /** The least that a run can be: a lazy catch that knows its clock and start, around a context that tells of it. */
  readonly least: number
  readonly run: number
  /** The least, and beside it what the state of a run is, or less: made before there is a failure. */
  readonly eager: number
}

const operation = Effect.succeed(1)
const told = Context.make(Retry.Attempt, { number: 1, previous: undefined, elapsed: Duration.zero })
const inside = () => told

const effects: Record<keyof Bytes, Effect.Effect<unknown>> = {
  least: Effect.withFiber((fiber) => {
    const startedAt = fiber.getRef(Clock.Clock).monotonicTimeNanosUnsafe()
    return Effect.catchCause(
      Effect.updateContext(operation, inside),
      (cause) => startedAt === 0n ? Effect.failCause(cause) : Effect.die(startedAt)
    )
  }),
  run: Retry.run(operation, Policy.standard),
  eager: Effect.withFiber((fiber) => {
    const startedAt = fiber.getRef(Clock.Clock).monotonicTimeNanosUnsafe()
    const state = { fiber, startedAt, attempt: 1, elapsed: 0, waits: 0, waited: 0, history: [] }
    return Effect.catchCause(
      Effect.updateContext(operation, inside),
      (cause) => startedAt === 0n ? Effect.failCause(cause) : Effect.die(state)
    )
  })
}

const runs = 200

// Reading the time allocates; under this clock it does not.
const clock = VirtualClock.instant()
const now = clock.monotonicTimeNanosUnsafe()
const still: VirtualClock.VirtualClock = { ...clock, monotonicTimeNanosUnsafe: () => now }

const sides = Object.entries(effects).map(([name, effect]) => ({
  name,
  measured: [] as Array<number>,
  repeated: VirtualClock.provide(still)(Effect.gen(function* () {
    for (let i = 0; i < runs; i++) yield* effect
  }))
}))

// Turn by turn, so that what the compiler makes of the driver meanwhile is the same for all.
for (let warmUp = 0; warmUp < 300; warmUp++) for (const { repeated } of sides) Effect.runSync(repeated)
for (let round = 0; round < 300; round++) {
  for (const { measured, repeated } of sides) {
    const before = getHeapStatistics().used_heap_size
    Effect.runSync(repeated)
    const used = getHeapStatistics().used_heap_size - before
    if (used > 0) measured.push(used / runs)
  }
}

/** A low one that is not the lowest: the compiler, which allocates, makes some large, and a collection a few small. */
const typical = (measured: ReadonlyArray<number>): number =>
  measured.toSorted((a, b) => a - b)[Math.floor(measured.length / 10)]!

parentPort?.postMessage(Object.fromEntries(sides.map(({ measured, name }) => [name, typical(measured)])))
