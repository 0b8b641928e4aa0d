/** What a request says of the caller's attempts and patience. It comes from anybody, and is read as such. */
import * as Deadline from "@reprise/core/Deadline"
import * as RetryLayers from "@reprise/core/RetryLayers"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import { attemptHeader, deadlineHeader } from "../semantics/headers.ts"

/** Headers with the number of an attempt, and what to add to make the first one 1. */
const counts: ReadonlyArray<readonly [header: string, add: number]> = [
  [attemptHeader, 0],
  ["x-envoy-attempt-count", 0],
  ["grpc-previous-rpc-attempts", 1]
]

// More than any policy makes, and far from where numbers stop being exact.
const grammar = /^\d{1,9}$/

type Headers = Readonly<Record<string, string | undefined>>

/** The highest number that a header tells; 1 where none is readable. A proxy counts its own, not the caller's. */
const attemptOf = (headers: Headers): number => {
  let attempt = 1
  for (const [header, add] of counts) {
    const value = headers[header]
    if (value !== undefined && grammar.test(value)) attempt = Math.max(attempt, Number(value) + add)
  }
  return attempt
}

export const incoming = <A, E, R>(
  self: Effect.Effect<A, E, R>,
  within: Duration.Input | undefined
): Effect.Effect<A, E, R | HttpServerRequest.HttpServerRequest> => {
  const app = Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers }) =>
    self.pipe(
      RetryLayers.incoming({ attempt: attemptOf(headers) }),
      Deadline.fromHeader(headers[deadlineHeader])
    ))
  return within === undefined ? app : Deadline.within(app, within)
}
