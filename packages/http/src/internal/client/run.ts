/** One request from its first attempt to its outcome. */
import * as IdempotencyKey from "@reprise/core/IdempotencyKey"
import * as Retry from "@reprise/core/Retry"
import * as RetryBudget from "@reprise/core/RetryBudget"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as HttpClientError from "effect/http/HttpClientError"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import type * as HttpClientResponse from "effect/http/HttpClientResponse"
import * as Option from "effect/Option"
import * as attempts from "./attempt.ts"
import * as body from "./body.ts"
import * as drain from "./drain.ts"
import * as key from "./key.ts"
import * as marks from "./marks.ts"
import * as method from "./method.ts"
import * as origins from "./origins.ts"
import { isResponseError, type ResponseError, setExcerpt } from "./responseError.ts"
import type { Settings } from "./settings.ts"
import * as unread from "./unread.ts"
import * as verdict from "./verdict.ts"

type Request = HttpClientRequest.HttpClientRequest
type Response = HttpClientResponse.HttpClientResponse

/** What all requests of a client share. */
export interface Client {
  /** The budgets by origin, for those of the context, or for the client's own. */
  readonly origins: (shared: RetryBudget.RetryBudget | undefined) => origins.Origins
}

/** Where a request goes: scheme, host and port; empty where that is not known. */
const originOf = (request: Request): string =>
  Option.match(HttpClientRequest.toUrl(request), { onNone: () => "", onSome: ({ origin }) => origin })

interface Run extends attempts.Journey {
  readonly budget: RetryBudget.Holding
  readonly origin: string
  /** A failing response that nobody has read yet, and what became of it. */
  pending: { readonly error: ResponseError; readonly response: Response } | undefined
  /** The last status, for those that are worth one more attempt and not two. */
  last: number
}

const bodyNote = "its body is a stream that is read once: see HttpRetry.bufferUpTo and HttpRetry.replayable"

// The server could not be sure of the connection, or of the early data: either is over at the next attempt.
const once: ReadonlySet<number> = new Set([421, 425])

/** The response, or the error that it is where it is worth a retry. */
const judged = (run: Run, given: Response): Effect.Effect<Response, ResponseError> => {
  const { status } = given
  if (status < 400) return Effect.succeed(given)
  const { last, settings } = run
  run.last = status
  if (once.has(status) && status === last) return Effect.succeed(given)
  const looked = settings.profile.readsBody ? unread.look(given) : Effect.succeed({ response: given, body: undefined })
  return Effect.flatMap(looked, ({ body, response }) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const made = verdict.judge(response, body, now, settings, run.spent() ? bodyNote : undefined)
      if (made === undefined) return Effect.succeed(response)
      run.pending = { error: made.error, response }
      const fail = Effect.fail(made.error)
      return made.wait === undefined || made.wait === 0
        ? fail
        : Effect.andThen(run.budget.hold(Math.min(made.wait, settings.hintLimit)), fail)
    }))
}

/** A failure of the transport, which says of the body what nobody would guess. */
const explained = <E>(run: Run, error: E): E => {
  if (!run.spent() || !HttpClientError.isHttpClientError(error) || error.reason._tag !== "TransportError") return error
  const { cause, description, request } = error.reason
  const said = description === undefined ? bodyNote : `${description}; ${bodyNote}`
  const reason = new HttpClientError.TransportError({ request, cause, description: said })
  return new HttpClientError.HttpClientError({ reason }) as E & HttpClientError.HttpClientError // As it came.
}

/** The response of an error of a client that has looked at the status itself. */
const statusResponse = (error: unknown): Response | undefined =>
  HttpClientError.isHttpClientError(error) && error.reason._tag === "StatusCodeError" ? error.reason.response : undefined

const attempt = <E, R>(send: attempts.Send<E, R>, run: Run): Effect.Effect<Response, E | ResponseError, R> =>
  Effect.flatMap(Retry.Attempt, ({ number }) =>
    Effect.matchEffect(attempts.make(send, run, number), {
      onSuccess: (response) => judged(run, response),
      onFailure: (error): Effect.Effect<never, E | ResponseError> => {
        const response = statusResponse(error)
        if (response === undefined) return Effect.fail(explained(run, error))
        return Effect.andThen(judged(run, response), Effect.fail(error))
      }
    }))

