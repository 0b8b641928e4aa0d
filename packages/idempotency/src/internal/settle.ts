/** How a record is left when its operation has ended, and what the holder gets. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
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

/** The name of an error, which is the program's own; its message may be the customer's. */
const nameOf = (error: unknown): string => {
  const name = Predicate.hasProperty(error, "_tag") ? error._tag : error instanceof Error ? error.name : undefined
  return typeof name === "string" && /^[\w ./-]{1,60}$/.test(name) ? name : "a failure"
}

/** Why a holder that lives leaves its record in doubt, for the log. */
export const whyInDoubt = ({ broken, exit }: Settled): string => {
  if (broken !== undefined) return "what its operation came to fits no schema, or could not be classified"
  if (Exit.isSuccess(exit)) return "an earlier run may have taken effect"
  if (exit.cause.reasons.some(Cause.isDieReason)) return "its operation died"
  const error = Exit.findErrorOption(exit)
  if (Option.isNone(error) || exit.cause.reasons.some(Cause.isInterruptReason)) return "its operation was interrupted"
  return `its operation failed with ${nameOf(error.value)}, which is no outcome to record and may have taken effect`
}
