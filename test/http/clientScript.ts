// A client of Effect's whose server is a list of answers, for what needs no network.
import { HttpRetry } from "@reprise/http"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientError from "effect/http/HttpClientError"
import type * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as HttpClientResponse from "effect/http/HttpClientResponse"
import type * as Policy from "@reprise/core/Policy"
import * as TestClock from "effect/testing/TestClock"

export type Reply =
  | number
  | readonly [status: number, headers: Record<string, string>, body?: string]
  /** The code of a failing transport. */
  | string
  | Error
  | ((request: HttpClientRequest.HttpClientRequest) => Effect.Effect<Response, HttpClientError.HttpClientError>)

export interface Script {
  readonly client: HttpClient.HttpClient
  /** The requests that were sent. */
  readonly sent: Array<HttpClientRequest.HttpClientRequest>
  /** When, in milliseconds of the test's clock. */
  readonly times: Array<number>
}

const coded = (code: string): Error => {
  const early = /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN)$/.test(code)
  return Object.assign(new Error(code), { code, ...(early ? { syscall: "connect" } : {}) })
}

/** Each request gets the next answer, and after the last one that again. */
export const script = (...replies: ReadonlyArray<Reply>): Script => {
  const sent: Array<HttpClientRequest.HttpClientRequest> = []
  const times: Array<number> = []
  const client = HttpClient.make((request, _url, _signal) =>
    Effect.clockWith((clock) => {
      const reply = replies[Math.min(sent.length, replies.length - 1)]!
      sent.push(request)
      times.push(clock.currentTimeMillisUnsafe())
      if (typeof reply === "function") {
        return Effect.map(reply(request), (response) => HttpClientResponse.fromWeb(request, response))
      }
      if (typeof reply === "string" || reply instanceof Error) {
        const cause = typeof reply === "string" ? coded(reply) : reply
        return Effect.fail(
          new HttpClientError.HttpClientError({ reason: new HttpClientError.TransportError({ request, cause }) })
        )
      }
      const [status, headers, body = "body"] = typeof reply === "number" ? [reply, {}] as const : reply
      const empty = status === 204 || status === 304
      return Effect.succeed(HttpClientResponse.fromWeb(request, new Response(empty ? null : body, { status, headers })))
    })
  )
  return { client, sent, times }
}

/** Runs an effect in virtual time, however long it takes. */
export const awaited = <A, E, R>(self: Effect.Effect<A, E, R>, step = 50): Effect.Effect<Exit.Exit<A, E>, never, R> =>
  Effect.gen(function* () {
    const fiber = yield* Effect.forkChild(self, { startImmediately: true })
    while (fiber.pollUnsafe() === undefined) {
      // Bodies of the web are read outside of Effect.
      yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
      yield* TestClock.adjust(step)
    }
    return yield* Fiber.await(fiber)
  })

/** A retrying client over a script, which has all the budget that it wants. */
export const retrying = (
  replies: ReadonlyArray<Reply>,
  policy?: Policy.Policy<unknown>,
  options: HttpRetry.Options = {}
) => {
  const made = script(...replies)
  return { ...made, client: made.client.pipe(HttpRetry.client(policy, { budget: "none", ...options })) }
}
