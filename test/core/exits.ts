/** What runs have ended with. */
import { RetryExhausted } from "@reprise/core"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import { inspect } from "node:util"

/** The typed error, where there is one. */
export const errorOf = <E>(exit: Exit.Exit<unknown, E>): E | undefined =>
  Option.getOrUndefined(Exit.findErrorOption(exit))

export const exhaustion = (exit: Exit.Exit<unknown, unknown>): RetryExhausted.RetryExhausted => {
  const error = errorOf(exit)
  if (RetryExhausted.is(error)) return error
  throw new Error(`Not exhausted: ${inspect(exit, { depth: 5 })}`)
}

export const reasonOf = (exit: Exit.Exit<unknown, unknown>): RetryExhausted.ReasonTag => exhaustion(exit).reason._tag
