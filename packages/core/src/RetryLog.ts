/**
 * Logs what happens in runs: retries, runs that gave up, errors that nothing classified.
 */
import type * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { bounded } from "./internal/observe/bounded.ts"
import { errorCode, errorTag, errorType } from "./internal/observe/errorType.ts"
import { log, logs } from "./internal/observe/log.ts"
import * as names from "./internal/observe/names.ts"
import * as quiet from "./internal/observe/quiet.ts"
import * as RetryEvents from "./RetryEvents.ts"

const betweenExhausted = 1000

const about = (error: unknown, operation: string | undefined): Record<string, unknown> => {
  const code = errorCode(error)
  return {
    ...(operation === undefined ? undefined : { [names.operation]: operation }),
    [names.errorType]: errorType(error),
    ...(code === undefined ? undefined : { [names.errorCode]: code })
  }
}

/** How to say what an error is, in the words that fit it. */
const howToClassify = (error: unknown): string => {
  const tag = errorTag(error)
  const code = errorCode(error)
  const rule = tag !== undefined
    ? `Transience.whenTag("${tag}", "transient")`
    : code !== undefined
    ? `Transience.whenCode("${code}", "transient")`
    : `Transience.whenClass(${errorType(error)}, "transient")`
  return "Say what it is: in the class, with a getter [Transience.TypeId]; in the policy, with a rule such as " +
    `${rule} for Transience.make${tag === undefined ? "" : `, or with Policy.whileTag("${tag}")`}`
}

const scheduled = (context: Context.Context<never>, event: RetryEvents.RetryScheduled): void =>
  log(context, "Debug", "A retry is scheduled", {
    ...about(event.error, event.operation),
    [names.attempt]: event.attempt,
    [names.delay]: Duration.toSeconds(event.delay)
  })

const exhausted = (context: Context.Context<never>, event: RetryEvents.Exhausted, suppressed: number): void =>
  log(context, "Warn", "A run gave up: its retries are exhausted", {
    ...about(event.error.lastError, event.operation),
    [names.attempts]: event.attempt,
    [names.reason]: event.error.reason._tag,
    ...(suppressed === 0 ? undefined : { [names.suppressed]: suppressed })
  })

const unclassified = (context: Context.Context<never>, event: RetryEvents.Terminal, type: string): void =>
  log(
    context,
    "Warn",
    type === names.other
      ? "An error was not retried because nothing classifies it; so were errors of too many types to name each"
      : `An error was not retried because nothing classifies it. ${howToClassify(event.error)}`,
    about(event.error, event.operation)
  )

/**
 * The observer that logs.
 *
 * - a retry, when its wait begins: at `Debug`, with the number of the attempt that failed and the wait in seconds
 * - a run that gave up: at `Warn`, with the attempts made and the reason. At most one line a second for each operation:
 *   the first at once, and when the second is over the last of the others, with the number of those that are not shown
 *   (`reprise.suppressed`); when the scope closes, what is left
 * - an error that nothing classified, and that a policy which asks `Transience` therefore did not retry: at `Warn`, once
 *   for each type of error, with what to write so that it is classified
 *
 * Lines carry annotations: `reprise.operation`, `reprise.attempt` or `reprise.attempts`, `reprise.reason`,
 * `reprise.retry.delay`, `error.type` (the tag, or else the name or the class) and `error.code`. A name that
 * looks like none of a class is `_OTHER`, and a number of more than five digits is no code. They never carry the message
 * of an error, nor the error: those may hold secrets. They have the annotations, the spans and the loggers of the run.
 *
 * Operations past 200 share one line a second, and error types past 100 one line.
 *
 * @category observers
 */
export const observer: Effect.Effect<RetryEvents.Observer, never, Scope.Scope> = /* @__PURE__ */ Effect.map(
  /* @__PURE__ */ quiet.make(betweenExhausted),
  (show): RetryEvents.Observer => {
    const admit = bounded(names.mostOperations)
    const admitType = bounded(names.mostErrorTypes)
    const named = new Set<string>()
    return {
      started: undefined,
      retried: undefined,
      waiting: undefined,
      wantsFirstSuccess: () => false,
      event: (event, fiber) => {
        const { context } = fiber
        switch (event._tag) {
          case "RetryScheduled":
            if (logs(fiber, "Debug")) scheduled(context, event)
            return
          case "Exhausted":
            if (!logs(fiber, "Warn")) return
            return show(
              event.operation === undefined ? names.unnamed : admit(event.operation),
              (suppressed) => exhausted(context, event, suppressed)
            )
          case "Terminal": {
            if (!event.unclassified || !logs(fiber, "Warn")) return
            const type = admitType(errorType(event.error))
            if (named.has(type)) return
            named.add(type)
            return unclassified(context, event, type)
          }
          case "AttemptFailed":
          case "Succeeded":
          case "BudgetDenied":
          case "Interrupted":
            return
        }
      }
    }
  }
)

/**
 * A layer with {@link observer} for all runs in its context. Where loggers come from a layer with a scope, such as an
 * exporter, build it on that one (`Layer.provideMerge`): its last lines are logged when its own scope closes.
 *
 * ```ts
 * import { Policy, Retry, RetryLog } from "@reprise/core"
 * import { Effect, Logger } from "effect"
 *
 * const lines = Logger.map(Logger.formatStructured, (line) => console.log(line.level, line.message))
 *
 * const program = Effect.fail("busy").pipe(Retry.run(Policy.immediate(1), { name: "charge" }), Effect.ignore)
 *
 * await Effect.runPromise(Effect.provide(program, [RetryLog.layer, Logger.layer([lines])]))
 * // => WARN A run gave up: its retries are exhausted
 * ```
 *
 * @category layers
 */
export const layer: Layer.Layer<never> = /* @__PURE__ */ RetryEvents.layer([observer])
