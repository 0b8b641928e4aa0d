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
import { judge } from "../semantics/judge.ts"
import * as attempts from "./attempt.ts"
import * as body from "./body.ts"
import { type Config, Current } from "./config.ts"
import * as drain from "./drain.ts"
import * as key from "./key.ts"
import * as marks from "./marks.ts"
import * as method from "./method.ts"
import { isResponseError, type ResponseError, setExcerpt } from "./responseError.ts"
import type { Settings } from "./settings.ts"
import { bodyNote, explained } from "./transportError.ts"
import * as unread from "./unread.ts"

type Request = HttpClientRequest.HttpClientRequest
type Response = HttpClientResponse.HttpClientResponse

/** Where a request goes: scheme, host and port; empty where that is not known. */
const originOf = (request: Request): string =>
  Option.match(HttpClientRequest.toUrl(request), { onNone: () => "", onSome: ({ origin }) => origin })

interface Run extends attempts.Journey {
  /** Whether the body failed by itself. */
  readonly broken: () => boolean
  /** The budget of an origin, which knows of the hint in force there. */
  readonly budgetOf: (origin: string) => RetryBudget.Holding
  /** A failing response that nobody has read yet, and what the attempt comes to where the policy leaves it alone. */
  pending: { readonly error: ResponseError; readonly response: Response; readonly refused: unknown } | undefined
  /** The last status, for those that are worth one more attempt and not two. */
  last: number
}

// The server could not be sure of the connection, or of the early data: either is over at the next attempt.
const once: ReadonlySet<number> = new Set([421, 425])

/** The wait that an origin asks for is in force for all, as long as this client would wait. */
const heeded = (run: Run, { url }: Response, wait: number): Effect.Effect<void> =>
  // A redirect may have led elsewhere.
  run.budgetOf(URL.canParse(url) ? new URL(url).origin : run.origin).hold(Math.min(wait, run.settings.hintLimit))

/** The response, or the error that it is where it is worth a retry. `refused` is what it came as, if not as itself. */
const judged = (run: Run, given: Response, refused?: unknown): Effect.Effect<Response, ResponseError> => {
  const { status } = given
  if (status < 400) return Effect.succeed(given)
  const { last, settings } = run
  run.last = status
  if (once.has(status) && status === last) return Effect.succeed(given)
  const looked = settings.profile.readsBody && refused === undefined && given.request.method !== "HEAD"
    ? unread.look(given)
    : Effect.succeed({ response: given, body: undefined })
  return Effect.flatMap(looked, ({ body, response }) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const { headers, request: { method, url: asked }, url } = response
      const failing = { method, url: url || asked, status, headers, body }
      const made = judge(failing, now, settings, run.spent() ? bodyNote : undefined)
      if (made === undefined) return Effect.succeed(response)
      const { error, wait = 0 } = made
      run.pending = { error, response, refused }
      return wait === 0 ? Effect.fail(error) : Effect.andThen(heeded(run, response, wait), Effect.fail(error))
    }))
}

/** The response of an error of a client that has looked at the status itself. */
const statusResponse = (error: unknown): Response | undefined =>
  HttpClientError.isHttpClientError(error) && error.reason._tag === "StatusCodeError"
    ? error.reason.response
    : undefined

