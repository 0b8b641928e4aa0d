/** What fetch rejects with when the network fails, in runtimes that say nothing more of it. */
import * as Transience from "@reprise/core/Transience"
import { none } from "./body.ts"
import type { Outgoing } from "./outgoing.ts"

/** Whether the arguments alone make fetch reject. */
const isRefused = ({ body, method, redirect, rest, url }: Outgoing): boolean => {
  if (body.taken === true) return true
  try {
    // Any body will do: what is asked is whether there may be one.
    void new Request(url, { ...rest, method, redirect, ...(body === none ? {} : { body: "" }) })
    return false
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
