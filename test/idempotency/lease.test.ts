// The lease, in virtual time.
import { describe, expect, it } from "@effect/vitest"
import { Transience } from "@reprise/core"
import { Idempotency, IdempotencyError, IdempotencyStore } from "@reprise/idempotency"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { TestClock } from "effect/testing"
import { counted, faulty, layer, order, peek, type Store } from "./memory.ts"

const { once } = Idempotency
const { StoreFailed } = IdempotencyError

const lease = { ...order, lease: "9 seconds" } as const

/** An operation that does nothing for so long, and says when it was interrupted, in milliseconds of virtual time. */
const lasting = (millis: number) => {
  const interrupted: Array<number> = []
  const operation = Effect.onInterrupt(
    Effect.delay(Effect.succeed("done"), millis),
    () =>
      Effect.flatMap(
        Effect.clockWith((clock) => clock.currentTimeMillis),
        (at) => Effect.sync(() => void interrupted.push(at))
      )
  )
  return { operation, interrupted }
}

describe("a lease", () => {
  it.effect("is renewed for as long as the operation takes", () =>
    Effect.gen(function* () {
      const { interrupted, operation } = lasting(60_000)
      const first = yield* Effect.forkChild(once(lease, operation), { startImmediately: true })
      for (let second = 1; second < 60; second++) {
        yield* TestClock.adjust("1 second")
        const error = yield* Effect.flip(peek())
        expect(error).toMatchObject({ _tag: "InProgress" })
      }
      yield* TestClock.adjust("1 second")
      expect(yield* Fiber.join(first)).toBe("done")
      expect(interrupted).toEqual([])
    }).pipe(Effect.provide(layer())))

  it.effect("is renewed after a third of it, and again soon where the store fails", () => {
    const at: Array<number> = []
    const store = faulty((store) => ({
      renew: (held, terms) =>
        Effect.flatMap(Effect.clockWith((clock) => clock.currentTimeMillis), (now) => {
          at.push(now)
          return at.length < 3
            ? Effect.fail(new StoreFailed({ operation: "renew", cause: "gone" }))
            : store.renew(held, terms)
        })
    }))
    return Effect.gen(function* () {
      const first = yield* Effect.forkChild(once(lease, lasting(8_000).operation), { startImmediately: true })
      yield* TestClock.adjust("8 seconds")
      expect(yield* Fiber.join(first)).toBe("done")
      expect(at).toEqual([3_000, 3_450, 3_900, 6_900])
    }).pipe(Effect.provide(store))
  })

  const lost: ReadonlyArray<
    readonly [name: string, renew: Effect.Effect<boolean, IdempotencyError.StoreFailed>, number]
  > = [
    ["cannot be reached", Effect.fail(new StoreFailed({ operation: "renew", cause: "gone" })), 8_100],
    ["does not answer", Effect.uninterruptible(Effect.delay(Effect.succeed(true), "1 hour")), 8_100]
  ]
  it.effect.each(lost)(
    "that cannot be renewed, as the store %s, ends before its end",
    ([, renew, end]) =>
      Effect.gen(function* () {
        const { interrupted, operation } = lasting(60_000)
        const first = yield* Effect.forkChild(Effect.flip(once(lease, operation)), { startImmediately: true })
        yield* TestClock.adjust("1 minute")
        expect(interrupted).toEqual([end])
        expect(yield* Fiber.join(first)).toMatchObject({ _tag: "InDoubt", reason: "LeaseLost" })
        expect(yield* Effect.flip(peek())).toMatchObject({ _tag: "InDoubt", reason: "Abandoned" })
      }).pipe(Effect.provide(faulty(() => ({ renew: () => renew }))))
  )

  it.effect("is kept by a store that takes a third of it to answer", () =>
    Effect.gen(function* () {
      const { interrupted, operation } = lasting(60_000)
      const first = yield* Effect.forkChild(once(lease, operation), { startImmediately: true })
      yield* TestClock.adjust("1 minute")
      expect(yield* Fiber.join(first)).toBe("done")
      expect(interrupted).toEqual([])
    }).pipe(Effect.provide(faulty((store) => ({
      renew: (held, terms) => Effect.uninterruptible(Effect.delay(store.renew(held, terms), 3_000))
    })))))

  it.effect("counts from when its renewal was asked for, also where the answer comes late", () => {
    let asked = 0
    const store = faulty((store) => ({
      renew: (held, terms) =>
        asked++ === 0
          ? Effect.uninterruptible(Effect.tap(store.renew(held, terms), Effect.sleep(3_000)))
          : Effect.fail(new StoreFailed({ operation: "renew", cause: "gone" }))
    }))
    return Effect.gen(function* () {
      const { interrupted, operation } = lasting(60_000)
      const first = yield* Effect.forkChild(Effect.flip(once(lease, operation)), { startImmediately: true })
      yield* TestClock.adjust("1 minute")
      // Asked at 3 s, and answered at 6 s: it ends at 12 s, for all that the store knows.
      expect(interrupted).toEqual([11_100])
      expect(yield* Fiber.join(first)).toMatchObject({ _tag: "InDoubt", reason: "LeaseLost" })
    }).pipe(Effect.provide(store))
  })

  it.effect("holds for as long as the operation takes, also where outcomes are kept for less", () =>
    Effect.gen(function* () {
      const options = { ...lease, retention: 1 }
      const first = yield* Effect.forkChild(once(options, lasting(60_000).operation), { startImmediately: true })
      yield* TestClock.adjust(59_999)
      expect(yield* Effect.flip(peek())).toMatchObject({ _tag: "InProgress" })
      yield* TestClock.adjust(1)
      expect(yield* Fiber.join(first)).toBe("done")
      yield* TestClock.adjust(1)
      expect(yield* Effect.flip(peek())).toBe("ran")
    }).pipe(Effect.provide(layer())))

  it.effect("that is lost while the outside world is asked leaves the doubt, and says so", () =>
    Effect.gen(function* () {
      yield* Effect.exit(once(order, Effect.die("broken")))
      const { count, operation } = counted(() => Effect.succeed("again"))
      const asking = yield* Effect.forkChild(Effect.flip(once({ ...lease, reconcile: Effect.never }, operation)), {
        startImmediately: true
      })
      yield* TestClock.adjust("1 minute")
      expect(yield* Fiber.join(asking)).toMatchObject({ _tag: "InDoubt", reason: "LeaseLost" })
      expect(count()).toBe(0)
      expect(yield* Effect.flip(peek())).toMatchObject({ _tag: "InDoubt", reason: "Abandoned" })
    }).pipe(Effect.provide(faulty(() => ({
      renew: () => Effect.fail(new StoreFailed({ operation: "renew", cause: "gone" }))
    })))))

  it.effect("that another has ends the operation at once", () =>
    Effect.gen(function* () {
      const { interrupted, operation } = lasting(60_000)
      const first = yield* Effect.forkChild(Effect.flip(once(lease, operation)), { startImmediately: true })
      yield* TestClock.adjust("1 minute")
      expect(interrupted).toEqual([3_000])
      expect(yield* Fiber.join(first)).toMatchObject({ _tag: "InDoubt", reason: "Fenced" })
    }).pipe(Effect.provide(faulty(() => ({ renew: () => Effect.succeed(false) })))))
})

