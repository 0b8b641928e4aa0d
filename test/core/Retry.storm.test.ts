// Thousands of runs at once: interrupted wherever they may be, told of in order, and switched off by an operator.
import { describe, expect, it } from "@effect/vitest"
import { Policy, Retry, RetryBudget, RetryControl, RetryEvents } from "@reprise/core"
import * as Clock from "effect/Clock"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import * as Scheduler from "effect/Scheduler"
import { TestClock } from "effect/testing"
import fc from "fast-check"
import { meterOf } from "./budget/meter.ts"
import { seeded } from "./Recording.ts"

class Busy extends Data.TaggedError("Busy")<{}> {}
class Declined extends Data.TaggedError("Declined")<{}> {}

const busy = Effect.fail(new Busy())

/** Draws of one storm. */
const dice = (seed: number) => {
  const random = seeded(seed)
  /** A whole number below `end`. */
  const below = (end: number): number => Math.floor(random.nextDoubleUnsafe() * end)
  return { below, oneOf: <A>(of: ReadonlyArray<A>): A => of[below(of.length)]! }
}

/** Everything that observers are told, by the name of the run. */
const watching = () => {
  const events = new Map<string, Array<string>>()
  const told = { started: 0, retried: 0, waiting: 0, leastWaiting: 0 }
  const observer = RetryEvents.observer({
    started: () => void told.started++,
    retried: () => void told.retried++,
    waiting: (_, change) => {
      told.waiting += change
      told.leastWaiting = Math.min(told.leastWaiting, told.waiting)
    },
    wantsFirstSuccess: () => true,
    event: ({ _tag, operation = "" }) => {
      const seen = events.get(operation)
      if (seen === undefined) events.set(operation, [_tag])
      else seen.push(_tag)
    }
  })
  return { events, told, layer: RetryEvents.layer([observer]) }
}

// ---------------------------------------------------------------------------------------------------------------------
// Interruption
// ---------------------------------------------------------------------------------------------------------------------

/** A budget that is asked over a wire: its answer takes a while, and what it gave is known when it comes. */
const remote = (budget: RetryBudget.RetryBudget, millis: () => number): RetryBudget.RetryBudget => {
  const meter = meterOf(budget)
  return {
    [RetryBudget.TypeId]: {
      at: () => ({
        ...meter,
        withdraw: (now: number, failure: Parameters<typeof meter.withdraw>[1]) =>
          Effect.andThen(Effect.sleep(millis()), Effect.sync(() => meter.withdraw(now, failure)))
      }),
      idle: () => false
    }
  }
}

interface Storm {
  readonly seed: number
  readonly runs: number
  readonly budget: RetryBudget.RetryBudget
  /** Whether `when` takes time, and may be where a run is interrupted. */
  readonly when: boolean
}

/** Runs that never succeed, each interrupted at a random time, and what came of them. */
const storm = ({ budget, runs, seed, when }: Storm) =>
  Effect.gen(function* () {
    const { below, oneOf } = dice(seed)
    const { events, layer, told } = watching()
    let retries = 0
    const pause = () => {
      const millis = below(300)
      return millis < 60 ? Effect.void : Effect.sleep(millis)
    }
    const run = (name: string) => {
      const policy = oneOf([
        Policy.constant(oneOf([1, 10, 200])),
        Policy.exponential("20 millis").pipe(Policy.jittered),
        Policy.delays([0, 50, 0, 400])
      ]).pipe(Policy.attempts(2 + below(6)))
      const operation = Effect.flatMap(Retry.Attempt, ({ number }) => {
        if (number > 1) retries++
        return below(8) === 0 ? Effect.never : Effect.andThen(pause(), busy)
      })
      return Retry.run(operation, policy, {
        name,
        budget,
        ...(when && below(2) === 0 ? { when: () => Effect.as(pause(), true) } : {}),
        ...(below(2) === 0 ? { onRetry: pause } : {}),
        ...(below(3) === 0 ? { attemptTimeout: "120 millis" } : {})
      })
    }
    const fibers = yield* Effect.forEach(Array.from({ length: runs }, (_, index) => `run ${index}`), (name) =>
      Effect.gen(function* () {
        const start = below(1000)
        const life = 1 + below(1200)
        yield* Effect.sleep(start)
        const fiber = yield* Effect.forkChild(Effect.provide(run(name), layer))
        yield* Effect.sleep(life)
        yield* Fiber.interrupt(fiber)
        return yield* Fiber.await(fiber)
      }).pipe(Effect.forkChild))
    yield* TestClock.adjust("5 seconds")
    const exits = yield* Effect.forEach(fibers, Fiber.join)
    const interrupted = exits.filter(Exit.hasInterrupts).length
    return { events, told, retries, interrupted }
  })

