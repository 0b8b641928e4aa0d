/**
 * What Effect's fetch client is told of redirects, which fetch would follow by itself, with everything that is for the
 * first origin only.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as Headers from "effect/http/Headers"
import type * as HttpClientRequest from "effect/http/HttpClientRequest"

type Request = HttpClientRequest.HttpClientRequest

/** What one send came to know of its transport. */
export interface Seen {
  /** What becomes of redirects, and where it is fetch that sends and not something else. */
  redirects: "by fetch" | "by hand" | "by nobody" | undefined
}

export interface Asked {
  /** `"always"` also where the program says something else. */
  readonly byHand: "always" | "where nothing is said" | "never"
  /** Headers that are not to be sent, also where the program gives them to fetch. */
  readonly without: ReadonlyArray<string>
}

const isByHand = ({ integrity, redirect }: RequestInit, { byHand }: Asked): boolean =>
  // A digest is that of the last response, and would be held against the first.
  byHand === "always" || (byHand === "where nothing is said" && redirect === undefined && !integrity)

const told = (init: RequestInit, asked: Asked, seen: Seen): RequestInit => {
  const byHand = isByHand(init, asked)
  const redirect = byHand ? "manual" : init.redirect
  const headers = init.headers === undefined || asked.without.length === 0
    ? init.headers
    // All that fetch takes, Effect's own constructor takes too, as its client relies on.
    : Headers.removeMany(Headers.fromInput(init.headers as Headers.Input), asked.without)
  return {
    ...init,
    ...(headers === undefined ? {} : { headers }),
    // Nobody but the fetch client reads it, and so it tells that there is one.
    get redirect() {
      seen.redirects = byHand ? "by hand" : redirect === undefined || redirect === "follow" ? "by fetch" : "by nobody"
      return redirect
    }
  } as RequestInit // `exactOptionalPropertyTypes`: undefined is what it would be if it was not there.
}

/**
 * The request, as a client is given it. It is evaluated inside of the client, where what a layer gives fetch is in the
 * context beside what the program gives: from outside the one would hide the other.
 */
const requested = (request: Request, asked: Asked, seen: Seen): Effect.Effect<Request> =>
  Effect.withFiber((fiber) => {
    const init = Context.getOrUndefined(fiber.context, FetchHttpClient.RequestInit) ?? {}
    fiber.setContext(Context.add(fiber.context, FetchHttpClient.RequestInit, told(init, asked, seen)))
    return Effect.succeed(request)
  })

/** Sends a request, and sees whether it is fetch that sends it. */
export const sending = <A, E, R>(
  send: (request: Effect.Effect<Request>) => Effect.Effect<A, E, R>,
  request: Request,
  asked: Asked,
  seen: Seen
): Effect.Effect<A, E, R> =>
  Effect.withFiber((fiber) => {
    const { context } = fiber
    return Effect.onExit(send(requested(request, asked, seen)), () => {
      fiber.setContext(context)
      return Effect.void
    })
  })
