/** What a method says of a second execution (RFC 9110, 9.2.2; QUERY: draft-ietf-httpbis-safe-method-w-body). */

const idempotent: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE", "QUERY"])

export const isIdempotent = (method: string): boolean => idempotent.has(method)

// As OpenTelemetry does: a method that nobody knows gets no name of its own in metrics.
const known: ReadonlySet<string> = new Set([...idempotent, "POST", "PATCH", "CONNECT"])

/** The name of a run that was given none: no URL, and one of a few. */
export const nameOf = (method: string): string => `HTTP ${known.has(method) ? method : "_OTHER"}`
