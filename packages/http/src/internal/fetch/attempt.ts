/** One attempt of a call: its headers, its redirects, and what its outcome means. */
import type { IdempotencyKey } from "@reprise/core/IdempotencyKey"
import * as keys from "../client/key.ts"
import { attemptHeader, deadlineHeader } from "../semantics/headers.ts"
import { judge, type Judged } from "../semantics/judge.ts"
import { jsonOf } from "./json.ts"
import { networkError } from "./networkError.ts"
import { elsewhere, isCrossOrigin, type Outgoing } from "./outgoing.ts"
import { follow } from "./redirect.ts"
import { cancel, setResponse } from "./responses.ts"
import type { Settings } from "./settings.ts"

/** A call on its way. */
export interface Call {
  readonly settings: Settings
  readonly outgoing: Outgoing
  readonly key: IdempotencyKey | undefined
  /** Whether the last attempt carried a key all the way. */
  keyed: boolean
  /** The wait that the last answer asked for, in milliseconds. */
  asked: number | undefined
  /** The last status. */
  last: number
}

export interface Attempt {
  readonly number: number
  readonly deadline: string | undefined
  readonly signal: AbortSignal
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

const setIfAbsent = (headers: Headers, name: string, value: string): void => {
  if (!headers.has(name)) headers.set(name, value)
}

const headersOf = ({ key, outgoing, settings }: Call, { deadline, number }: Attempt): Headers => {
  const headers = new Headers(outgoing.headers)
  const { header, style } = settings.keyForm
  if (key !== undefined) setIfAbsent(headers, header, keys.render(key, style))
  // Another site would have to allow them by name, and a request that it would have answered fails.
  if (!settings.sendsHeaders || isCrossOrigin(outgoing)) return headers
  if (number > 1) setIfAbsent(headers, attemptHeader, String(number))
  if (deadline !== undefined) setIfAbsent(headers, deadlineHeader, deadline)
  return headers
}

const send = (call: Call, headers: Headers, signal: AbortSignal): Promise<Response> => {
  const { outgoing, settings } = call
  const { body, input, method, redirect, rest, url } = outgoing
  const fetch = settings.fetch ?? globalThis.fetch
  const own = [settings.keyForm.header, attemptHeader, deadlineHeader]
  const init = { ...rest, method, headers, signal }
  if (redirect !== "follow" || !own.some((name) => headers.has(name))) {
    return fetch(input, { ...init, ...body.take(), redirect })
  }
  // At once, and not with the outcome: a timeout may come in between.
  const onDropped = () => {
    call.keyed = false
  }
  return follow(fetch, { input, url, init, rest: elsewhere(outgoing), own, onDropped, body })
}

// The server could not be sure of the connection, or of the early data: either is over at the next attempt.
const once: ReadonlySet<number> = new Set([421, 425])

const spentNote = "its body is a stream that is read once: see the option bufferBody"

const failureOf = async (call: Call, response: Response, now: () => number): Promise<Judged | undefined> => {
  const { last, outgoing: { body, method, url }, settings } = call
  const { status } = response
  call.last = status
  if (status < 400 || (once.has(status) && status === last)) return undefined
  const failing = {
    method,
    url: response.url || url,
    status,
    headers: Object.fromEntries(response.headers),
    body: settings.profile.readsBody ? await jsonOf(response) : undefined
  }
  return judge(failing, now(), settings, body.replayable() ? undefined : spentNote)
}

/** The response, where it is not worth another attempt; otherwise it fails with a `ResponseError`. */
export const attempt = async (call: Call, info: Attempt): Promise<Response> => {
  const { outgoing, settings } = call
  const headers = headersOf(call, info)
  call.asked = undefined
  call.keyed = headers.has(settings.keyForm.header)
  // The caller's signal goes on to hold for the body, when the attempt is over.
  const signal = outgoing.signal === undefined ? info.signal : AbortSignal.any([outgoing.signal, info.signal])
  let response: Response
  try {
    response = await send(call, headers, signal)
  } catch (error) {
    throw settings.fetch === undefined ? networkError(error, outgoing) : error
  }
  if (info.signal.aborted) {
    // An attempt that was given up, and did not know it.
    cancel(response)
    throw info.signal.reason
  }
  const failure = await failureOf(call, response, info.now)
  if (failure === undefined) return response
  setResponse(failure.error, response)
  call.asked = failure.wait
  throw failure.error
}