describe("a holder that died (it never renews, and never ends)", () => {
  const dead = faulty(() => ({ renew: () => Effect.never, finish: () => Effect.never }))
  const stuck = Effect.uninterruptible(Effect.never)

  it.effect("is in progress until its lease ends, and then in doubt", () =>
    Effect.gen(function* () {
      yield* Effect.forkDetach(once(lease, stuck), { startImmediately: true })
      yield* TestClock.adjust(8_999)
      expect(yield* Effect.flip(peek())).toMatchObject({ _tag: "InProgress" })
      yield* TestClock.adjust(1)
      expect(yield* Effect.flip(peek())).toMatchObject({ _tag: "InDoubt", reason: "Abandoned" })
    }).pipe(Effect.provide(dead)))

  it.effect("keeps who waits for it waiting until then, and not longer", () =>
    Effect.gen(function* () {
      yield* Effect.forkDetach(once(lease, stuck), { startImmediately: true })
      const waiting = yield* Effect.forkChild(Effect.flip(once({ ...order, wait: "1 hour" }, Effect.succeed("second"))))
      yield* TestClock.adjust(8_999)
      expect(waiting.pollUnsafe()).toBeUndefined()
      yield* TestClock.adjust(500)
      expect(yield* Fiber.join(waiting)).toMatchObject({ _tag: "InDoubt" })
    }).pipe(Effect.provide(dead)))
})

