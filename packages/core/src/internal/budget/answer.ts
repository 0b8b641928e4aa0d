import * as Effect from "effect/Effect"
import type { Withdrawal } from "./meter.ts"

/** What a meter gives for one retry, now or, where others have to be asked, later; `undefined` says no. */
export type Answer = Withdrawal | undefined | Effect.Effect<Withdrawal | undefined>

// A withdrawal is an object of its meter's own, and no meter's is an effect.
export const isToCome = (answer: Answer): answer is Effect.Effect<Withdrawal | undefined> => Effect.isEffect(answer)

/** Changes what a meter gave, where it gave something. */
export const whenAnswered = (answer: Answer, f: (withdrawal: Withdrawal) => Withdrawal): Answer =>
  isToCome(answer) ? Effect.map(answer, (_) => _ && f(_)) : answer && f(answer)
