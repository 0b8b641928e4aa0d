/** One timer for all questions to a store: one for each would cost more than most questions do. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Scope from "effect/Scope"
import { now } from "../hold.ts"

export interface Limit {
  /** Sees to it that the time of who waits in an effect comes to its end. */
  readonly watched: <A, E>(waits: Effect.Effect<A, E>) => Effect.Effect<A, E>
  /** Calls a function when its time is over, unless what this gives is called before. */
  readonly waiting: (expire: () => void) => () => void
}

interface Waiting {
  readonly until: number
  readonly expire: () => void
}

/** Everybody may wait for the same time, so that who came first leaves first. */
export const make = (millis: number): Effect.Effect<Limit, never, Scope.Scope> =>
  Effect.gen(function* () {
    const clock = yield* Clock.Clock
    const scope = yield* Scope.Scope
    const all = new Set<Waiting>()
    let isWatched = false
    const watching = Effect.gen(function* () {
      for (let [first] = all; first !== undefined; [first] = all) {
        const left = first.until - now(clock)
        if (left > 0) yield* Effect.sleep(left)
        else if (all.delete(first)) first.expire()
      }
      isWatched = false
    }).pipe(Effect.provideService(Clock.Clock, clock))
    return {
      watched: (waits) => {
        if (isWatched) return waits
        isWatched = true
        return Effect.andThen(Effect.forkIn(watching, scope), waits)
      },
      waiting: (expire) => {
        const mine = { until: now(clock) + millis, expire }
        all.add(mine)
        return () => void all.delete(mine)
      }
    }
  })
