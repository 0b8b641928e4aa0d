import { describe, expect, expectTypeOf, it } from "@effect/vitest"
import * as Policy from "@reprise/core/Policy"
import * as Retry from "@reprise/core/Retry"
import * as RetryEvents from "@reprise/core/RetryEvents"
import * as RetryLog from "@reprise/core/RetryLog"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as PubSub from "effect/PubSub"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import * as events from "../observability/events.ts"
import { present, tell, tellAll } from "../observability/observing.ts"

/** An observer that writes down the operations of its events. */
const named = (name: string, seen: Array<string> = []) =>
  RetryEvents.observer({ event: (event) => void seen.push(`${name}:${event.operation}`) })

describe("RetryEvents.layer", () => {
  const countWith = (...layers: [Layer.Layer<never>, ...Array<Layer.Layer<never>>]) =>
    Effect.map(present, (_) => _.length).pipe(Effect.provide(Layer.mergeAll(...layers)))
  const one = () => RetryEvents.layer([named("a")])

  it.effect("adds observers, and effects of them, which it runs with its scope", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const scoped = Effect.acquireRelease(
        Effect.sync(() => named("a", log)),
        () => Effect.sync(() => log.push("released"))
      )
      yield* tellAll(events.succeeded("charge")).pipe(Effect.provide(RetryEvents.layer([scoped, named("b", log)])))
      expect(log).toEqual(["a:charge", "b:charge", "released"])
    }))

  it.effect("adds to the layers around it", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const [a, b] = [RetryEvents.layer([named("a", seen)]), RetryEvents.layer([named("b", seen)])]
      const inner = Effect.provide(tellAll(events.succeeded("x")), a)
      yield* Effect.provide(inner, b)
      yield* tellAll(events.succeeded("y")).pipe(Effect.provide(Layer.provideMerge(a, b)))
      expect(seen).toEqual(["b:x", "a:x", "b:y", "a:y"])
    }))

  it.effect("adds to the layers beside it", () =>
    Effect.gen(function* () {
      expect(yield* countWith(one(), one(), one())).toBe(3)
      const layer = one()
      expect(yield* countWith(layer, layer)).toBe(1)
    }))

  it.effect("adds to the layers beside it when it is built later than they", () =>
    Effect.gen(function* () {
      const late = RetryEvents.layer([Effect.as(Effect.yieldNow, named("late"))])
      expect(yield* countWith(late, one())).toBe(2)
    }))

  it("fails with what the effects fail with, and needs what they need", () => {
    const failing = Effect.as(Effect.fail("no file" as const), named("a"))
    expectTypeOf(RetryEvents.layer([named("a"), failing, RetryLog.observer, RetryEvents.bus]))
      .toEqualTypeOf<Layer.Layer<never, "no file", RetryEvents.RetryEvents>>()
    expectTypeOf(RetryEvents.layer([])).toEqualTypeOf<Layer.Layer<never>>()
  })

  it.effect("is not seen outside of what it is provided to", () =>
    Effect.gen(function* () {
      const inner = (name: string) =>
        Effect.gen(function* () {
          yield* Effect.yieldNow
          const count = (yield* present).length
          yield* Effect.yieldNow
          return count
        }).pipe(Effect.provide(RetryEvents.layer([named(name)])))
      const counts = yield* Effect.all([inner("a"), inner("b"), inner("c")], { concurrency: 3 }).pipe(
        Effect.zip(Effect.map(present, (_) => _.length)),
        Effect.provide(one())
      )
      expect(counts).toEqual([[2, 2, 2], 1])
    }))

  it.effect("leaves nothing when its scope closes", () =>
    Effect.gen(function* () {
      const memoMap = yield* Layer.makeMemoMap
      const build = (layer: Layer.Layer<never>) =>
        Effect.scoped(Effect.flatMap(Effect.scope, (scope) =>
          Effect.flatMap(Layer.buildWithMemoMap(layer, memoMap, scope), (context) =>
            Effect.provideContext(
              Effect.map(present, (_) =>
                _.length),
              context
            ))))
      expect([yield* build(one()), yield* build(one())]).toEqual([1, 1])
    }))

  it.effect("replaces the present ones where it is told to", () =>
    Effect.gen(function* () {
      const replaced = (...observers: ReadonlyArray<RetryEvents.Observer>) =>
        Effect.map(present, (_) => _.length).pipe(
          Effect.provide(
            Layer.provideMerge(RetryEvents.layer(observers, { mergeWithExisting: false }), Layer.merge(one(), one()))
          )
        )
      expect(yield* replaced(named("c"))).toBe(1)
      expect(yield* replaced()).toBe(0)
    }))
})

