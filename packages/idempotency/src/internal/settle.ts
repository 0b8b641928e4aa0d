/** How a record is left when its operation has ended, and what the holder gets. */
import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { Settings } from "./settings.ts"
import { verdict } from "./verdict.ts"

export interface Settled {
  readonly exit: Exit.Exit<unknown, unknown>
  readonly ending: { readonly state: "done"; readonly outcome: string } | { readonly state: "free" | "doubt" }
  /** A defect of a schema or a classifier, which the holder gets instead. */
  readonly broken?: Cause.Cause<never>
}

/** `isTold` is of an outcome that a `reconcile` effect has found: it is one whatever the classifier says. */
export const settle = (
  exit: Exit.Exit<unknown, unknown>,
  isTold: boolean,
  { codec, transience }: Settings
): Effect.Effect<Settled, never, unknown> => {
  const broken = (cause: Cause.Cause<never>): Settled => ({ exit, ending: { state: "doubt" }, broken: cause })
  const to = verdict(exit, codec.isFailure, transience)
  if (Exit.isFailure(to)) return Effect.succeed(broken(to.cause))
  if (to.value !== "record" && !isTold) return Effect.succeed({ exit, ending: { state: to.value } })
  return Effect.map(
    Effect.exit(codec.encode(exit)),
    (encoded): Settled =>
      Exit.isSuccess(encoded) ? { exit, ending: { state: "done", outcome: encoded.value } } : broken(encoded.cause)
  )
}
