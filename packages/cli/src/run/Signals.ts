/**
 * The signals that end a run. They go to the program that is under way, and what it makes of them is its own matter;
 * the run ends when it has.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { constants } from "node:os"
import * as group from "./group.ts"

const ending = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"] as const

export interface Signals {
  /** The group that signals go to. */
  group: number | undefined
  /** The first signal that came. */
  received: NodeJS.Signals | undefined
  /** Never ends before a signal comes. */
  readonly first: Effect.Effect<NodeJS.Signals>
}

/** Exit code of what a signal has ended, by the shells' convention. */
export const exitCode = (signal: NodeJS.Signals): number => 128 + constants.signals[signal]

/** Listens for signals as long as the scope is open. */
export const make: Effect.Effect<Signals, never, Scope.Scope> = Effect.gen(function* () {
  const first = yield* Deferred.make<NodeJS.Signals>()
  const signals: Signals = { group: undefined, received: undefined, first: Deferred.await(first) }
  const onSignal = (signal: NodeJS.Signals) => {
    signals.received ??= signal
    if (signals.group !== undefined) group.signal(signals.group, signal)
    Deferred.doneUnsafe(first, Effect.succeed(signals.received))
  }
  // The last resort when this process ends in any other way than by its own end.
  const onExit = () => {
    if (signals.group !== undefined) group.signal(signals.group, "SIGKILL")
  }
  yield* Effect.acquireRelease(
    Effect.sync(() => {
      for (const name of ending) process.on(name, onSignal)
      process.on("exit", onExit)
    }),
    () =>
      Effect.sync(() => {
        for (const name of ending) process.off(name, onSignal)
        process.off("exit", onExit)
      })
  )
  return signals
})