describe("RetryEvents.observer", () => {
  const boom = () => {
    throw new TypeError("secret")
  }

  it.effect("does not let through what its functions throw, and logs the first of it without its message", () =>
    Effect.gen(function* () {
      const lines: Array<unknown> = []
      const logger = Logger.map(
        Logger.formatStructured,
        (line) => void lines.push([line.level, line.message, line.annotations])
      )
      const observer = RetryEvents.observer({
        started: boom,
        retried: boom,
        waiting: boom,
        wantsFirstSuccess: boom,
        event: boom
      })
      observer.started?.("charge")
      observer.retried?.("charge")
      observer.waiting?.("charge", 1)
      expect(observer.wantsFirstSuccess()).toBe(false)
      yield* tell(observer, events.succeeded("charge"), events.succeeded("charge")).pipe(
        Effect.provide(Logger.layer([logger]))
      )
      expect(lines).toEqual([[
        "WARN",
        "An observer of retries threw in its started; what it throws is ignored",
        { "error.type": "TypeError" }
      ]])
    }))

  it("takes the rejection of a promise for a throw", async () => {
    const lines: Array<unknown> = []
    const observer = RetryEvents.observer({ event: async () => boom() })
    const logged = tell(observer, events.succeeded("charge")).pipe(
      Effect.provide(Logger.layer([Logger.make(({ message }) => lines.push(message))]))
    )
    await Effect.runPromise(logged)
    await new Promise((resolve) => setImmediate(resolve))
    expect(lines).toEqual([])
    await Effect.runPromise(logged)
    expect(lines).toEqual([["An observer of retries threw in its event; what it throws is ignored"]])
  })

  it("asks for nothing that it was given no function for", () => {
    const { started, retried, waiting, wantsFirstSuccess } = RetryEvents.observer({})
    expect([started, retried, waiting, wantsFirstSuccess()]).toEqual([undefined, undefined, undefined, false])
  })
})

describe("RetryEvents.layerPubSub", () => {
  const wanted = Effect.map(present, (observers) => observers.some((_) => _.wantsFirstSuccess()))

  it.effect("publishes for those who subscribe, and asks for first successes only while there are any", () =>
    Effect.gen(function* () {
      const pubsub = yield* RetryEvents.RetryEvents
      expect(yield* wanted).toBe(false)
      yield* tellAll(events.succeeded("too early"))
      const seen = yield* Effect.scoped(Effect.gen(function* () {
        const subscription = yield* PubSub.subscribe(pubsub)
        expect(yield* wanted).toBe(true)
        yield* tellAll(events.scheduled("a"), events.exhausted("b"))
        return yield* PubSub.takeAll(subscription)
      }))
      expect(seen.map((event) => [event._tag, event.operation])).toEqual([["RetryScheduled", "a"], ["Exhausted", "b"]])
      expect(yield* wanted).toBe(false)
    }).pipe(Effect.provide(RetryEvents.layerPubSub())))

  it.effect("is a stream", () =>
    Effect.gen(function* () {
      const stream = Stream.fromPubSub(yield* RetryEvents.RetryEvents)
      const reader = yield* stream.pipe(
        Stream.take(2),
        Stream.map((_) => _.operation),
        Stream.runCollect,
        Effect.forkChild
      )
      while (!(yield* wanted)) yield* Effect.yieldNow
      yield* tellAll(events.succeeded("a"), events.succeeded("b"))
      expect(yield* Fiber.join(reader)).toEqual(["a", "b"])
    }).pipe(Effect.provide(RetryEvents.layerPubSub())))

  it.effect("drops the oldest events of a reader that is too far behind, and holds nobody up", () =>
    Effect.scoped(Effect.gen(function* () {
      const subscription = yield* PubSub.subscribe(yield* RetryEvents.RetryEvents)
      yield* tellAll(...["a", "b", "c", "d", "e"].map((name) => events.succeeded(name)))
      expect((yield* PubSub.takeAll(subscription)).map((_) => _.operation)).toEqual(["c", "d", "e"])
    })).pipe(Effect.provide(RetryEvents.layerPubSub({ capacity: 3 }))))

  it.effect("holds 1,024 events unless told otherwise", () =>
    Effect.gen(function* () {
      expect(PubSub.capacity(yield* RetryEvents.RetryEvents)).toBe(1024)
    }).pipe(Effect.provide(RetryEvents.layerPubSub())))

  it("refuses a capacity that is none", () => {
    for (const capacity of [0, 1.5, Number.NaN, Infinity]) {
      expect(() => RetryEvents.layerPubSub({ capacity })).toThrow("an integer of at least 1")
    }
  })

  it.effect("adds to the observers beside it", () =>
    Effect.gen(function* () {
      expect((yield* present).length).toBe(2)
    }).pipe(Effect.provide(Layer.merge(RetryEvents.layerPubSub(), RetryEvents.layer([named("a")])))))
})