const quota = (capacity: number) => RetryBudget.quota({ capacity, retryCost: 1, timeoutCost: 1, perOperation: 1 })
const seeds = [1, 2, 3, 4]
const runs = 250

describe("R9: 1,000 runs interrupted at random", () => {
  it.effect.each(seeds)(
    "a quota has back what retries took that never started (seed %i)",
    (seed) =>
      Effect.gen(function* () {
        const budget = quota(5000)
        const { interrupted, retries } = yield* storm({ seed, runs, budget, when: true })
        expect(interrupted).toBeGreaterThan(runs / 4)
        expect(retries).toBeGreaterThan(runs / 4)
        expect(yield* RetryBudget.balance(budget)).toBe(5000 - retries)
      })
  )

  it.effect.each(seeds)("so has one that is asked over a wire (seed %i)", (seed) =>
    Effect.gen(function* () {
      const budget = quota(5000)
      const { below } = dice(seed + 100)
      const { retries } = yield* storm({ seed, runs, budget: remote(budget, () => below(100)), when: true })
      expect(retries).toBeGreaterThan(runs / 8)
      expect(yield* RetryBudget.balance(budget)).toBe(5000 - retries)
    }))

  it.effect.each(seeds)(
    "a budget that is short, and one that paces, have it back (seed %i)",
    (seed) =>
      Effect.gen(function* () {
        // Nothing is earned, and nothing leaves the window before the end.
        const paced = RetryBudget.ratio({ ratio: 0, minPerSecond: 20, window: "60 seconds", perOperation: 1 })
        const short = quota(150)
        const { retries } = yield* storm({ seed, runs, budget: RetryBudget.all([paced, short]), when: true })
        expect(retries).toBeGreaterThan(20)
        expect(yield* RetryBudget.balance(paced)).toBe(1200 - retries)
        expect(yield* RetryBudget.balance(short)).toBe(150 - retries)
      })
  )

  it.effect.each(seeds)(
    "no slot of a budget of concurrent retries stays taken (seed %i)",
    (seed) =>
      Effect.gen(function* () {
        const budget = RetryBudget.concurrent({ percent: 30, minimum: 10 })
        yield* storm({ seed, runs, budget, when: true })
        expect(yield* RetryBudget.balance(budget)).toBe(10)
      })
  )

  it.effect.each(seeds)(
    "nobody waits at the end, and nothing is told after the end (seed %i)",
    (seed) =>
      Effect.gen(function* () {
        const { events, told } = yield* storm({ seed, runs, budget: quota(300), when: true })
        expect([told.started, told.waiting, told.leastWaiting]).toEqual([runs, 0, 0])
        for (const seen of events.values()) {
          for (const end of ["Interrupted", "Exhausted"]) {
            const at = seen.indexOf(end)
            expect([end, seen.slice(at === -1 ? seen.length : at + 1)]).toEqual([end, []])
          }
        }
      })
  )

  it.effect.each(seeds)("each run has one end (seed %i)", (seed) =>
    Effect.gen(function* () {
      const { events, interrupted } = yield* storm({ seed, runs, budget: quota(300), when: false })
      const ends = [...events.values()].map((seen) => seen.at(-1))
      expect(ends.filter((end) => end === "Interrupted")).toHaveLength(interrupted)
      expect(ends.filter((end) => end === "Exhausted")).toHaveLength(runs - interrupted)
    }))
})

