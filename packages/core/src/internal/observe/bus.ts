import * as Effect from "effect/Effect"
import * as PubSub from "effect/PubSub"
import type * as Scope from "effect/Scope"
import type { Bus, RetryEvent } from "../../RetryEvents.ts"
import * as validate from "../validate.ts"
import type { Observer } from "./observer.ts"

/** Events that a reader may be behind, when nothing else is said. */
export const defaultCapacity = 1024

/** A sliding `PubSub` that knows how many subscriptions it has. */
export const make = (capacity: number): Effect.Effect<Bus, never, Scope.Scope> => {
  const size = validate.integer("RetryEvents.capacity", capacity, 1)
  return Effect.suspend(() => {
    let subscriptions = 0
    const atomic = PubSub.makeAtomicBounded<RetryEvent>(size)
    const subscribe = atomic.subscribe.bind(atomic)
    atomic.subscribe = () => {
      const subscription = subscribe()
      const unsubscribe = subscription.unsubscribe.bind(subscription)
      let subscribed = true
      subscriptions++
      subscription.unsubscribe = () => {
        if (subscribed) subscriptions--
        subscribed = false
        unsubscribe()
      }
      return subscription
    }
    const pubsub = PubSub.make<RetryEvent>({ atomicPubSub: () => atomic, strategy: () => new PubSub.SlidingStrategy() })
    return Effect.acquireRelease(
      Effect.map(
        pubsub,
        (self) => Object.assign(self, { isWatched: () => subscriptions > 0 && !PubSub.isShutdownUnsafe(self) })
      ),
      PubSub.shutdown
    )
  })
}

/** Publishes while somebody listens. `publishUnsafe` says no when a reader is too far behind: its oldest event goes. */
export const observer = (bus: Bus): Observer => ({
  started: undefined,
  retried: undefined,
  waiting: undefined,
  wantsFirstSuccess: bus.isWatched,
  event: (event) => {
    if (!bus.isWatched() || PubSub.publishUnsafe(bus, event)) return
    bus.pubsub.slide()
    PubSub.publishUnsafe(bus, event)
  }
})
