/**
 * What codes mean: those of Node.js and what it is made of, SQLSTATE, HTTP and gRPC status.
 */
import { get, isObject } from "../causeChain.ts"
import { lookup, type Outcome, terminal, terminalMaybe, transient, transientMaybe } from "./outcomes.ts"

// What OpenSSL, getaddrinfo, llhttp and undici say comes from their own lists, longer than any table: a broken
// certificate, a peer that speaks another protocol, a call used wrongly stays what it is. Two codes of undici's only
// wrap a status.
const lasting = /(?:^|_)CERT(?:_|$)|^(?:CRL|EAI|HPE|ERR_SSL|ERR_TLS|UND_ERR_(?!RESPONSE$|REQ_RETRY$))/

/** What the `code` of an error means to Node.js, with its `syscall`; undefined when it is none of Node's. */
export const readSystem = (error: object, code: string): Outcome | undefined => {
  // What else is in the table is shorter or begins with a digit.
  const outcome = /^[A-Z]\w{3}/.test(code) ? lookup(code) : undefined
  if (outcome === undefined) return lasting.test(code) ? code.startsWith("HPE") ? terminalMaybe : terminal : undefined
  const call = syscall(error)
  if (typeof call !== "string") return outcome
  // No byte of a request is sent before these calls are over. Of the two codes for a local address, a connection out
  // found no free port, but a listener's place is taken.
  if (/^(?:connect$|getaddrinfo$|query)/.test(call)) {
    return outcome === transientMaybe || code.startsWith("EADDR") ? transient : outcome
  }
  // No way to the host any more, in the middle of an exchange.
  return /^(?:EHOST|ENET|ENONET)/.test(code) ? transientMaybe : outcome
}

const syscall = (error: object): unknown => {
  const own = get(error, "syscall")
  if (own !== undefined) return own
  // An AggregateError of connections to several addresses has the code of the first, and no call of its own.
  const errors = get(error, "errors")
  const first = isObject(errors) ? get(errors, 0) : undefined
  return isObject(first) ? get(first, "syscall") : undefined
}

/**
 * What the `name` of an error without a telling code means: those of `AbortController` and `AbortSignal.timeout`, and
 * undici's for an answer that is no HTTP, which has a code only where llhttp gave one.
 */
export const readName = (error: object, name: unknown): Outcome | undefined => {
  if (name === "TimeoutError") return transientMaybe
  if (name === "HTTPParserError") return terminalMaybe
  if (name !== "AbortError") return undefined
  // Node's own functions wrap the reason of a signal: a timeout is nobody's wish to stop.
  const cause = get(error, "cause")
  return isObject(cause) && get(cause, "name") === "TimeoutError" ? transientMaybe : terminalMaybe
}

/** What a SQLSTATE means; one that is not in the table goes by its class. */
export const readSqlState = (code: string): Outcome | undefined => {
  // Digits first or one of PostgreSQL's own classes: EPIPE and EPERM are no SQLSTATE.
  if (!/^(?:\d[\dA-Z]|F0|HV|P0|XX)[\dA-Z]{3}$/.test(code)) return undefined
  const listed = lookup(code)
  if (listed !== undefined) return listed
  if (/^(?:08|57P)/.test(code)) return transientMaybe
  if (/^(?:40|53)/.test(code)) return transient
  return code.startsWith("XX") ? terminalMaybe : terminal
}

/** What an HTTP status means; one that is not in the table goes by its class (RFC 9110, section 15). */
export const readStatus = (status: number): Outcome | undefined =>
  status >= 400 && status < 600
    ? lookup(String(status)) ?? (status < 500 ? terminal : transientMaybe)
    : undefined

/** What a gRPC status means; undefined for OK and for what is no status. */
export const readGrpcStatus = (code: number): Outcome | undefined => code < 17 ? lookup(String(code)) : undefined