describe("R9: a run that lets others run just when it has taken from its budget", () => {
  /** So many operations at once, and then a failure: Effect lets other fibres run after every 2,048. */
  const long = (operations: number): Effect.Effect<never, Busy> => {
    let self: Effect.Effect<never, Busy> = busy
    for (let i = 0; i < operations; i++) self = Effect.flatMap(Effect.void, ((next) => () => next)(self))
    return self
  }
  const kept = (budget: () => RetryBudget.RetryBudget, operations: number) =>
    Effect.gen(function* () {
      const shared = budget()
      const fiber = yield* Effect.forkChild(
        Retry.run(long(operations), Policy.attempts(Policy.constant("1 hour"), 3), { budget: shared }),
        { startImmediately: true }
      )
      yield* Fiber.interrupt(fiber)
      return yield* RetryBudget.balance(shared)
    })

  // A fault that was: the budget was asked before the guard that gives back was in place.
  it.effect("and is interrupted then gives it back", () =>
    Effect.gen(function* () {
      const lost: Array<number> = []
      for (let operations = 990; operations < 1030; operations++) {
        if ((yield* kept(() => quota(5), operations)) !== 5) lost.push(operations)
      }
      expect(lost).toEqual([])
    }))

  // A fault that was: the retry had started for the budget, and who tells it of the end was not in place yet.
  it.effect(
    "and wherever it is interrupted, a budget of concurrent retries has its slots back",
    () =>
      Effect.gen(function* () {
        const lost: Array<string> = []
        for (let operations = 3; operations < 14; operations++) {
          for (let turns = 0; turns < 50; turns++) {
            const budget = RetryBudget.concurrent({ percent: 0, minimum: 5 })
            const operation = Effect.flatMap(Retry.Attempt, ({ number }) => number === 1 ? busy : Effect.never)
            const fiber = yield* Retry.run(operation, Policy.immediate(3), { budget }).pipe(
              Effect.provideService(Scheduler.MaxOpsBeforeYield, operations),
              Effect.forkChild
            )
            for (let turn = 0; turn < turns; turn++) yield* Effect.yieldNow
            yield* Fiber.interrupt(fiber)
            if ((yield* RetryBudget.balance(budget)) !== 5) lost.push(`${operations} operations, turn ${turns}`)
          }
        }
        expect(lost).toEqual([])
      })
  )
})

describe("R9: runs that are interrupted while they wait for the pace of their budget", () => {
  /** After how many milliseconds the retry of a run starts that came when so many had been interrupted. */
  const startsAfter = (interrupted: number) =>
    Effect.gen(function* () {
      const budget = RetryBudget.ratio({ ratio: 0, minPerSecond: 20, window: "60 seconds", perOperation: 1 })
      const fibers = yield* Effect.replicateEffect(
        Effect.forkChild(Retry.run(busy, Policy.immediate(1), { budget })),
        interrupted
      )
      yield* TestClock.adjust("10 millis")
      yield* Fiber.interruptAll(fibers)
      const cameAt = yield* Clock.currentTimeMillis
      let startedAt = Infinity
      const operation = Effect.flatMap(Retry.Attempt, ({ number }) =>
        number === 1 ? busy : Effect.map(Clock.currentTimeMillis, (now) => {
          startedAt = now
        }))
      const fiber = yield* Effect.forkChild(Retry.run(operation, Policy.immediate(1), { budget }))
      yield* TestClock.adjust("20 seconds")
      yield* Fiber.join(fiber)
      return startedAt - cameAt
    })

  it.effect("hold nobody up: their turns are free again", () =>
    Effect.gen(function* () {
      expect(yield* startsAfter(20)).toBe(0)
      for (const interrupted of [25, 50, 200, 500]) {
        expect([interrupted, (yield* startsAfter(interrupted)) <= 1100]).toEqual([interrupted, true])
      }
    }))
})

