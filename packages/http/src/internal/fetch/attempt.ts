/** One attempt of a call: its headers, its redirects, and what its outcome means. */
import type { IdempotencyKey } from "@reprise/core/IdempotencyKey"
import * as keys from "../client/key.ts"
import { attemptHeader, deadlineHeader } from "../semantics/headers.ts"
import { type Judged, judge } from "../semantics/judge.ts"
import { jsonOf } from "./json.ts"
import { networkError } from "./networkError.ts"
import { elsewhere, isCrossOrigin, type Outgoing } from "./outgoing.ts"
import { type Answer, follow } from "./redirect.ts"
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

const send = async ({ outgoing, settings }: Call, headers: Headers, signal: AbortSignal): Promise<Answer> => {
  const { body, input, method, redirect, rest, url } = outgoing
  const fetch = settings.fetch ?? globalThis.fetch
  const own = [settings.keyForm.header, attemptHeader, deadlineHeader]
  const init = { ...rest, method, headers, signal }
  return redirect === "follow" && own.some((name) => headers.has(name))
    ? follow(fetch, { input, url, init, rest: elsewhere(outgoing), own, body, dropped: false })
    : { response: await fetch(input, { ...init, ...body.take(), redirect }), dropped: false }
}

const failureOf = async (
  { outgoing: { method, url }, settings }: Call,
  response: Response,
  now: () => number
): Promise<Judged | undefined> => {
  if (response.status < 400) return undefined
  const failing = {
    method,
    url: response.url || url,
    status: response.status,
    headers: Object.fromEntries(response.headers),
    body: settings.profile.readsBody ? await jsonOf(response) : undefined
  }
  return judge(failing, now(), settings)
}

/** The response, where it is not worth another attempt; otherwise it fails with a `ResponseError`. */
export const attempt = async (call: Call, info: Attempt): Promise<Response> => {
  const { outgoing, settings } = call
  const headers = headersOf(call, info)
  call.asked = undefined
  const carries = headers.has(settings.keyForm.header)
  call.keyed = carries
  // The caller's signal goes on to hold for the body, when the attempt is over.
  const signal = outgoing.signal === undefined ? info.signal : AbortSignal.any([outgoing.signal, info.signal])
  let answer: Answer
  try {
    answer = await send(call, headers, signal)
  } catch (error) {
    throw settings.fetch === undefined ? networkError(error, outgoing) : error
  }
  const { dropped, response } = answer
  // An attempt that was given up may not know it.
  if (info.signal.aborted) cancel(response)
  call.keyed = carries && !dropped
  const failure = await failureOf(call, response, info.now)
  if (failure === undefined) return response
  setResponse(failure.error, response)
  call.asked = failure.wait
  throw failure.error
}
