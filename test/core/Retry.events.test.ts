import { describe, expect, it } from "@effect/vitest"
import { Policy, Retry, RetryBudget, type RetryEvents, Transience } from "@reprise/core"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import type * as Option from "effect/Option"
import { TestClock } from "effect/testing"
import * as Tracer from "effect/Tracer"
import { recordWith } from "./Recording.ts"

class Busy extends Data.TaggedError("Busy")<{}> {}

const busy = Effect.fail(new Busy())
const second = Policy.constant("1 second")

/** What is told of the runs of an effect, in short. */
const listen = () => {
  const events: Array<RetryEvents.RetryEvent> = []
  return {
    events,
    onEvent: (event: RetryEvents.RetryEvent) =>
      Effect.sync(() => {
        events.push(event)
      }),
    tags: () => events.map((_) => `${_._tag} ${_.attempt}`)
  }
}

describe("onEvent", () => {
  it("tells a success at the first attempt", () => {
    const { events, onEvent } = listen()
    Effect.runSync(Retry.run(Effect.void, second.pipe(Policy.attempts(3)), { name: "charge", onEvent }))
    expect(events).toMatchObject([{ _tag: "Succeeded", operation: "charge", attempt: 1 }])
  })

  it("tells failures, waits and the success, with times", () => {
    const { events, onEvent } = listen()
    recordWith((n) => n < 3 ? busy : Effect.void, Retry.run(second.pipe(Policy.attempts(3)), { onEvent }))
    expect(events.map((_) => [_._tag, _.attempt, Duration.toMillis(_.elapsed)])).toEqual([
      ["AttemptFailed", 1, 0],
      ["RetryScheduled", 1, 0],
      ["AttemptFailed", 2, 1000],
      ["RetryScheduled", 2, 1000],
      ["Succeeded", 3, 2000]
    ])
    expect(events[1]).toMatchObject({ error: new Busy(), delay: Duration.seconds(1), operation: undefined })
  })

  it("tells exhaustion with its error", () => {
    const { events, onEvent, tags } = listen()
    recordWith(() => busy, Retry.run(Policy.immediate(1), { onEvent }))
    expect(tags()).toEqual(["AttemptFailed 1", "RetryScheduled 1", "AttemptFailed 2", "Exhausted 2"])
    expect(events[3]).toMatchObject({ error: { _tag: "RetryExhausted", attempts: 2 } })
  })

  it("tells that the budget said no", () => {
    const { onEvent, tags } = listen()
    const budget = RetryBudget.ratio({ ratio: 0, minPerSecond: 0 })
    recordWith(() => busy, Retry.run(Policy.immediate(1), { onEvent, budget }))
    expect(tags()).toEqual(["AttemptFailed 1", "BudgetDenied 1", "Exhausted 1"])
  })

  it("tells a terminal error, and whether nothing classified it", () => {
    const policy = Policy.immediate(3).pipe(Policy.whileInput(Transience.isTransient))
    const unclassifiedOf = (error: unknown) => {
      const { events, onEvent } = listen()
      recordWith(() => Effect.fail(error), Retry.run(policy, { onEvent }))
      expect(events.map((_) => _._tag)).toEqual(["AttemptFailed", "Terminal"])
      return (events[1] as RetryEvents.Terminal).unclassified
    }
    expect(unclassifiedOf(new Busy())).toBe(true)
    expect(unclassifiedOf({ status: 404 })).toBe(false)
    expect(unclassifiedOf(Transience.annotate(new Busy(), "terminal"))).toBe(false)

    const { events, onEvent } = listen()
    recordWith(() => busy, Retry.run(Policy.immediate(3).pipe(Policy.whileTag("Other")), { onEvent }))
    expect(events[1]).toMatchObject({ _tag: "Terminal", unclassified: false })
  })

  it("a classifier of one's own is asked as well", () => {
    const own = Transience.make([Transience.whenTag("Busy", "transient")])
    const { events, onEvent } = listen()
    recordWith(
      () => Effect.fail({ _tag: "Odd" }),
      Retry.run(Policy.immediate(1).pipe(Policy.whileInput(own.isTransient)), { onEvent })
    )
    expect(events[1]).toMatchObject({ _tag: "Terminal", unclassified: true })
  })

  it("tells what `when` refused as terminal", () => {
    const { onEvent, tags } = listen()
    recordWith(() => busy, Retry.run(Policy.immediate(1), { onEvent, when: () => Effect.succeed(false) }))
    expect(tags()).toEqual(["AttemptFailed 1", "Terminal 1"])
  })

  it("tells a defect as terminal", () => {
    const { events, onEvent } = listen()
    recordWith(() => Effect.die("bug"), Retry.run(Policy.immediate(1), { onEvent }))
    expect(events).toMatchObject([{ _tag: "Terminal", error: "bug", attempt: 1 }])
  })

  it.effect("tells an interruption once, in an attempt and in a wait", () =>
    Effect.gen(function* () {
      const attempt = listen()
      const first = yield* Effect.forkChild(Retry.run(Effect.never, Policy.immediate(1), { onEvent: attempt.onEvent }))
      const retry = listen()
      const secondAttempt = Effect.flatMap(Retry.Attempt, ({ number }) => number === 1 ? busy : Effect.never)
      const second_ = yield* Effect.forkChild(
        Retry.run(secondAttempt, Policy.immediate(1), { onEvent: retry.onEvent })
      )
      const wait = listen()
      const third = yield* Effect.forkChild(
        Retry.run(busy, second.pipe(Policy.attempts(5)), { onEvent: wait.onEvent })
      )
      yield* TestClock.adjust("1500 millis")
      yield* Fiber.interruptAll([first, second_, third])
      expect(attempt.tags()).toEqual(["Interrupted 1"])
      expect(retry.tags()).toEqual(["AttemptFailed 1", "RetryScheduled 1", "Interrupted 2"])
      expect(wait.tags()).toEqual([
        "AttemptFailed 1",
        "RetryScheduled 1",
        "AttemptFailed 2",
        "RetryScheduled 2",
        "Interrupted 2"
      ])
    }))

  it.each([
    ["returns no effect", () => 1, "TypeError"],
    ["throws", () => {
      throw new RangeError("4111 1111")
    }, "RangeError"],
    ["dies", () => Effect.die("4111 1111"), "string"]
  ])("what goes wrong in it is logged, and is not the run's: it %s", (_, onEvent, kind) => {
    const logged: Array<string> = []
    const logger = Logger.make(({ message }) => void logged.push(String(message)))
    const result = Effect.runSync(
      Retry.run(Effect.succeed("charged"), Policy.immediate(1), { name: "charge", onEvent: onEvent as never }).pipe(
        Effect.provide(Logger.layer([logger]))
      )
    )
    expect(result).toBe("charged")
    expect(logged).toEqual([`The option "onEvent" of charge failed: ${kind}`])
  })
})

describe("attemptSpans", () => {
  const spansOf = (options: Retry.Options) => {
    const spans: Array<readonly [string, unknown]> = []
    const tracer = Tracer.make({
      span: (given) => {
        const span = new Tracer.NativeSpan(given)
        spans.push([given.name, span])
        return span
      }
    })
    recordWith(
      (n) => n < 3 ? busy : Effect.void,
      (self) => self.pipe(Retry.run(Policy.immediate(5), options), Effect.withTracer(tracer))
    )
    return spans.map(([name, span]) => [
      name,
      (span as Tracer.NativeSpan).attributes.get("reprise.attempt"),
      (span as Tracer.NativeSpan & { readonly parent: Option.Option<unknown> }).status._tag
    ])
  }

  it("are made on request only", () => {
    expect(spansOf({ name: "charge" })).toEqual([])
    expect(spansOf({ name: "charge", attemptSpans: true })).toEqual([
      ["charge", 1, "Ended"],
      ["charge", 2, "Ended"],
      ["charge", 3, "Ended"]
    ])
  })
})