describe("a holder that comes too late", () => {
  /** The first one's renewals are believed to succeed, and its lease ends all the same: as after a pause. */
  const deaf = () => faulty(() => ({ renew: () => Effect.succeed(true) }))

  const late = (second: Effect.Effect<string, unknown>) =>
    Effect.gen(function* () {
      const first = yield* Effect.forkChild(Effect.exit(once(lease, lasting(20_000).operation)), {
        startImmediately: true
      })
      yield* TestClock.adjust("10 seconds")
      const other = yield* Effect.forkChild(Effect.exit(once({ ...lease, onAbandoned: "rerun" }, second)), {
        startImmediately: true
      })
      yield* TestClock.adjust("15 seconds")
      return { first: yield* Fiber.join(first), other: yield* Fiber.join(other) }
    })

  it.effect("gets the outcome of the one after it", () =>
    Effect.gen(function* () {
      const { first, other } = yield* late(Effect.succeed("second"))
      expect(other).toEqual(Exit.succeed("second"))
      expect(first).toEqual(Exit.succeed("second"))
      expect(yield* once(order, Effect.succeed("third"))).toBe("second")
    }).pipe(Effect.provide(deaf())))

  it.effect("does not get what came of another payload, whose key it was by then", () =>
    Effect.gen(function* () {
      const options = { ...lease, retention: 1 }
      const stuck = Effect.uninterruptible(lasting(20_000).operation)
      const first = yield* Effect.forkChild(Effect.flip(once(options, stuck)), { startImmediately: true })
      yield* TestClock.adjust("10 seconds")
      yield* Idempotency.sweep()
      expect(yield* once({ ...order, payload: { amount: 30 } }, Effect.succeed("another's"))).toBe("another's")
      yield* TestClock.adjust("10 seconds")
      expect(yield* Fiber.join(first)).toMatchObject({ _tag: "InDoubt", reason: "Fenced" })
    }).pipe(Effect.provide(deaf())))

  it.effect("is in doubt where that has none", () =>
    Effect.gen(function* () {
      const { first } = yield* late(Effect.die("broken"))
      expect(String(first)).toContain("InDoubt")
      expect(yield* Effect.flip(peek())).toMatchObject({ _tag: "InDoubt" })
    }).pipe(Effect.provide(deaf())))

  it.effect("records the true outcome where nobody came in between", () =>
    Effect.gen(function* () {
      const first = yield* Effect.forkChild(once(lease, lasting(20_000).operation), { startImmediately: true })
      yield* TestClock.adjust("10 seconds")
      expect(yield* Effect.flip(peek())).toMatchObject({ _tag: "InDoubt" })
      yield* TestClock.adjust("10 seconds")
      expect(yield* Fiber.join(first)).toBe("done")
      expect(yield* peek()).toBe("done")
    }).pipe(Effect.provide(deaf())))
})

