import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as LogLevel from "effect/LogLevel"
import * as References from "effect/References"

/** Whether a fiber logs at a level: asked before anything is put together for a line. */
export const logs = (fiber: Fiber.Fiber<unknown, unknown>, level: LogLevel.Severity): boolean =>
  !LogLevel.isGreaterThan(fiber.getRef(References.MinimumLogLevel), level)

/**
 * Logs at once, with the loggers, annotations and spans of a context. On a fiber of its own: a logger that throws ends
 * that one, and not the run.
 */
export const log = (
  context: Context.Context<never>,
  level: LogLevel.Severity,
  message: string,
  annotations: Readonly<Record<string, unknown>>
): void => {
  Effect.runForkWith(context)(Effect.annotateLogs(Effect.logWithLevel(level)(message), annotations))
}
