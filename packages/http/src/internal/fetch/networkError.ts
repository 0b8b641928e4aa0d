/** What fetch rejects with when the network fails, in runtimes that say nothing more of it. */
import * as Transience from "@reprise/core/Transience"
import { none } from "./body.ts"
import type { Outgoing } from "./outgoing.ts"
import type { Settings } from "./settings.ts"

export const spentNote = "its body is a stream that is read once: see the option bufferBody"

/** Whether the arguments alone make fetch reject. */
const isRefused = ({ body, method, redirect, rest, url }: Outgoing, base: string | undefined): boolean => {
  if (body.taken === true) return true
  try {
    // Any body will do: what is asked is whether there may be one.
    void new Request(new URL(url, base), { ...rest, method, redirect, ...(body === none ? {} : { body: "" }) })
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
const described = (error: unknown, outgoing: Outgoing, { fetch }: Settings): unknown => {
  if (!(error instanceof TypeError) || error.cause !== undefined || Transience.isTerminal(error)) return error
  // A fetch of somebody else's may take relative URLs.
  if (isRefused(outgoing, fetch === undefined ? undefined : "http://a.invalid")) return error
  return Transience.annotate(error, { transience: "transient", applied: "maybe" })
}

/** The error, with what it does not say by itself. */
export const networkError = (error: unknown, outgoing: Outgoing, settings: Settings): unknown => {
  const whole = described(error, outgoing, settings)
  if (outgoing.body.replayable() || !(whole instanceof Error) || !settings.transience.isTransient(whole)) return whole
  // The error itself may be known to others, who did not ask for a remark on it.
  return new TypeError(`${whole.message} (${spentNote})`, { cause: whole })
}