describe("RetryEvents: what runs tell", () => {
  const policy = Policy.constant("1 second").pipe(Policy.attempts(3))
  const tags = (seen: ReadonlyArray<RetryEvents.RetryEvent>) => seen.map((_) => `${_.attempt} ${_._tag}`)

  /** What a subscriber is told of a run that is given so much time. */
  const toldOf = (run: Effect.Effect<unknown, unknown>, time: Duration.Input = "1 hour") =>
    Effect.gen(function* () {
      const subscription = yield* PubSub.subscribe(yield* RetryEvents.RetryEvents)
      const fiber = yield* Effect.forkChild(run)
      yield* TestClock.adjust(time)
      yield* Fiber.interrupt(fiber)
      return tags(yield* PubSub.takeAll(subscription))
    }).pipe(Effect.scoped, Effect.provide(RetryEvents.layerPubSub()))

  const failing = (times: number) => {
    let attempts = 0
    return Effect.suspend(() => ++attempts <= times ? Effect.fail("busy") : Effect.void)
  }

  it.effect("a run that succeeds at once, or later, or never", () =>
    Effect.gen(function* () {
      expect(yield* toldOf(Retry.run(failing(0), policy))).toEqual(["1 Succeeded"])
      expect(yield* toldOf(Retry.run(failing(1), policy))).toEqual([
        "1 AttemptFailed",
        "1 RetryScheduled",
        "2 Succeeded"
      ])
      expect(yield* toldOf(Retry.run(failing(9), policy))).toEqual([
        "1 AttemptFailed",
        "1 RetryScheduled",
        "2 AttemptFailed",
        "2 RetryScheduled",
        "3 AttemptFailed",
        "3 Exhausted"
      ])
    }))

  it.effect("a run that is interrupted in its wait", () =>
    Effect.gen(function* () {
      expect(yield* toldOf(Retry.run(failing(9), policy), "500 millis")).toEqual([
        "1 AttemptFailed",
        "1 RetryScheduled",
        "1 Interrupted"
      ])
    }))

  it.effect("an observer that throws changes nothing of a run", () =>
    Effect.gen(function* () {
      const boom = () => {
        throw new Error("boom")
      }
      const broken = RetryEvents.observer({
        started: boom,
        retried: boom,
        waiting: boom,
        wantsFirstSuccess: boom,
        event: boom
      })
      const run = Effect.as(failing(1), "done").pipe(Retry.run(Policy.immediate(1)))
      expect(yield* run.pipe(Effect.provide([RetryEvents.layer([broken]), Logger.layer([])]))).toBe("done")
    }))
})