describe("a claim that takes long", () => {
  const slow = (millis: number) =>
    faulty((store) => ({
      claim: (request) => Effect.uninterruptible(Effect.tap(store.claim(request), Effect.sleep(millis)))
    }))

  it.effect("and whose caller has left meanwhile runs nothing, and frees the key", () =>
    Effect.gen(function* () {
      const { count, operation } = counted(() => Effect.succeed("ran"))
      const first = yield* Effect.forkChild(once(lease, operation), { startImmediately: true })
      yield* TestClock.adjust(1)
      const leaving = yield* Effect.forkChild(Fiber.interrupt(first), { startImmediately: true })
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(leaving)
      expect(count()).toBe(0)
      const peeking = yield* Effect.forkChild(Effect.flip(peek()), { startImmediately: true })
      yield* TestClock.adjust("1 second")
      expect(yield* Fiber.join(peeking)).toBe("ran")
    }).pipe(Effect.provide(slow(100))))

  it.effect("runs nothing where its lease may have ended by then", () =>
    Effect.gen(function* () {
      const { count, operation } = counted(() => Effect.succeed("ran"))
      const first = yield* Effect.forkChild(Effect.flip(once(lease, operation)), { startImmediately: true })
      yield* TestClock.adjust("10 seconds")
      const error = yield* Fiber.join(first)
      expect(error).toMatchObject({ _tag: "StoreFailed", operation: "claim" })
      expect(Transience.classify(error)).toMatchObject({ transience: "transient", applied: "no" })
      expect(count()).toBe(0)
    }).pipe(Effect.provide(slow(8_100))))

  it.effect("runs nothing either where it takes a doubt over, which stays", () =>
    Effect.gen(function* () {
      yield* Effect.exit(once(order, Effect.die("broken")))
      const { count, operation } = counted(() => Effect.succeed("ran"))
      const options = { ...lease, onAbandoned: "rerun" } as const
      const second = yield* Effect.forkChild(Effect.flip(once(options, operation)), { startImmediately: true })
      yield* TestClock.adjust("10 seconds")
      expect(yield* Fiber.join(second)).toMatchObject({ _tag: "StoreFailed", operation: "claim" })
      expect(count()).toBe(0)
      expect(yield* Effect.flip(peek())).toMatchObject({ _tag: "InDoubt", reason: "Abandoned" })
    }).pipe(Effect.provide(faulty((store) => ({
      retake: (request, fence) => Effect.uninterruptible(Effect.tap(store.retake(request, fence), Effect.sleep(8_100)))
    })))))

  const inside = Effect.succeed(true)

  it.effect("in a transaction, as it waits for another, runs all the same: no lease is needed there", () =>
    Effect.gen(function* () {
      const first = yield* Effect.forkChild(once(lease, Effect.succeed("ran")), { startImmediately: true })
      yield* TestClock.adjust("10 seconds")
      expect(yield* Fiber.join(first)).toBe("ran")
    }).pipe(Effect.provide(faulty((store) => ({
      inTransaction: inside,
      claim: (request) => Effect.tap(store.claim(request), Effect.sleep(10_000))
    })))))

  it.effect.each<readonly [string, Parameters<typeof faulty>[0]]>([
    ["claimed", () => ({ inTransaction: inside, claim: () => Effect.never })],
    ["taken over", () => ({ inTransaction: inside, retake: () => Effect.never })]
  ])("in a transaction, as it waits for another, can be left: %s", ([, waits]) =>
    Effect.gen(function* () {
      const { count, operation } = counted(() => Effect.succeed("ran"))
      const found = { state: "doubt", fence: 1, holder: "another", left: 0, outcome: undefined } as const
      const store = yield* IdempotencyStore.IdempotencyStore
      const there: Store = {
        ...store,
        claim: ({ fingerprint }) => Effect.succeed({ ...found, fingerprint }),
        ...waits(store)
      }
      const first = yield* once({ ...order, onAbandoned: "rerun" }, operation).pipe(
        Effect.provideService(IdempotencyStore.IdempotencyStore, there),
        // Of nobody that would wait for its end.
        Effect.forkDetach({ startImmediately: true })
      )
      yield* TestClock.adjust(1)
      expect(first.pollUnsafe()).toBeUndefined()
      first.interruptUnsafe()
      yield* TestClock.adjust(1)
      expect(Exit.hasInterrupts(first.pollUnsafe() ?? Exit.succeed("waits on"))).toBe(true)
      expect(count()).toBe(0)
    }).pipe(Effect.provide(layer())))

  it.effect("counts from before it was asked, also where only its repetition was answered", () => {
    let asked = 0
    const store = faulty((store) => ({
      renew: () => Effect.fail(new StoreFailed({ operation: "renew", cause: "gone" })),
      claim: (request) =>
        Effect.andThen(store.claim(request), Effect.delay(store.claim(request), asked++ === 0 ? 5_000 : 0))
    }))
    return Effect.gen(function* () {
      const { interrupted, operation } = lasting(60_000)
      yield* Effect.forkChild(Effect.flip(once(lease, operation)), { startImmediately: true })
      yield* TestClock.adjust("1 minute")
      // The lease ends at 9 seconds.
      expect(interrupted[0]).toBeLessThanOrEqual(8_100)
    }).pipe(Effect.provide(store))
  })
})
