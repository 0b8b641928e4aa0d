/** Four ways through a script of failures, in virtual time: the oracle, the stepper, `Retry.run` and `Effect.retry`. */
import { Policy, Retry, RetryExhausted, Stepper } from "@reprise/core"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Random from "effect/Random"
import type * as Schedule from "effect/Schedule"
import { attemptTimeout, type Draws, epoch, exhaustedInside, predicates, type Script } from "./generators.ts"
import * as oracle from "./oracle.ts"

/** What a run did. */
export interface Trace {
  readonly attempts: number
  readonly waits: ReadonlyArray<number>
  readonly end: oracle.Reason | "Success"
}

// ---------------------------------------------------------------------------------------------------------------------
// Time and chance
// ---------------------------------------------------------------------------------------------------------------------

/** Time that stands still between `advance`s, in whole nanoseconds as Effect's clock counts them. */
class Time {
  nanos = 0n

  advance(millis: number): void {
    this.nanos += BigInt(Math.round(millis * 1e6))
  }

  get elapsed(): number {
    return Number(this.nanos) / 1e6
  }

  get now(): number {
    return epoch + Number(this.nanos / 1_000_000n)
  }
}

/** A wait as a `Duration` keeps it: to the nanosecond. */
export const asSlept = (wait: number): number => Duration.toMillis(Duration.millis(wait))

/** A clock whose sleeps end at once, and move time on. */
const clockOf = (time: Time, onSleep: (millis: number) => void): Clock.Clock => {
  const nanos = (): bigint => time.nanos
  return {
    currentTimeMillisUnsafe: () => time.now,
    currentTimeMillis: Effect.sync(() => time.now),
    currentTimeNanosUnsafe: () => BigInt(epoch) * 1_000_000n + time.nanos,
    currentTimeNanos: Effect.sync(() => BigInt(epoch) * 1_000_000n + time.nanos),
    monotonicTimeNanosUnsafe: nanos,
    monotonicTimeNanos: Effect.sync(nanos),
    sleep: (duration) =>
      Effect.sync(() => {
        const millis = Duration.toMillis(duration)
        time.advance(millis)
        onSleep(millis)
      })
  }
}

const randomOf = (draws: Draws): Random.Random => {
  let drawn = 0
  return { nextDoubleUnsafe: () => draws(drawn++), nextIntUnsafe: () => 0 }
}

/** A generator of our own, so that no release of Effect moves what a test expects (mulberry32). */
export const seeded = (seed: number): Random.Random => {
  let state = seed
  return randomOf(() => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  })
}

// ---------------------------------------------------------------------------------------------------------------------
// Deciders, driven by a loop of this file
// ---------------------------------------------------------------------------------------------------------------------

type Decide = (failure: oracle.Failure) => oracle.Decision

/** Reasons that are not the policy's own. */
const isOfSurroundings = (reason: string): reason is "Deadline" | "Budget" | "SwitchedOff" | "Unsafe" | "Collapsed" =>
  ["Deadline", "Budget", "SwitchedOff", "Unsafe", "Collapsed"].includes(reason)

const drive = (decide: Decide, script: Script): Trace => {
  const time = new Time()
  const waits: Array<number> = []
  for (const [index, { error, timedOut, took }] of script.entries()) {
    time.advance(took)
    const decision = decide({ error, timedOut, attempt: index + 1, elapsed: time.elapsed, now: time.now })
    if ("stop" in decision) return { attempts: index + 1, waits, end: decision.stop }
    waits.push(decision.wait)
    time.advance(asSlept(decision.wait))
  }
  return { attempts: script.length + 1, waits, end: "Success" }
}

/** As the rules have it. */
export const byOracle = (policy: Policy.Any, script: Script, draws: Draws): Trace => {
  const failures: Array<oracle.Failure> = []
  return drive((failure) => {
    failures.push(failure)
    return oracle.decide(policy.spec, predicates, failures, draws)
  }, script)
}

