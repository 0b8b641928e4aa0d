/** The attributes of metrics, spans and logs, named as OpenTelemetry names things. */

/** Name of the run. */
export const operation = "reprise.operation"

/** `original` or `retry`. */
export const attemptType = "reprise.attempt.type"

/** Number of an attempt; the first is 1. On the span of an attempt, and on the event of a retry: the one that failed. */
export const attempt = "reprise.attempt"

/** Executions of a run, the first one included. */
export const attempts = "reprise.attempts"

/** Why a run gave up: a `ReasonTag`. */
export const reason = "reprise.reason"

/** The wait before a retry, in seconds. */
export const delay = "reprise.retry.delay"

/** Name of a retry budget. */
export const budget = "reprise.budget"

/** How many more there were that are not shown themselves. */
export const suppressed = "reprise.suppressed"

/** What kind of error it was; see `errorType`. */
export const errorType = "error.type"

/** The code of an error, where it has one. */
export const errorCode = "error.code"

/** What stands for all values past the bound of an attribute. OpenTelemetry's own word. */
export const other = "_OTHER"

/** The operation of a run without a name. */
export const unnamed = "_UNNAMED"

/** Values of `reprise.operation` in one process, besides {@link unnamed} and {@link other}. */
export const mostOperations = 200

/** Values of `error.type` in one process, besides {@link other}. */
export const mostErrorTypes = 100