// ---------------------------------------------------------------------------------------------------------------------
// What is told
// ---------------------------------------------------------------------------------------------------------------------

type Outcome = "success" | "busy" | "declined" | "defect" | "interrupt" | "hang"

interface Script {
  /** What the attempts come to, one after the other; busy when there are no more. */
  readonly outcomes: ReadonlyArray<Outcome>
  readonly attempts: number
  /** Retries that the budget has. */
  readonly affordable: number
  /** When the run is interrupted. */
  readonly interruptedAt: number | undefined
}

const script: fc.Arbitrary<Script> = fc.record({
  outcomes: fc.array(
    fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom<Outcome>("busy", "hang") },
      { weight: 1, arbitrary: fc.constantFrom<Outcome>("success", "declined", "defect", "interrupt") }
    ),
    { maxLength: 6 }
  ),
  attempts: fc.integer({ min: 1, max: 6 }),
  affordable: fc.integer({ min: 0, max: 6 }),
  interruptedAt: fc.option(fc.integer({ min: 1, max: 4000 }), { nil: undefined })
})

const effects: Record<Outcome, Effect.Effect<void, Busy | Declined>> = {
  success: Effect.void,
  busy,
  declined: Effect.fail(new Declined()),
  defect: Effect.die("broken"),
  interrupt: Effect.interrupt,
  hang: Effect.never
}

/** A script that is run, with what was told of it on both ways. */
const tell = ({ affordable, attempts, interruptedAt, outcomes }: Script) =>
  Effect.gen(function* () {
    const toOption: Array<RetryEvents.RetryEvent> = []
    const toObserver: Array<RetryEvents.RetryEvent> = []
    let started = 0
    const operation = Effect.suspend(() => effects[outcomes[started++] ?? "busy"])
    const policy = Policy.constant("400 millis").pipe(Policy.attempts(attempts), Policy.whileTag("Busy"))
    const fiber = yield* Retry.run(operation, policy, {
      attemptTimeout: "300 millis",
      budget: RetryBudget.make({ initial: affordable, ratio: 0, minPerSecond: 0, perOperation: 1 }),
      onEvent: (event) => Effect.sync(() => void toOption.push(event))
    }).pipe(
      Effect.provide(RetryEvents.layer([
        RetryEvents.observer({ wantsFirstSuccess: () => true, event: (event) => void toObserver.push(event) })
      ])),
      Effect.forkChild
    )
    if (interruptedAt !== undefined) {
      yield* TestClock.adjust(interruptedAt)
      yield* Fiber.interrupt(fiber)
    }
    yield* TestClock.adjust("1 minute")
    const exit = yield* Fiber.await(fiber)
    return { exit, started, toObserver, toOption }
  }).pipe(Effect.scoped, Effect.provide(TestClock.layer()))

const story = new RegExp(
  "^(AttemptFailed RetryScheduled )*" +
    "(Succeeded|Terminal|Interrupted|AttemptFailed (Terminal|Exhausted|BudgetDenied Exhausted)) $"
)

