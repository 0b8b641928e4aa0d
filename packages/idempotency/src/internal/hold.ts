/** Runs an operation for as long as its lease is certain. */
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import type { Held, IdempotencyStore } from "../IdempotencyStore.ts"

/** Milliseconds on the monotonic clock. */
export const now = (clock: Clock.Clock): number => Number(clock.monotonicTimeNanosUnsafe()) / 1e6

// Of a lease: when it is renewed, how long after a failed renewal the next is tried, and when the operation is
// interrupted. What is left is for the interruption to reach what runs, and for clocks that do not run equally fast.
const renewed = 1 / 3
const again = 1 / 20
const given = 9 / 10

/** Until when a lease is certain that was asked for at a time. */
export const certainUntil = (askedAt: number, lease: number): number => askedAt + lease * given

export interface Terms {
  readonly lease: number
  readonly retention: number
}

/** Renews a lease, and ends when it is lost: `Fenced` by another, or no longer certain. */
const keep: (
  store: IdempotencyStore,
  clock: Clock.Clock,
  held: Held,
  terms: Terms,
  claimedAt: number
) => Effect.Effect<"LeaseLost" | "Fenced"> = Effect.fnUntraced(
  function* (store: IdempotencyStore, clock: Clock.Clock, held: Held, terms: Terms, claimedAt: number) {
    let since = claimedAt
    let next = since + terms.lease * renewed
    while (true) {
      const end = certainUntil(since, terms.lease)
      yield* Effect.sleep(Math.max(0, Math.min(next, end) - now(clock)))
      // Also after a pause of the whole process.
      const sentAt = now(clock)
      if (sentAt >= end) return "LeaseLost"
      // Nothing interrupts a question to the store, so it must not be waited for longer than there is time.
      const asking = yield* Effect.forkDetach(store.renew(held, terms), { startImmediately: true })
      const answer = yield* Effect.timeoutOption(Fiber.await(asking), end - sentAt)
      if (Option.isNone(answer)) return "LeaseLost"
      if (Exit.isFailure(answer.value)) {
        next = now(clock) + terms.lease * again
        continue
      }
      if (!answer.value.value) return "Fenced"
      since = sentAt
      next = since + terms.lease * renewed
    }
  }
)

/** Makes interruptible what was so where the call is. */
export type Restore = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

export interface Ended<A, E> {
  readonly exit: Exit.Exit<A, E>
  /** Why the operation was interrupted from here. */
  readonly lost: "LeaseLost" | "Fenced" | undefined
}

/** Keeps the lease of what runs until it has ended; its caller may leave meanwhile. */
const kept: <A, E>(
  running: Fiber.Fiber<A, E>,
  keeping: Effect.Effect<"LeaseLost" | "Fenced">,
  restore: Restore
) => Effect.Effect<Ended<A, E>> = Effect.fnUntraced(
  function* <A, E>(running: Fiber.Fiber<A, E>, keeping: Effect.Effect<"LeaseLost" | "Fenced">, restore: Restore) {
    let lost: "LeaseLost" | "Fenced" | undefined
    const interrupting = Effect.map(keeping, (why) => {
      lost = why
      running.interruptUnsafe()
    })
    const keeper = yield* Effect.forkChild(Effect.interruptible(interrupting))
    yield* Effect.exit(Effect.onInterrupt(restore(Fiber.await(running)), () => Fiber.interrupt(running)))
    const exit = yield* Fiber.await(running)
    yield* Fiber.interrupt(keeper)
    return { exit, lost }
  }
)

/**
 * Runs an operation in a fiber of its own, which is interrupted when the lease is lost, or the caller leaves. To be called
 * where nothing interrupts.
 */
export const hold = <A, E, R>(
  store: IdempotencyStore,
  clock: Clock.Clock,
  held: Held,
  terms: Terms,
  claimedAt: number,
  operation: Effect.Effect<A, E, R>,
  restore: Restore
): Effect.Effect<Ended<A, E>, never, R> =>
  Effect.flatMap(
    Effect.forkChild(Effect.interruptible(operation), { startImmediately: true }),
    (running) => {
      const atOnce = running.pollUnsafe()
      return atOnce === undefined
        ? kept(running, keep(store, clock, held, terms, claimedAt), restore)
        : Effect.succeed({ exit: atOnce, lost: undefined })
    }
  )
