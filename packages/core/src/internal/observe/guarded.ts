import { isPromiseLike } from "effect/Predicate"
import type { Functions } from "../../RetryEvents.ts"
import { errorType } from "./errorType.ts"
import { log } from "./log.ts"
import * as names from "./names.ts"
import type { Observer } from "./observer.ts"

/** An observer of functions that may throw. The first time that one does is logged, with the next event. */
export const guarded = (functions: Functions): Observer => {
  const { event, retried, started, waiting, wantsFirstSuccess } = functions
  let failure: { readonly of: keyof Functions; readonly error: unknown } | undefined
  const failed = (of: keyof Functions, error: unknown): void => {
    failure ??= { of, error }
  }
  let told = false

  const simple = (of: "started" | "retried", f: Functions["started"]): Observer["started"] =>
    f === undefined ? undefined : (operation) => {
      try {
        f(operation)
      } catch (error) {
        failed(of, error)
      }
    }

  return {
    started: simple("started", started),
    retried: simple("retried", retried),
    waiting: waiting === undefined ? undefined : (operation, change) => {
      try {
        waiting(operation, change)
      } catch (error) {
        failed("waiting", error)
      }
    },
    wantsFirstSuccess: wantsFirstSuccess === undefined ? () => false : () => {
      try {
        return wantsFirstSuccess() === true
      } catch (error) {
        failed("wantsFirstSuccess", error)
        return false
      }
    },
    event: (happened, fiber) => {
      try {
        // A function that returns a promise passes for one that returns nothing, and a rejection would end the process.
        const returned: unknown = event?.(happened, fiber)
        if (isPromiseLike(returned)) returned.then(undefined, (error) => failed("event", error))
      } catch (error) {
        failed("event", error)
      }
      if (failure === undefined || told) return
      told = true
      log(fiber.context, "Warn", `An observer of retries threw in its ${failure.of}; what it throws is ignored`, {
        [names.errorType]: errorType(failure.error)
      })
    }
  }
}