describe("the events of a run, whatever happens in it", () => {
  const always = (holds: (told: Effect.Success<ReturnType<typeof tell>>) => void) =>
    fc.assert(
      fc.asyncProperty(script, async (script) => {
        holds(await Effect.runPromise(tell(script)))
      }),
      { numRuns: 150 }
    )

  it("are failures that are retried, and then one end", () =>
    always(({ toObserver }) => expect(toObserver.map(({ _tag }) => `${_tag} `).join("")).toMatch(story)))

  it("are the same for an observer and for `onEvent`", () =>
    always(({ toObserver, toOption }) => expect(toOption).toEqual(toObserver)))

  it("count the attempts", () =>
    always(({ started, toObserver }) => {
      const failed = toObserver.flatMap(({ _tag, attempt }) => _tag === "AttemptFailed" ? [attempt] : [])
      const scheduled = toObserver.flatMap(({ _tag, attempt }) => _tag === "RetryScheduled" ? [attempt] : [])
      expect(failed).toEqual(failed.map((_, index) => index + 1))
      expect(scheduled).toEqual(scheduled.map((_, index) => index + 1))
      expect(toObserver.at(-1)!.attempt).toBe(started)
    }))

  it("never go back in time", () =>
    always(({ toObserver }) => {
      const times = toObserver.map(({ elapsed }) => Duration.toMillis(elapsed))
      expect(times).toEqual(times.toSorted((a, b) => a - b))
    }))

  it("end as the run does", () =>
    always(({ exit, toObserver }) => {
      const end = toObserver.at(-1)!._tag
      const expected = Exit.isSuccess(exit) ? "Succeeded" : Exit.hasInterrupts(exit) ? "Interrupted" : undefined
      expect(["Exhausted", "Terminal"].includes(end) ? undefined : end).toBe(expected)
    }))
})

describe("a run that ends in what its options run has one end too", () => {
  const endOf = (options: Retry.Options<Busy>, policy: Policy.Policy<Busy> = Policy.immediate(3)) =>
    Effect.gen(function* () {
      const { events, layer } = watching()
      const fiber = yield* Effect.forkChild(Effect.provide(Retry.run(busy, policy, { ...options, name: "run" }), layer))
      yield* TestClock.adjust("1 second")
      yield* Fiber.interrupt(fiber)
      return events.get("run")
    })

  it.effect("interrupted in `onRetry`", () =>
    Effect.gen(function* () {
      expect(yield* endOf({ onRetry: () => Effect.never })).toEqual(["AttemptFailed", "Interrupted"])
    }))

  it.effect("interrupted in `when`", () =>
    Effect.gen(function* () {
      expect(yield* endOf({ when: () => Effect.never })).toEqual(["AttemptFailed", "Interrupted"])
    }))

  it.effect("interrupted in `onEvent`", () =>
    Effect.gen(function* () {
      expect(yield* endOf({ onEvent: ({ _tag }) => _tag === "AttemptFailed" ? Effect.never : Effect.void })).toEqual([
        "AttemptFailed",
        "Interrupted"
      ])
    }))

  for (const option of ["when", "onRetry"] as const) {
    it.effect(`a defect of \`${option}\``, () =>
      Effect.gen(function* () {
        expect(yield* endOf({ [option]: () => Effect.die("broken") })).toEqual(["AttemptFailed", "Terminal"])
      }))
  }

  it.effect("a defect of a predicate", () =>
    Effect.gen(function* () {
      const broken = (): boolean => {
        throw new Error("broken")
      }
      expect(yield* endOf({}, Policy.immediate(3).pipe(Policy.whileInput(broken)))).toEqual([
        "AttemptFailed",
        "Terminal"
      ])
    }))

  it.effect("interrupted in its first attempt it is told only to observers that want runs without a failure", () =>
    Effect.gen(function* () {
      for (const wantsFirstSuccess of [true, false]) {
        const seen: Array<string> = []
        const observer = RetryEvents.observer({
          event: ({ _tag }) => void seen.push(_tag),
          wantsFirstSuccess: () => wantsFirstSuccess
        })
        const fiber = yield* Retry.run(Effect.never, Policy.immediate(3)).pipe(
          Effect.provide(RetryEvents.layer([observer])),
          Effect.forkChild({ startImmediately: true })
        )
        yield* Fiber.interrupt(fiber)
        expect(seen).toEqual(wantsFirstSuccess ? ["Interrupted"] : [])
      }
    }))
})

// ---------------------------------------------------------------------------------------------------------------------
// The switch
// ---------------------------------------------------------------------------------------------------------------------