const attempt = <E, R>(send: attempts.Send<E, R>, run: Run): Effect.Effect<Response, E | ResponseError, R> =>
  Effect.flatMap(Retry.Attempt, ({ number }) =>
    Effect.matchEffect(attempts.make(send, run, number), {
      onSuccess: (response) => judged(run, response),
      onFailure: (error): Effect.Effect<never, E | ResponseError> => {
        const response = statusResponse(error)
        if (response === undefined) return Effect.fail(explained(error, run.broken(), run.spent()))
        return Effect.andThen(judged(run, response, error), Effect.fail(error))
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

const cancelled = (run: Run): Effect.Effect<void> =>
  run.pending === undefined ? Effect.void : drain.cancel(run.pending.response)

/** The run is over: a response that the policy leaves alone passes after all, and another goes out of the way. */
const ended = (run: Run, cause: Cause.Cause<unknown>): Effect.Effect<Response, unknown> => {
  const { pending } = run
  if (pending === undefined) return Effect.failCause(cause)
  const error = Option.getOrUndefined(Cause.findErrorOption(cause))
  if (error !== pending.error) return Effect.andThen(drained(run), Effect.failCause(cause))
  return pending.refused === undefined ? Effect.succeed(pending.response) : Effect.fail(pending.refused)
}

/** Whether the request may be sent again after a failure that is worth it. */
const repeatable = ({ settings: { transience }, spent }: Run, safe: boolean) => (error: unknown): boolean =>
  !spent() && (safe || (isResponseError(error) ? error.applied === "no" : transience.notApplied(error)))

/** The headers in which a key may stand. */
const keyHeadersOf = (said: marks.Marks, { generate }: Settings): ReadonlyArray<string> =>
  [key.standardHeader, said.keyHeader, said.generate?.header, generate?.header].filter((name) => name !== undefined)

const hasOne = (request: Request, headers: ReadonlyArray<string>): boolean =>
  headers.some((name) => Boolean(request.headers[name]))

/** The request with a key of its own, where one is wanted and none is there. */
const withKey = (
  request: Request,
  said: marks.Marks,
  { generate }: Settings,
  keyHeaders: ReadonlyArray<string>
): Effect.Effect<Request> => {
  const form = said.generate ?? (method.isIdempotent(request.method) ? undefined : generate)
  if (form === undefined || hasOne(request, keyHeaders)) return Effect.succeed(request)
  return Effect.map(
    IdempotencyKey.generate,
    (made) => HttpClientRequest.setHeader(request, form.header, key.render(made, form.style))
  )
}

/** Sends a prepared request, again where that is worth it and safe. */
const retried = <E, R>(send: attempts.Send<E, R>, run: Run, safe: boolean): Effect.Effect<Response, unknown, R> => {
  const { origin, request, settings } = run
  const { attemptTimeout, name = method.nameOf(request.method), onEvent, onRetry, policy } = settings
  const self = Retry.run(attempt(send, run), policy, {
    name,
    attemptTimeout,
    budget: run.budgetOf(origin),
    origin: origin === "" ? undefined : origin,
    repeatable: repeatable(run, safe),
    onEvent,
    onRetry: (event: Retry.RetryEvent) =>
      onRetry === undefined ? drained(run) : Effect.andThen(drained(run), onRetry(event))
  })
  return self.pipe(
    Effect.catchCause((cause) => ended(run, cause)),
    Effect.onExit((exit) => exit._tag === "Failure" ? cancelled(run) : Effect.void)
  )
}

/** A request from its first attempt to its outcome. */
export const make = <E, R>(
  config: Config,
  send: attempts.Send<E, R>,
  original: Request
): Effect.Effect<Response, unknown, R> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const settings = config.settings(yield* Current)
      const said = marks.read(original)
      const keyHeaders = keyHeadersOf(said, settings)
      const keyed = yield* withKey(marks.remove(original), said, settings, keyHeaders)
      const { broken, close, request, spent } = yield* restore(body.prepare(keyed))
      const origins = config.origins(settings.budget ?? (yield* RetryBudget.Current))
      const now = Number(yield* Clock.monotonicTimeNanos) / 1e6
      const run: Run = {
        settings,
        request,
        keyHeaders,
        spent,
        broken,
        sends: 0,
        budgetOf: (origin) => origins.of(origin, now),
        origin: originOf(request),
        pending: undefined,
        last: 0
      }
      const safe = method.isIdempotent(request.method) || said.idempotent || hasOne(request, keyHeaders)
      // After a success the rest of the body may still be on its way, and is closed by whoever reads it.
      return yield* Effect.onError(restore(retried(send, run, safe)), () => close)
    })
  )