/** Takes the pending response out of the way, and keeps what its error is to show of it. */
const drained = (run: Run): Effect.Effect<void> => {
  const { pending, settings } = run
  if (pending === undefined) return Effect.void
  run.pending = undefined
  return Effect.map(drain.drain(pending.response, settings.excerpt), (excerpt) => {
    if (excerpt !== "") setExcerpt(pending.error, excerpt)
  })
}

const cancelled = (run: Run): Effect.Effect<void> => run.pending === undefined ? Effect.void : drain.cancel(run.pending.response)

/** The run is over: a response that the policy leaves alone passes after all, and another goes out of the way. */
const ended = <E>(run: Run, cause: Cause.Cause<E>): Effect.Effect<Response, E> => {
  const { pending } = run
  if (pending === undefined) return Effect.failCause(cause)
  const error = Option.getOrUndefined(Cause.findErrorOption(cause))
  return isResponseError(error)
    ? Effect.succeed(pending.response)
    : Effect.andThen(drained(run), Effect.failCause(cause))
}

/** Whether the request may be sent again after a failure that is worth it. */
const repeatable = ({ settings: { transience }, spent }: Run, safe: boolean) => (error: unknown): boolean =>
  !spent() && (safe || (isResponseError(error) ? error.applied === "no" : transience.notApplied(error)))

/** The header for the key, and the request that has it where one is wanted. */
const withKey = (request: Request, said: marks.Marks, { generate }: Settings): Effect.Effect<Request> => {
  const form = said.generate ?? (method.isIdempotent(request.method) ? undefined : generate)
  if (form === undefined || request.headers[form.header] || (said.generate === undefined && hasKey(request, said))) {
    return Effect.succeed(request)
  }
  return Effect.map(
    IdempotencyKey.generate,
    (made) => HttpClientRequest.setHeader(request, form.header, key.render(made, form.style))
  )
}

const keyHeaderOf = ({ generate, keyHeader }: marks.Marks, settings: Settings): string =>
  generate?.header ?? keyHeader ?? settings.generate?.header ?? key.standardHeader

const hasKey = (request: Request, said: marks.Marks): boolean =>
  Boolean(request.headers[said.keyHeader ?? key.standardHeader])

/** Sends a request under the settings. */
export const make = <E, R>(
  client: Client,
  send: attempts.Send<E, R>,
  settings: Settings,
  original: Request
): Effect.Effect<Response, unknown, R> =>
  Effect.gen(function*() {
    const said = marks.read(original)
    const keyed = yield* withKey(marks.remove(original), said, settings)
    const { close, request, spent } = yield* body.prepare(keyed)
    const origin = originOf(request)
    const now = Number(yield* Clock.monotonicTimeNanos) / 1e6
    const budget = client.origins(settings.budget ?? (yield* RetryBudget.Current)).of(origin, now)
    const keyHeader = keyHeaderOf(said, settings)
    const run: Run = { settings, request, keyHeader, spent, sends: 0, budget, origin, pending: undefined, last: 0 }
    const safe = method.isIdempotent(request.method) || said.idempotent || Boolean(request.headers[keyHeader])
    const { attemptTimeout, name = method.nameOf(request.method), onEvent, onRetry, policy } = settings
    const retried = Retry.run(attempt(send, run), policy, {
      name,
      attemptTimeout,
      budget,
      origin: origin === "" ? undefined : origin,
      repeatable: repeatable(run, safe),
      onEvent,
      onRetry: (event: Retry.RetryEvent) =>
        onRetry === undefined ? drained(run) : Effect.andThen(drained(run), onRetry(event))
    })
    return yield* retried.pipe(
      Effect.catchCause((cause) => ended(run, cause)),
      Effect.onExit((exit) => exit._tag === "Failure" ? Effect.andThen(cancelled(run), close) : close)
    )
  })
