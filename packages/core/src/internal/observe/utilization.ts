import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"

/** Milliseconds in which half of the highest balance is forgotten: traffic changes, and with it what is much. */
const halfLife = 600_000

/** Reads, when it is called, which share of a budget is used up. */
export const reading = (balance: Effect.Effect<number>, context: Context.Context<never>): () => number => {
  const clock = Context.get(context, Clock.Clock)
  let highest = 0
  let readAt = 0
  let last = 0
  return () => {
    const exit = Effect.runSyncExitWith(context)(balance)
    // A balance that cannot be read at once; an exporter must not fail for it.
    if (exit._tag === "Failure" || Number.isNaN(exit.value)) return last
    const now = Number(clock.monotonicTimeNanosUnsafe()) / 1e6
    const left = exit.value
    // A budget without an end; nothing can be a share of it.
    if (left === Infinity) return last = 0
    highest = Math.max(left, highest * 2 ** ((readAt - now) / halfLife))
    readAt = now
    // Less than 1 buys no retry.
    return last = left < 1 ? 1 : left >= highest ? 0 : 1 - left / highest
  }
}
