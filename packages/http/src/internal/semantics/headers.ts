/** The headers by which client and server speak of retries. */

/** The number of the attempt, sent from the second on; the first is 1. */
export const attemptHeader = "retry-attempt"

/** What is left until the caller's deadline, in the grammar of gRPC. */
export const deadlineHeader = "grpc-timeout"

/** `false` is "do not retry", whatever the status. */
export const verdictHeader = "x-should-retry"
