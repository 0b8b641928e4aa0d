/** At most one line of a kind in so much time, and a count of what was not shown. */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as time from "../time.ts"

/** Shows one of its kind; `suppressed` is how many before it were not shown. */
export type Show = (suppressed: number) => void

interface Kind {
  /** When the next may be shown, on the monotonic clock. */
  until: number
  /** What came since the last that was shown: how many, and the last of them. */
  count: number
  last: Show | undefined
}

/**
 * A function that shows the first of a kind at once, and what comes within `millis` after it when that time is over:
 * the last of it, with the number of the others. So what was shown and what was counted make up all there was, also
 * when the scope closes earlier. A fiber watches the time only while something waits to be shown.
 */
export const make = (millis: number): Effect.Effect<(kind: string, show: Show) => void, never, Scope.Scope> =>
  Effect.gen(function* () {
    const scope = yield* Scope.Scope
    const clock = yield* Clock.Clock
    const context = yield* Effect.context<never>()
    const kinds = new Map<string, Kind>()
    let closed = false

    const now = () => time.now(clock)

    const flush = (kind: Kind): void => {
      const { count, last } = kind
      kind.count = 0
      kind.last = undefined
      kind.until = now() + millis
      last?.(count - 1)
    }

    yield* Scope.addFinalizer(
      scope,
      Effect.sync(() => {
        closed = true
        for (const kind of kinds.values()) flush(kind)
      })
    )

    return (name, show) => {
      const kind = kinds.get(name)
      const at = now()
      if (closed || kind === undefined || (kind.count === 0 && at >= kind.until)) {
        kinds.set(name, { until: at + millis, count: 0, last: undefined })
        return show(0)
      }
      kind.last = show
      if (++kind.count > 1) return
      const wait = Effect.flatMap(clock.sleep(Duration.millis(kind.until - at)), () => Effect.sync(() => flush(kind)))
      Fiber.runIn(Effect.runForkWith(context)(wait), scope)
    }
  })
