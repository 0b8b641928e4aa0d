/** What fetch rejects with when the network fails, in runtimes that say nothing more of it. */
import * as Transience from "@reprise/core/Transience"
import type { Outgoing } from "./outgoing.ts"

/** Whether the arguments alone make fetch reject. */
const isRefused = ({ input, method, rest }: Outgoing): boolean => {
  try {
    // A body is what may be gone by now.
    return new Request(typeof input === "object" && "url" in input ? input.url : input, { ...rest, method }) === undefined
  } catch {
    return true
  }
}

/**
 * The error, which browsers do not describe: a `TypeError` without a cause, and with a message of their own, is all that
 * is left of a refused connection, a reset one, and of a site that does not allow the request. Arguments that fetch does
 * not take make the same error, and stay what they are.
 */
export const networkError = (error: unknown, outgoing: Outgoing): unknown =>
  error instanceof TypeError && error.cause === undefined && !Transience.isTerminal(error) && !isRefused(outgoing)
    ? Transience.annotate(error, { transience: "transient", applied: "maybe" })
    : error