/** As the policy's stepper has it. */
export const byStepper = (policy: Policy.Any, script: Script, draws: Draws): Trace => {
  const stepper = Policy.stepper(policy)
  const state = stepper.start()
  const random = randomOf(draws)
  return drive((failure) => {
    const decision = stepper.step(state, failure, failure.error, random)
    if (decision >= 0) return { wait: decision }
    const reason = Stepper.reason(decision) ?? "Terminal"
    if (isOfSurroundings(reason)) throw new Error(`A stepper knows no ${reason}`)
    return { stop: reason }
  }, script)
}

// ---------------------------------------------------------------------------------------------------------------------
// Effects, driven by `Retry.run` and `Effect.retry`
// ---------------------------------------------------------------------------------------------------------------------

/** What a run of an effect did, in order. A wait of zero need not be a sleep, so it is not among them. */
export interface Run {
  readonly attempts: number
  /** When the attempts began, in milliseconds after the first. */
  readonly starts: ReadonlyArray<number>
  readonly sleeps: ReadonlyArray<number>
  readonly log: ReadonlyArray<"attempt" | "sleep">
  readonly exit: Exit.Exit<string, unknown>
}

type Operation = Effect.Effect<string, never>

const runWith = (
  driver: (operation: Operation) => Effect.Effect<string, unknown>,
  script: Script,
  random: Random.Random
): Run => {
  const time = new Time()
  const starts: Array<number> = []
  const sleeps: Array<number> = []
  const log: Array<"attempt" | "sleep"> = []
  let hanging = false
  const clock = clockOf(time, (millis) => {
    // The timeout of an attempt is a sleep beside it, not one between two.
    if (hanging) {
      hanging = false
      return
    }
    if (millis > 0) sleeps.push(millis)
    log.push("sleep")
  })
  const operation = Effect.suspend((): Effect.Effect<string, unknown> => {
    const failure = script[starts.length]
    starts.push(time.elapsed)
    log.push("attempt")
    if (failure === undefined) return Effect.succeed("done")
    if (failure.timedOut) {
      hanging = true
      return Effect.never
    }
    time.advance(failure.took)
    return Effect.fail(failure.error)
  })
  const exit = driver(operation as Operation).pipe( // A policy's type says what it reads; generated ones read anything.
    Effect.provideService(Clock.Clock, clock),
    Effect.provideService(Random.Random, random),
    Effect.runSyncExit
  )
  return { attempts: starts.length, starts, sleeps, log, exit }
}

/** The policy, said to be without an end where it has none. */
const declared = (policy: Policy.Any): Policy.Policy<never, unknown, never> => Policy.unlimited(policy)

/** Under `Retry.run`. */
export const runByRetry = (policy: Policy.Any, script: Script, draws: Draws): Run => {
  const options = script.some((_) => _.timedOut) ? { attemptTimeout } : undefined
  return runWith(
    (operation) =>
      options === undefined ? Retry.run(operation, declared(policy)) : Retry.run(operation, declared(policy), options),
    script,
    randomOf(draws)
  )
}

/** Under `Effect.retry`, for any schedule. */
export const runByEffect = (
  schedule: Schedule.Schedule<unknown, never>,
  script: Script,
  draws: Draws = () => 0
): Run => runWith((operation) => Effect.retry(operation, schedule), script, randomOf(draws))

/** Why a run under `Retry.run` ended. */
export const endOf = ({ exit }: Run): Trace["end"] | "Defect" => {
  if (Exit.isSuccess(exit)) return "Success"
  const error = Cause.findErrorOption(exit.cause)
  if (error._tag === "None") return "Defect"
  // One of a run inside is terminal, and leaves as it is.
  if (!RetryExhausted.is(error.value) || error.value === exhaustedInside) return "Terminal"
  const reason = error.value.reason._tag
  return isOfSurroundings(reason) ? "Defect" : reason
}
