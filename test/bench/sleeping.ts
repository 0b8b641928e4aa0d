// Started by heap.ts, once for every sample: puts many failed operations to sleep and prints what their sleep holds.
// Usage: node --expose-gc sleeping.ts <who> <how many>
import { Policy, Retry } from "@reprise/core"
import { ConstantBackoff, handleAll, retry } from "cockatiel"
import { Data, Effect, Fiber, Schedule } from "effect"
import pRetry from "p-retry"

class Unavailable extends Data.TaggedError("Unavailable")<{}> {}

const error = new Unavailable()
let calls = 0

const operation: Effect.Effect<number, Unavailable> = Effect.suspend(() => {
  calls++
  return Effect.fail(error)
})

const call = async (): Promise<number> => {
  calls++
  throw error
}

const hour = 3_600_000
const policy = Policy.constant("1 hour").pipe(Policy.attempts(5))
const schedule = Schedule.spaced("1 hour").pipe(Schedule.upTo({ times: 4 }))
const cockatielPolicy = retry(handleAll, { maxAttempts: 4, backoff: new ConstantBackoff(hour) })
const pRetryOptions = { retries: 4, minTimeout: hour, factor: 1 }

const byHand = Effect.suspend(() =>
  Effect.catchCause(operation, () => Effect.flatMap(Effect.sleep("1 hour"), () => operation))
)

const countedSleep = Effect.suspend(() => {
  calls++
  return Effect.sleep("1 hour")
})

const effects: Record<string, Effect.Effect<unknown, unknown>> = {
  "run": Retry.run(operation, policy),
  "schedule": Effect.retry(operation, schedule),
  "times": Effect.retry(operation, { schedule: Schedule.spaced("1 hour"), times: 4 }),
  "policy": Effect.retry(operation, policy),
  "byHand": byHand,
  "sleep": countedSleep
}

const promises: Record<string, () => Promise<unknown>> = {
  "cockatiel": () => cockatielPolicy.execute(call),
  "p-retry": () => pRetry(call, pRetryOptions)
}

const heapUsed = async (): Promise<number> => {
  // Finalizers and queued turns may let go of more.
  for (let i = 0; i < 2; i++) {
    await new Promise((resolve) => setImmediate(resolve))
    globalThis.gc!()
  }
  return process.memoryUsage().heapUsed
}

const [who, many] = [process.argv[2]!, Number(process.argv[3])]

const until = async (fallenAsleep: number): Promise<void> => {
  while (calls < fallenAsleep) await new Promise((resolve) => setImmediate(resolve))
  // The last to fail needs a few more turns to reach its sleep.
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve))
}

// Both hold a place for each operation, made before anything is measured.
const held: Array<unknown> = Array.from({ length: many })

const fallAsleep = async (count: number): Promise<void> => {
  const before = calls
  const effect = effects[who]
  if (effect !== undefined) { for (let i = 0; i < count; i++) held[i] = Effect.runFork(effect) }
  else for (let i = 0; i < count; i++) held[i] = promises[who]!()
  await until(before + count)
  if (calls !== before + count) throw new Error(`${who}: ${calls - before} calls by ${count} operations`)
}

const wakeUp = async (count: number): Promise<void> => {
  await Effect.runPromise(Fiber.interruptAll(held.slice(0, count) as Array<Fiber.Fiber<unknown, unknown>>))
  held.fill(undefined)
}

const interruptible = who in effects
// What is made once, compiled code and lazily made tables, is no operation's own.
await fallAsleep(Math.min(many, 1_000))
if (interruptible) await wakeUp(Math.min(many, 1_000))
const before = await heapUsed()
await fallAsleep(many)
const during = await heapUsed()
let left: number | null = null
if (interruptible) {
  await wakeUp(many)
  left = await heapUsed() - before
}
process.stdout.write(JSON.stringify({ each: (during - before) / many, left }))
// Those that cannot be interrupted would keep the process for an hour.
process.exit()
