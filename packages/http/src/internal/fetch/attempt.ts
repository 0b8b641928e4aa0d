/** One attempt of a call: its headers, its redirects, and what its outcome means. */
import type { IdempotencyKey } from "@reprise/core/IdempotencyKey"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as keys from "../semantics/key.ts"
import type { ResponseError } from "../semantics/responseError.ts"
import { readsBody } from "../hints/profiles.ts"
import { attemptHeader, deadlineHeader } from "../semantics/headers.ts"
import { isOver, judge } from "../semantics/judge.ts"
import { heed } from "../semantics/origins.ts"
import { isCrossOrigin, isPage } from "../semantics/page.ts"
import * as patience from "../semantics/patience.ts"
import { monotonicMillisOf } from "../semantics/time.ts"
import { jsonOf } from "./json.ts"
import { networkError, spentNote } from "./networkError.ts"
import { elsewhere, type Outgoing } from "./outgoing.ts"
import { follow, moved } from "./redirect.ts"
import { cancel } from "./responses.ts"
import type { Settings } from "./settings.ts"

/** A call on its way. */
export interface Call {
  readonly settings: Settings
  readonly outgoing: Outgoing
  readonly key: IdempotencyKey | undefined
  /** Whether a second execution changes nothing. */
  readonly repeatable: boolean
  /** When the attempt began, in monotonic milliseconds. */
  began: number
  /** That of the last request; a redirect may have changed it. */
  method: string
  /** Whether the last attempt carried a key all the way. */
  keyed: boolean
  /** Whether the last attempt was redirected by somebody who may have done what was asked, and knows no key. */
  doubtful: boolean
  /** A failing response that nobody has read yet, and what it came to. */
  pending: { readonly response: Response; readonly error: ResponseError | undefined } | undefined
  /** The statuses that are worth one more attempt, and have had it. */
  readonly met: Set<number>
}

export interface Attempt {
  readonly number: number
  readonly deadline: string | undefined
}

const setIfAbsent = (headers: Headers, name: string, value: string): void => {
  if (!headers.has(name)) headers.set(name, value)
}

/**
 * Whether redirects are left to the runtime: it does not show them and nothing may be sent twice, or there is a digest,
 * which is that of the last response, and would be held against the first.
 */
const isBlind = ({ outgoing, repeatable, settings }: Call): boolean =>
  Boolean(elsewhere(outgoing).integrity) || (!repeatable && (settings.seen.hidesRedirects || isPage()))

const headersOf = (call: Call, { deadline, number }: Attempt): Headers => {
  const { key, outgoing, settings } = call
  const headers = new Headers(outgoing.headers)
  const { header, style } = settings.keyForm
  if (key !== undefined) headers.set(header, keys.render(key, style))
  if (outgoing.body.type !== undefined) setIfAbsent(headers, "content-type", outgoing.body.type)
  // Another site would have to allow them by name, and a request that it would have answered fails.
  if (!settings.sendsHeaders || isCrossOrigin(outgoing.origin) || isBlind(call)) return headers
  if (number > 1) setIfAbsent(headers, attemptHeader, String(number))
  if (deadline !== undefined) setIfAbsent(headers, deadlineHeader, deadline)
  return headers
}

const announcements = [attemptHeader, deadlineHeader]

const send = async (call: Call, headers: Headers, signal: AbortSignal): Promise<Response> => {
  const { outgoing, repeatable, settings } = call
  const { body, input, method, redirect, rest, url } = outgoing
  const fetch = settings.fetch ?? globalThis.fetch
  const own = [...settings.keyHeaders, ...announcements]
  const init = { ...rest, method, headers, signal }
  const plain = () => fetch(input, { ...init, ...body.take(), redirect })
  if (redirect !== "follow" || (repeatable && !own.some((name) => headers.has(name)))) return plain()
  if (isBlind(call)) {
    // A failure does not say whether it was that of the first server.
    call.doubtful = !call.keyed
    const response = await plain()
    call.doubtful = !call.keyed && moved(response, url)
    return response
  }
  // At once, and not with the outcome: a timeout may come in between.
  const onRedirect = (method: string, leaves: boolean) => {
    call.method = method
    call.doubtful ||= !call.keyed
    if (leaves) call.keyed = false
  }
  const onHidden = () => {
    settings.seen.hidesRedirects = true
    // Nothing has failed: a key alone is no reason to do it twice.
    return repeatable
  }
  const told = { onRedirect, onHidden }
  return follow(fetch, { input, url, init, rest: elsewhere(outgoing), own, announcements, body, left: false, ...told })
}

/** The response, whatever it is. */
const sent = (call: Call, info: Attempt): Effect.Effect<Response, unknown> =>
  // @effect-diagnostics-next-line unknownInEffectCatch:off -- What a fetch rejects with has no type.
  Effect.tryPromise({
    try: async (signal) => {
      const { outgoing, settings } = call
      const headers = headersOf(call, info)
      call.keyed = keys.hasKey(headers, settings.keyHeaders)
      call.doubtful = false
      call.method = outgoing.method
      // The caller's signal goes on to hold for the body, when the attempt is over.
      const both = outgoing.signal === undefined ? signal : AbortSignal.any([outgoing.signal, signal])
      const response = await send(call, headers, both)
      if (!signal.aborted) return response
      // An attempt that was given up, and did not know it.
      cancel(response)
      throw signal.reason
    },
    catch: (error) => networkError(error, call.outgoing, call.settings)
  })

/** The response, where it is not worth another attempt; otherwise it fails with a `ResponseError`. */
const judged = (call: Call, response: Response): Effect.Effect<Response, ResponseError> => {
  const { doubtful, met, method, outgoing: { body, origin, url }, settings } = call
  const { status } = response
  if (status < 400 || isOver(met, status)) return Effect.succeed(response)
  call.pending = { response, error: undefined }
  const look = method !== "HEAD" && readsBody(settings.profile, status)
    ? jsonOf(response, patience.look(settings, call.began))
    : Effect.undefined
  return Effect.flatMap(
    look,
    (json) =>
      Effect.flatMap(Clock.currentTimeMillis, (now): Effect.Effect<Response, ResponseError> => {
        const headers = Object.fromEntries(response.headers)
        const failing = { method, url: response.url || url, status, headers, body: json, elsewhere: doubtful }
        const made = judge(failing, now, settings, body.replayable() ? undefined : spentNote)
        call.pending = made === undefined ? undefined : { response, error: made.error }
        if (made === undefined) return Effect.succeed(response)
        const { error, wait = 0 } = made
        if (wait === 0) return Effect.fail(error)
        const heeded = heed(settings.origins, origin, response.url, Math.min(wait, settings.hintLimit))
        return Effect.andThen(heeded, Effect.fail(error))
      })
  )
}

export const attempt = (call: Call, info: Attempt): Effect.Effect<Response, unknown> =>
  Effect.withFiber((fiber) => {
    call.began = monotonicMillisOf(fiber.getRef(Clock.Clock))
    return Effect.flatMap(sent(call, info), (response) => judged(call, response))
  })
