/** Follows a source of states: a file, or a key of a server. */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import { millisSince } from "../time.ts"
import type { InvalidControl } from "./invalid.ts"
import type { Memory } from "./memory.ts"
import { fromText } from "./state.ts"

/** What a look at the source has found. */
export type Look =
  | { readonly _tag: "Text"; readonly text: string }
  /** A text that need not be read to be refused. */
  | { readonly _tag: "Refused"; readonly error: InvalidControl }
  | { readonly _tag: "Gone" }
  | { readonly _tag: "Away"; readonly why: string }

export interface Source {
  /** As a log names it. */
  readonly name: string
  readonly look: Effect.Effect<Look>
  /** That there is nothing means "on"; otherwise the last state stays. */
  readonly goneIsOn: boolean
  /** A text that is being written and a file that is being replaced are no news until they have been so this long. */
  readonly settleMillis: number
}

/** What a source has said, and what has been said of it. */
const keeper = (control: Memory, { goneIsOn, name, settleMillis }: Source): (look: Look) => Effect.Effect<void> => {
  // The text that is in force.
  let accepted: string | undefined
  let away = false
  // What is not in force, since when, and whether that has been said.
  let doubt: { readonly about: string; readonly since: bigint; said: boolean } | undefined

  const doubtful = (about: string, settled: Effect.Effect<void>): Effect.Effect<void> =>
    Effect.flatMap(Clock.Clock, (clock) => {
      if (doubt?.about !== about) doubt = { about, since: clock.monotonicTimeNanosUnsafe(), said: false }
      if (doubt.said || millisSince(clock, doubt.since) < settleMillis) return Effect.void
      doubt.said = true
      return settled
    })

  const malformed = (about: string, error: InvalidControl) =>
    doubtful(
      `malformed ${about}`,
      Effect.logWarning(`The switch of retries in ${name} is malformed, and the last state stays: ${error.message}`)
    )

  const gone = Effect.suspend(() => {
    if (accepted === undefined) {
      // There never was one, or it is known that it is gone.
      doubt = undefined
      return Effect.void
    }
    if (!goneIsOn) {
      return doubtful(
        "gone",
        Effect.logWarning(
          `The switch of retries in ${name} is gone, and the last state stays: set it to {} to have retries on`
        )
      )
    }
    return doubtful(
      "gone",
      Effect.suspend(() => {
        accepted = undefined
        return control.apply({}, `${name}, which is gone`)
      })
    )
  })

  const found = (text: string) =>
    Effect.suspend(() => {
      if (text !== accepted) {
        const state = fromText(text)
        if (Result.isFailure(state)) return malformed(text, state.failure)
        accepted = text
        doubt = undefined
        return control.apply(state.success, name)
      }
      doubt = undefined
      return Effect.void
    })

  return (look) =>
    Effect.suspend(() => {
      if (look._tag === "Away") {
        if (away) return Effect.void
        away = true
        return Effect.logWarning(
          `The switch of retries in ${name} cannot be read, and the last state stays: ${look.why}`
        )
      }
      const back = away ? Effect.logInfo(`The switch of retries in ${name} can be read again`) : Effect.void
      away = false
      const news = look._tag === "Text"
        ? found(look.text)
        : look._tag === "Gone"
        ? gone
        : malformed(look.error.message, look.error)
      return Effect.andThen(back, news)
    })
}

/** So that a burst of events is one look. */
const burst = Duration.millis(20)

/**
 * Looks once, and then after each signal and at least every `pollMillis`, until the scope closes. `signals` is given what to
 * call when there may be news.
 */
export const follow = (
  control: Memory,
  source: Source,
  pollMillis: number,
  signals: (signal: () => void) => Effect.Effect<void, never, Scope.Scope>
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.gen(function* () {
    const keep = keeper(control, source)
    const look = Effect.flatMap(source.look, keep)
    yield* look
    const queue = yield* Queue.sliding<void>(1)
    const signal = () => {
      Queue.offerUnsafe(queue, undefined)
    }
    yield* signals(signal)
    yield* Effect.forkScoped(Effect.forever(Effect.delay(Effect.sync(signal), pollMillis)))
    yield* Effect.forkScoped(
      Effect.forever(Queue.take(queue).pipe(Effect.andThen(Effect.sleep(burst)), Effect.andThen(look)))
    )
  })
