// Many callers with one key at a store that is slow, fails, and loses its answers, in virtual time: whatever happens, the
// effect is there once at most, and all who get an answer get the same.
import { describe, expect, it } from "@effect/vitest"
import { Transience } from "@reprise/core"
import { Idempotency, IdempotencyError } from "@reprise/idempotency"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as fc from "fast-check"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"
import { samples } from "../laws/forAll.ts"
import { faulty, order, type Store } from "./memory.ts"

const { StoreFailed } = IdempotencyError

const busy = Transience.annotate(new Error("busy"), { transience: "transient", applied: "no" })
const lost = Transience.annotate(new Error("lost"), { transience: "transient", applied: "maybe" })

interface Run {
  /** What the store does to its questions, one after the other. */
  readonly faults: ReadonlyArray<{
    readonly before: number
    readonly after: number
    readonly does: "answers" | "refuses" | "loses" | "repeats"
  }>
  readonly callers: ReadonlyArray<{
    readonly at: number
    readonly leaves: number | undefined
    readonly wait: number
    readonly takes: number
    readonly ends: "success" | "busy" | "lost" | "dies"
    readonly settles: boolean
  }>
}

// Short of the lease, about as long, and longer.
const millis = fc.constantFrom(0, 0, 0, 1, 100, 2_900, 3_100, 8_000, 8_200, 9_100, 20_000)
const fault: fc.Arbitrary<Run["faults"][number]> = fc.record({
  before: millis,
  after: millis,
  does: fc.constantFrom("answers", "answers", "refuses", "loses", "repeats")
})
const runs = samples(
  fc.record<Run>({
    // Few, so that somebody gets an answer; and many, so that each step meets one.
    faults: fc.oneof(fc.array(fault, { maxLength: 4 }), fc.array(fault, { maxLength: 24 })),
    callers: fc.array(
      fc.record({
        at: fc.constantFrom(0, 0, 1, 3_000, 9_000, 10_000, 15_000),
        leaves: fc.option(fc.constantFrom(0, 1, 50, 5_000), { nil: undefined, freq: 4 }),
        wait: fc.constantFrom(0, 1_000, 60_000),
        takes: fc.constantFrom(0, 10, 4_000, 9_500, 14_000, 14_000),
        ends: fc.constantFrom("success", "success", "success", "busy", "lost", "dies"),
        settles: fc.boolean()
      }),
      { minLength: 3, maxLength: 7 }
    )
  }),
  300
)

const storeOf = ({ faults }: Run): Layer.Layer<Store> => {
  let asked = 0
  const through = <A>(
    question: Effect.Effect<A, IdempotencyError.StoreFailed>
  ): Effect.Effect<A, IdempotencyError.StoreFailed> =>
    Effect.suspend(() => {
      const fault = faults[asked++]
      if (fault === undefined) return question
      const failed = Effect.fail(new StoreFailed({ operation: "read", cause: "gone" }))
      const answer = {
        answers: question,
        refuses: failed,
        loses: Effect.andThen(question, failed),
        repeats: Effect.andThen(question, question)
      }[fault.does]
      return Effect.uninterruptible(
        Effect.sleep(fault.before).pipe(Effect.andThen(answer), Effect.tap(Effect.sleep(fault.after)))
      )
    })
  return faulty((store) => ({
    claim: (request) => through(store.claim(request)),
    retake: (request, fence) => through(store.retake(request, fence)),
    renew: (held, terms) => through(store.renew(held, terms)),
    finish: (held, ending) => through(store.finish(held, ending)),
    read: (id) => through(store.read(id))
  }))
}

