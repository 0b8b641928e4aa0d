/** What a failure of Redis is called: by the server, by the client, by the system. */
import type * as Exit from "effect/Exit"
import type { RedisError } from "effect/persistence/Redis"
import * as Cause from "effect/Cause"
import * as Option from "effect/Option"
import { get, isObject } from "./causeChain.ts"
import { errorCode, errorType } from "./observe/errorType.ts"

/** Whether an error is Effect's `RedisError`, of this copy of Effect or another one. */
export const isRedisError = (error: object): boolean => get(error, "~effect/persistence/Redis/RedisError") !== undefined

/** What a client met, also where it wraps that in saying that it gives up connecting. */
export const metBy = (error: object): unknown => {
  const cause = get(error, "cause")
  return (isObject(cause) ? get(cause, "socketError") : undefined) ?? cause
}

// The protocol's place for the kind of an error: the first word of a reply, in capitals. The client leaves it there.
const word = (cause: unknown): string | undefined => {
  const message = isObject(cause) ? get(cause, "message") : undefined
  return typeof message === "string" ? /^[A-Z]{2,32}(?= )/.exec(message)?.[0] : undefined
}

/** The word of the server's reply, such as `NOAUTH`, or the class of the client's own error. */
export const kindOf = (met: unknown): string => word(met) ?? errorType(met)

/** What may be logged of a failure: never what it says, which may hold a secret. */
export const nameOf = ({ cause }: Exit.Failure<unknown, RedisError>): string => {
  const error = Cause.findErrorOption(cause)
  if (Option.isNone(error)) return "a defect of its client"
  const met = metBy(error.value)
  return errorCode(met) ?? kindOf(met)
}
