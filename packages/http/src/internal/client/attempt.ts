/** One attempt: the sends of one request and the redirects that it leads through. */
import * as Deadline from "@reprise/core/Deadline"
import * as Transience from "@reprise/core/Transience"
import * as Effect from "effect/Effect"
import * as HttpClientError from "effect/http/HttpClientError"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import type * as HttpClientResponse from "effect/http/HttpClientResponse"
import * as Option from "effect/Option"
import { attemptHeader, deadlineHeader } from "../semantics/headers.ts"
import * as drain from "./drain.ts"
import * as fetchInit from "./fetchInit.ts"
import { hasOne } from "../semantics/key.ts"
import { isCrossOrigin, isPage } from "../semantics/page.ts"
import * as redirects from "../semantics/redirect.ts"
import * as redirect from "./redirect.ts"
import { isAnswerTo, isFailureOf } from "./sameRequest.ts"
import type { Settings } from "../semantics/settings.ts"
import * as spans from "./spans.ts"

type Request = HttpClientRequest.HttpClientRequest
type Response = HttpClientResponse.HttpClientResponse

/** What sends a request: the client that is wrapped. */
export type Send<E, R> = (request: Effect.Effect<Request>) => Effect.Effect<Response, E, R>

/** A request on its way through one run. */
export interface Journey {
  readonly settings: Settings
  /** Scheme, host and port; empty where that is not known. */
  readonly origin: string
  /** Whether a second execution does no harm, with a key or without. */
  readonly idempotent: boolean
  /** The headers in which an idempotency key may stand. */
  readonly keyHeaders: ReadonlyArray<string>
  /** Whether the body has been read, and cannot be read again. */
  readonly spent: () => boolean
  /** Sends until now, redirects included. */
  sends: number
  /** Whether all sends of this attempt carried a key. */
  keyed: boolean
  /**
   * Whether the outcome of this attempt may be that of another request than the first, which may then have taken
   * effect, whatever is said of the other.
   */
  elsewhere: boolean
}

const setIfAbsent = (request: Request, name: string, value: string): Request =>
  request.headers[name] === undefined ? HttpClientRequest.setHeader(request, name, value) : request

/** What the server may know of the run: which attempt this is, and how long the caller will wait. */
const announced = (
  { origin, settings: { sendsHeaders } }: Journey,
  request: Request,
  attempt: number
): Effect.Effect<Request> => {
  if (!sendsHeaders || isCrossOrigin(origin)) return Effect.succeed(request)
  return Effect.map(Deadline.toHeader, (left) => {
    const numbered = attempt === 1 ? request : setIfAbsent(request, attemptHeader, String(attempt))
    return Option.isNone(left) ? numbered : setIfAbsent(numbered, deadlineHeader, left.value)
  })
}

/** What fetch calls a network error, of a kind that stays. */
const refused = (request: Request, description: string): HttpClientError.HttpClientError =>
  Transience.annotate(
    new HttpClientError.HttpClientError({ reason: new HttpClientError.TransportError({ request, description }) }),
    "terminal"
  )

/** Follows a request for as long as redirects are ours to follow: as asked, or in place of a fetch that would. */
const followed = <E, R>(send: Send<E, R>, journey: Journey, first: Request): Effect.Effect<Response, E, R> => {
  const { idempotent, keyHeaders, settings: { redirects: asked }, spent } = journey
  const ours = [...keyHeaders, attemptHeader, deadlineHeader]
  const needsHand = !isPage() && (!idempotent || hasOne(first, ours))
  const byHand = asked !== undefined ? "always" : needsHand ? "where nothing is said" : "never"
  const follow = (request: Request, hops: number, without: ReadonlyArray<string>): Effect.Effect<Response, E, R> => {
    const seen: fetchInit.Seen = { redirects: undefined }
    // Of most requests nothing of this is asked.
    const one = byHand === "never" && (idempotent || journey.keyed)
      ? send(Effect.succeed(request))
      : fetchInit.sending(send, request, { byHand, without }, seen)
    return Effect.matchEffect(Effect.suspend(() => spans.described(one, journey.sends++)), {
      onFailure: (error) => {
        if (seen.redirects === "by fetch" || !isFailureOf(request, error)) journey.elsewhere = true
        return Effect.fail(error)
      },
      onSuccess: (response) => {
        // What has succeeded is over, whoever it was that answered.
        if (response.status < 300) return Effect.succeed(response)
        const isAnswer = isAnswerTo(request, response)
        if (!isAnswer) journey.elsewhere = true
        const most = asked ?? (isAnswer && seen.redirects === "by hand" ? redirects.most : 0)
        const to = most === 0 ? undefined : redirect.next(request, response, ours, spent())
        if (to === undefined) return Effect.succeed(response)
        const refusal = typeof to === "string" ? to : hops === most ? redirects.tooMany(most) : undefined
        if (refusal !== undefined && asked !== undefined) return Effect.succeed(response)
        if (refusal !== undefined || typeof to === "string") {
          // Such is what the client of fetch fails with.
          return Effect.andThen(drain.cancel(response), Effect.fail(refused(request, refusal ?? "redirect") as E))
        }
        journey.elsewhere = true
        if (!hasOne(to.request, keyHeaders)) journey.keyed = false
        return Effect.andThen(drain.drain(response), follow(to.request, hops + 1, [...without, ...to.without]))
      }
    })
  }
  return follow(first, 0, [])
}

/** Sends the request, and where that is asked for follows it through redirects. */
export const make = <E, R>(
  send: Send<E, R>,
  journey: Journey,
  request: Request,
  attempt: number
): Effect.Effect<Response, E, R> =>
  Effect.suspend(() => {
    journey.keyed = hasOne(request, journey.keyHeaders)
    journey.elsewhere = false
    return Effect.flatMap(announced(journey, request, attempt), (request) => followed(send, journey, request))
  })