const play = (run: Run) =>
  Effect.gen(function* () {
    const applied: Array<string> = []
    const answers: Array<string> = []
    const call = (caller: Run["callers"][number], index: number) => {
      const apply = Effect.sync(() => {
        applied.push(`by ${index}`)
        return `by ${index}`
      })
      const ends = {
        success: apply,
        busy: Effect.fail(busy),
        lost: Effect.andThen(apply, Effect.fail(lost)),
        dies: Effect.andThen(apply, Effect.die("broken"))
      }[caller.ends]
      // The truth: what was begun before has ended, as its lease has.
      const reconcile = Effect.sync(() =>
        applied[0] === undefined ? Idempotency.notApplied : Idempotency.succeeded(applied[0])
      )
      const options = { ...order, lease: "9 seconds", wait: caller.wait } as const
      return Idempotency.once(
        { ...options, reconcile: caller.settles ? reconcile : undefined },
        Effect.delay(ends, caller.takes)
      ).pipe(
        Effect.onExit((exit) => Effect.sync(() => Exit.isSuccess(exit) && answers.push(exit.value))),
        Effect.exit,
        Effect.delay(caller.at)
      )
    }
    const ends = yield* Effect.forEach(run.callers, (caller, index) =>
      Effect.gen(function* () {
        const fiber = yield* Effect.forkChild(call(caller, index), { startImmediately: true })
        if (caller.leaves === undefined) return fiber
        const leaving = Effect.andThen(Effect.sleep(caller.at + caller.leaves), Fiber.interrupt(fiber))
        return yield* Effect.forkChild(leaving)
      }))
    yield* TestClock.adjust("30 minutes")
    for (const end of ends) yield* Fiber.await<unknown, unknown>(end)
    return { applied, answers }
  }).pipe(Effect.provide(Layer.provideMerge(storeOf(run), TestClock.layer())))

/** Plays all, and counts those that came to something: what is shown of few is shown of little. */
const played = (each: ReadonlyArray<Run>) =>
  Effect.map(
    Effect.forEach(each, (run) =>
      Effect.map(play(run), ({ answers, applied }) => {
        const isAtMostOnce = applied.length <= 1
        const isOneAnswer = new Set(answers).size <= 1
        // Nobody is told of what did not happen.
        const isTrue = answers.every((answer) => answer === applied[0])
        // With the run, so that a failure shows it.
        expect({ run, isAtMostOnce, isOneAnswer, isTrue })
          .toEqual({ run, isAtMostOnce: true, isOneAnswer: true, isTrue: true })
        return { answers: answers.length, applied: applied.length }
      })),
    (all) => ({
      answered: all.filter(({ answers }) => answers > 0).length,
      shared: all.filter(({ answers }) => answers > 1).length,
      applied: all.filter(({ applied }) => applied > 0).length
    })
  )

describe("whatever callers and the store do", () => {
  it.effect("the effect is there once at most, and all who get an answer get the same", () =>
    Effect.map(played(runs), (counts) => {
      expect(counts.answered).toBeGreaterThan(60)
      expect(counts.shared).toBeGreaterThan(25)
      expect(counts.applied).toBeGreaterThan(80)
    }))

  it.effect("the same where the store is well, and then they get on", () =>
    Effect.map(played(runs.map(({ callers }) => ({ callers, faults: [] }))), (counts) => {
      expect(counts.answered).toBeGreaterThan(110)
      expect(counts.shared).toBeGreaterThan(70)
      expect(counts.applied).toBeGreaterThan(150)
    }))

  it.effect("where the store is well, nobody leaves and nothing may be lost, all get their answer", () =>
    Effect.forEach(runs.slice(0, 150), ({ callers }) => {
      const patient = callers.map((caller) => ({
        ...caller,
        leaves: undefined,
        wait: 600_000,
        ends: caller.ends === "success" ? caller.ends : "busy"
      } as const))
      const successes = patient.filter(({ ends }) => ends === "success").length
      const run = { callers: patient, faults: [] }
      return Effect.map(play(run), ({ answers, applied }) => {
        const isAnswered = answers.length >= successes
        expect({ run, applied: applied.length, isAnswered, others: answers.filter((answer) => answer !== applied[0]) })
          .toEqual({ run, applied: Math.min(1, successes), isAnswered: true, others: [] })
      })
    }, { discard: true }))
})
