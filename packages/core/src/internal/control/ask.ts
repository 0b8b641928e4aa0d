import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { millisSince } from "../time.ts"
import type { Look } from "./follow.ts"

/** How long a look waits for an answer. */
export const patience: Duration.Duration = /* @__PURE__ */ Duration.seconds(1)

/**
 * An effect that asks, and after a second says that there is no answer yet. What is frozen neither answers nor refuses,
 * so it is not asked again while a question is out: questions would pile up in the client of a server, and hold the
 * few threads that a process has for files. After `lostMillis` the question counts as lost.
 */
export const make = <A, E>(
  question: Effect.Effect<A, E>,
  lostMillis: number,
  read: (answer: Exit.Exit<A, E>) => Look
): Effect.Effect<Effect.Effect<Look>, never, Scope.Scope> =>
  Effect.map(Effect.scope, (scope) => {
    let out: { readonly fiber: Fiber.Fiber<A, E>; readonly since: bigint } | undefined
    return Effect.gen(function* () {
      const clock = yield* Clock.Clock
      if (out !== undefined && millisSince(clock, out.since) > lostMillis) {
        yield* Effect.forkIn(Fiber.interrupt(out.fiber), scope)
        out = undefined
      }
      out ??= { fiber: yield* Effect.forkIn(question, scope), since: clock.monotonicTimeNanosUnsafe() }
      const answer = yield* Effect.timeoutOption(Fiber.await(out.fiber), patience)
      if (Option.isNone(answer)) return { _tag: "Away", why: "no answer within 1 second" }
      out = undefined
      return read(answer.value)
    })
  })
