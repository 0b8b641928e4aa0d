/** Runs for code that is not on Effect. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type { PromiseAttempt, PromiseOptions, RetryEvent } from "../Retry.ts"
import { Attempt } from "./run/attempt.ts"

/** What may be a promise, and may throw where it is made. */
const effectOf = <A>(f: () => A | PromiseLike<A>): Effect.Effect<A> => Effect.promise(async () => f())

/** An attempt as an effect that fails with whatever the promise is rejected with. */
export const attempted = <A>(
  f: (attempt: PromiseAttempt) => A | PromiseLike<A>
): Effect.Effect<A, unknown> =>
  Effect.flatMap(Attempt, ({ elapsed, number, previous }) =>
    // @effect-diagnostics-next-line unknownInEffectCatch:off -- What a promise rejects with has no type.
    Effect.tryPromise({
      // The function may throw before there is a promise.
      try: async (signal) => f({ number, previous, elapsed, signal }),
      catch: (error) => error
    }))

/** The options as `Retry.run` takes them. */
export const optionsOf = ({ onRetry, when, ...options }: Omit<PromiseOptions, "signal">): object => ({
  ...options,
  ...(when === undefined ? {} : { when: (error: unknown) => effectOf(() => when(error)) }),
  ...(onRetry === undefined ? {} : { onRetry: (event: RetryEvent) => effectOf(() => onRetry(event)) })
})

const outcome = <A>(exit: Exit.Exit<A, unknown>, signal: AbortSignal | undefined): A => {
  if (exit._tag === "Success") return exit.value
  // A caller that goes away gets its own reason back, as from `fetch`.
  throw signal?.aborted === true && Cause.hasInterruptsOnly(exit.cause) ? signal.reason : Cause.squash(exit.cause)
}

export const start = async <A>(run: Effect.Effect<A, unknown>, signal: AbortSignal | undefined): Promise<A> => {
  signal?.throwIfAborted()
  return outcome(await Effect.runPromiseExit(run, signal === undefined ? {} : { signal }), signal)
}
