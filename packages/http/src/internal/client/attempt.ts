/** One attempt: the sends of one request and the redirects that it leads through. */
import * as Deadline from "@reprise/core/Deadline"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import type * as HttpClientResponse from "effect/http/HttpClientResponse"
import * as Option from "effect/Option"
import { attemptHeader, deadlineHeader } from "../semantics/headers.ts"
import * as drain from "./drain.ts"
import * as redirect from "./redirect.ts"
import type { Settings } from "./settings.ts"
import * as spans from "./spans.ts"

type Request = HttpClientRequest.HttpClientRequest
type Response = HttpClientResponse.HttpClientResponse

/** What sends a request: the client that is wrapped. */
export type Send<E, R> = (request: Request) => Effect.Effect<Response, E, R>

/** A request on its way through one run. */
export interface Journey {
  readonly settings: Settings
  readonly request: Request
  /** Scheme, host and port; empty where that is not known. */
  readonly origin: string
  /** The headers in which an idempotency key may stand. */
  readonly keyHeaders: ReadonlyArray<string>
  /** Whether the body has been read, and cannot be read again. */
  readonly spent: () => boolean
  /** Sends until now, redirects included. */
  sends: number
}

const setIfAbsent = (request: Request, name: string, value: string): Request =>
  request.headers[name] === undefined ? HttpClientRequest.setHeader(request, name, value) : request

interface Page {
  readonly location?: { readonly origin: string } | undefined
}

// Not there in Node.js, whatever the types of browsers say.
const page: Page = globalThis

/** Whether a page of another origin sends it: the server would have to allow each header by name. */
const isCrossOrigin = (origin: string): boolean => page.location !== undefined && page.location.origin !== origin

/** What the server may know of the run: which attempt this is, and how long the caller will wait. */
const announced = (
  { origin, request, settings: { sendsHeaders } }: Journey,
  attempt: number
): Effect.Effect<Request> => {
  if (!sendsHeaders || isCrossOrigin(origin)) return Effect.succeed(request)
  return Effect.map(Deadline.toHeader, (left) => {
    const numbered = attempt === 1 ? request : setIfAbsent(request, attemptHeader, String(attempt))
    return Option.isNone(left) ? numbered : setIfAbsent(numbered, deadlineHeader, left.value)
  })
}

// Fetch follows redirects itself, and takes along what is for the first origin only.
const unfollowed = <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.updateContext(self, (context: Context.Context<R>) =>
    Context.add(context, FetchHttpClient.RequestInit, {
      ...Option.getOrUndefined(Context.getOption(context, FetchHttpClient.RequestInit)),
      redirect: "manual"
    }))

/** Sends the request, and where that is asked for follows it through redirects. */
export const make = <E, R>(send: Send<E, R>, journey: Journey, attempt: number): Effect.Effect<Response, E, R> => {
  const { keyHeaders, settings: { redirects }, spent } = journey
  const one = (request: Request): Effect.Effect<Response, E, R> =>
    Effect.suspend(() => spans.described(send(request), journey.sends++))
  if (redirects === undefined) return Effect.flatMap(announced(journey, attempt), one)
  const ours = [...keyHeaders, attemptHeader, deadlineHeader]
  const follow = (request: Request, left: number): Effect.Effect<Response, E, R> =>
    Effect.flatMap(one(request), (response) => {
      const to = left === 0 ? undefined : redirect.next(request, response, ours, spent())
      return to === undefined
        ? Effect.succeed(response)
        : Effect.andThen(drain.drain(response, 0), follow(to, left - 1))
    })
  return unfollowed(Effect.flatMap(announced(journey, attempt), (request) => follow(request, redirects)))
}