/** Time that is moved by the millisecond, for tens of thousands of sleepers. */
const wheel = () => {
  const due = new Map<number, Set<() => void>>()
  let now = 0
  const nanos = (): bigint => BigInt(now) * 1_000_000n
  const clock: Clock.Clock = {
    currentTimeMillisUnsafe: () => now,
    currentTimeMillis: Effect.sync(() => now),
    currentTimeNanosUnsafe: nanos,
    currentTimeNanos: Effect.sync(nanos),
    monotonicTimeNanosUnsafe: nanos,
    monotonicTimeNanos: Effect.sync(nanos),
    sleep: (duration) =>
      Effect.callback<void>((resume) => {
        const at = now + Math.max(1, Math.ceil(Duration.toMillis(duration)))
        const wake = () => resume(Effect.void)
        let sleepers = due.get(at)
        if (sleepers === undefined) due.set(at, sleepers = new Set())
        sleepers.add(wake)
        return Effect.sync(() => sleepers.delete(wake))
      })
  }
  return {
    clock,
    now: () => now,
    tick: (): void => {
      now++
      for (const wake of due.get(now) ?? []) wake()
      due.delete(now)
    }
  }
}

/** 1,000 requests a second that all fail, for so many seconds; at the tenth a switch is set. */
const requests = (seconds: number, state: RetryControl.State) => {
  const { clock, now, tick } = wheel()
  const control = RetryControl.make()
  let waiting = 0
  const layer = RetryEvents.layer([RetryEvents.observer({ waiting: (_, change) => void (waiting += change) })])
  const originals = new Uint32Array(seconds)
  const retries = new Uint32Array(seconds)
  const operation = Effect.flatMap(Retry.Attempt, ({ number }) => {
    const second = Math.floor(now() / 1000)
    if (number === 1) originals[second]!++
    else retries[second]!++
    return busy
  })
  const policy = Policy.constant("2 seconds").pipe(Policy.attempts(2))
  let waitingThen = 0
  Effect.runSync(
    Effect.gen(function* () {
      const context = yield* Effect.context<never>()
      const run = Effect.runForkWith(context)
      const request = Effect.exit(Retry.run(operation, policy))
      while (now() < seconds * 1000 - 1) {
        // What wakes in the tenth second finds it set.
        if (now() === 9_999) {
          waitingThen = waiting
          yield* Effect.orDie(control.set(state))
        }
        run(request)
        tick()
      }
    }).pipe(
      Effect.provide([layer, RetryControl.layer(control), Logger.layer([])]),
      Effect.provideService(Clock.Clock, clock)
    )
  )
  return { originals: [...originals], retries: [...retries], waitingThen, waiting }
}

describe("a switch in a storm of 1,000 requests a second that all fail", () => {
  it("off: no retry starts any more, not of those that waited either, and requests go on", () => {
    const { originals, retries, waiting, waitingThen } = requests(13, { retries: "off" })
    expect(retries[9]).toBe(1000)
    expect(waitingThen).toBeGreaterThan(1990)
    expect(retries.slice(10)).toEqual([0, 0, 0])
    expect(originals.slice(10, 12)).toEqual([1000, 1000])
    expect(waiting).toBe(0)
  })

  it("a lower ratio: as soon as the runs that waited are through, retries are so much of the requests", () => {
    const { originals, retries } = requests(15, { ratio: 0.02 })
    expect(originals.slice(10, 14)).toEqual([1000, 1000, 1000, 1000])
    for (const started of retries.slice(12)) {
      expect(started).toBeLessThanOrEqual(1.25 * 0.02 * 1000)
      expect(started).toBeGreaterThan(0)
    }
  })

  // What was granted before the switch was set has taken nothing from it, and is not asked to.
  it("a lower ratio: at once, for the runs that wait too", () => {
    const { retries } = requests(13, { ratio: 0.02 })
    for (const started of retries.slice(10)) expect(started).toBeLessThanOrEqual(1.25 * 0.02 * 1000)
  })
})
