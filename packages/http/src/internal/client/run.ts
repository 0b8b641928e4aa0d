/** One request from its first attempt to its outcome. */
import * as Retry from "@reprise/core/Retry"
import * as RetryBudget from "@reprise/core/RetryBudget"
import { is as isExhausted, type RetryExhausted } from "@reprise/core/RetryExhausted"
import type * as Transience from "@reprise/core/Transience"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as HttpClientError from "effect/http/HttpClientError"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import type * as HttpClientResponse from "effect/http/HttpClientResponse"
import * as Option from "effect/Option"
import { readsBody } from "../hints/profiles.ts"
import { putAway } from "../semantics/drain.ts"
import { isOver, judge } from "../semantics/judge.ts"
import { heed, type Origins } from "../semantics/origins.ts"
import * as patience from "../semantics/patience.ts"
import { monotonicMillisOf } from "../semantics/time.ts"
import * as attempts from "./attempt.ts"
import * as body from "./body.ts"
import { type Config, Current } from "./config.ts"
import * as drain from "./drain.ts"
import * as key from "../semantics/key.ts"
import * as marks from "./marks.ts"
import * as method from "../semantics/method.ts"
import { isResponseError, type ResponseError, setExcerpt } from "../semantics/responseError.ts"
import type { Settings } from "../semantics/settings.ts"
import { bodyNote, explained } from "./transportError.ts"
import * as unread from "./unread.ts"

type Request = HttpClientRequest.HttpClientRequest
type Response = HttpClientResponse.HttpClientResponse

/** Where a request goes: scheme, host and port; empty where that is not known. */
const originOf = (request: Request): string =>
  Option.match(HttpClientRequest.toUrl(request), { onNone: () => "", onSome: ({ origin }) => origin })

interface Run extends attempts.Journey {
  readonly request: Request
  /** How a key of the run's own is written, where it has one. */
  readonly generated: key.KeyForm | undefined
  /** Whether the body failed by itself. */
  readonly broken: () => boolean
  /** The budgets by origin, which know of the hints in force. */
  readonly origins: Origins
  /** When the attempt began, in monotonic milliseconds. */
  began: number
  /** The last failing response. */
  answer: Answer | undefined
  /** The same, where nobody has read it yet. */
  pending: Answer | undefined
  /** What the last attempt failed with that was no response. */
  failure: unknown
  /** Those statuses that are worth one more attempt in a run and not two. */
  readonly seen: Set<number>
}

interface Answer {
  readonly error: ResponseError
  readonly response: Response
  /** What the attempt comes to where the policy leaves the response alone, if it is not the response. */
  readonly refused: unknown
}

/** The response, or the error that it is where it is worth a retry. `refused` is what it came as, if not as itself. */
const judged = (run: Run, given: Response, refused?: unknown): Effect.Effect<Response, ResponseError> => {
  const { status } = given
  if (status < 400) return Effect.succeed(given)
  const { seen, settings } = run
  if (isOver(seen, status)) return Effect.succeed(given)
  const looked = readsBody(settings.profile, status) && refused === undefined && given.request.method !== "HEAD"
    ? Effect.flatMap(patience.look(settings, run.began), (longest) => unread.look(given, longest))
    : Effect.succeed({ response: given, body: undefined })
  return Effect.flatMap(looked, ({ body, response }) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const { headers, request: { method, url: asked }, url } = response
      const failing = { method, url: url || asked, status, headers, body, elsewhere: run.elsewhere }
      const made = judge(failing, now, settings, run.spent() ? bodyNote : undefined)
      if (made === undefined) return Effect.succeed(response)
      const { error, wait = 0 } = made
      run.answer = { error, response, refused }
      run.pending = run.answer
      if (wait === 0) return Effect.fail(error)
      // As long as this client would wait.
      const heeded = heed(run.origins, run.origin, response.url, Math.min(wait, settings.hintLimit))
      return Effect.andThen(heeded, Effect.fail(error))
    }))
}

/** The response of an error of a client that has looked at the status itself. */
const statusResponse = (error: unknown): Response | undefined =>
  HttpClientError.isHttpClientError(error) && error.reason._tag === "StatusCodeError"
    ? error.reason.response
    : undefined

/** Takes the pending response out of the way, and keeps what its error is to show of it. */
const drained = (run: Run): Effect.Effect<void> => {
  const { pending, settings } = run
  if (pending === undefined) return Effect.void
  run.pending = undefined
  const { error, response } = pending
  return drain.drain(response, { excerptBytes: settings.excerpt, tell: (excerpt) => setExcerpt(error, excerpt) })
}

/** The same, and goes on when it has begun. */
const away = (run: Run): Effect.Effect<void> => run.pending === undefined ? Effect.void : putAway(drained(run))

const cancelled = (run: Run): Effect.Effect<void> =>
  run.pending === undefined ? Effect.void : drain.cancel(run.pending.response)

/** Hands a response over as it came: its body is the caller's from here on. */
const passed = (run: Run, { refused, response }: Answer): Effect.Effect<Response, unknown> => {
  run.pending = undefined
  return refused === undefined ? Effect.succeed(response) : Effect.fail(refused)
}

/** What a client without retries would have come to. */
const unexhausted = (run: Run, { lastError }: RetryExhausted): Effect.Effect<Response, unknown> => {
  const { answer, pending, request } = run
  if (pending !== undefined && pending.error === lastError) return passed(run, pending)
  const failed = isResponseError(lastError) && answer?.error === lastError
    // Its body is gone.
    ? new HttpClientError.HttpClientError({
      reason: new HttpClientError.StatusCodeError({ request, response: answer.response })
    })
    : Cause.isTimeoutError(lastError)
    ? new HttpClientError.HttpClientError({
      reason: new HttpClientError.TransportError({
        request,
        cause: lastError,
        description: "the attempt took too long"
      })
    })
    : lastError
  return Effect.andThen(away(run), Effect.fail(failed))
}

/** The run is over: a response that the policy leaves alone passes after all, and another goes out of the way. */
const ended = (run: Run, cause: Cause.Cause<unknown>): Effect.Effect<Response, unknown> => {
  const { failure, pending, settings } = run
  const error = Option.getOrUndefined(Cause.findErrorOption(cause))
  if (pending !== undefined && error === pending.error) return passed(run, pending)
  // A client beneath may have retries of its own, and then that is its error.
  if (settings.exhausted === "response" && isExhausted(error) && error !== failure) return unexhausted(run, error)
  return Effect.andThen(away(run), Effect.failCause(cause))
}

const attempt = <E, R>(
  send: attempts.Send<E, R>,
  run: Run,
  request: Request
): Effect.Effect<Response, E | ResponseError, R> =>
  Effect.withFiber((fiber) => {
    run.began = monotonicMillisOf(fiber.getRef(Clock.Clock))
    const attempted = Effect.matchEffect(attempts.make(send, run, request, fiber.getRef(Retry.Attempt).number), {
      onSuccess: (response) => judged(run, response),
      onFailure: (error): Effect.Effect<never, E | ResponseError> => {
        const response = statusResponse(error)
        if (response === undefined) {
          run.failure = explained(error, run.broken(), run.spent())
          return Effect.fail(run.failure as E) // What explains an error keeps its kind.
        }
        return Effect.andThen(judged(run, response, error), Effect.fail(error))
      }
    })
    return run.pending === undefined ? attempted : Effect.andThen(away(run), attempted)
  })

/**
 * Whether a failed attempt certainly did nothing. What no transport has failed with may come from anywhere, also after
 * the request has succeeded: then its author must have said so.
 */
const didNothing = ({ elsewhere, settings: { transience } }: Run, error: unknown): boolean => {
  if (isResponseError(error)) return error.applied === "no"
  const { applied, reader } = transience.classify(error)
  return applied === "no" && (!elsewhere || (!HttpClientError.isHttpClientError(error) && authors.has(reader)))
}

const authors: ReadonlySet<Transience.Reader> = new Set(["self", "rule"])

/** Whether the request may be sent again after a failure that is worth it. */
const repeatable = (run: Run) => (error: unknown): boolean =>
  !run.spent() && (run.idempotent || run.keyed || didNothing(run, error))

/** The headers in which a key may stand. */
const keyHeadersOf = (said: marks.Marks, { generate }: Settings): ReadonlyArray<string> =>
  [key.standardHeader, said.keyHeader, said.generate?.header, generate?.header].filter((name) => name !== undefined)

/** How the key that the run makes is written; undefined where none is wanted, or one is there. */
const generatedOf = (
  request: Request,
  said: marks.Marks,
  { generate }: Settings,
  keyHeaders: ReadonlyArray<string>
): key.KeyForm | undefined => {
  const form = said.generate ?? (method.isIdempotent(request.method) ? undefined : generate)
  return form === undefined || key.hasOne(request, keyHeaders) ? undefined : form
}

/** Sends a prepared request, again where that is worth it and safe. */
const retried = <E, R>(send: attempts.Send<E, R>, run: Run): Effect.Effect<Response, unknown, R> => {
  const { generated, origin, request, settings } = run
  const { attemptTimeout, name = method.nameOf(request.method), onEvent, onRetry, policy } = settings
  const options = {
    name,
    attemptTimeout,
    budget: run.origins.of(origin, run.began),
    origin: origin === "" ? undefined : origin,
    repeatable: repeatable(run),
    onEvent,
    onRetry: (event: Retry.RetryEvent) => {
      const before = settings.exhausted === "response" ? Effect.void : away(run)
      return onRetry === undefined ? before : Effect.andThen(before, onRetry(event))
    }
  }
  // A key that is made here is the run's: core makes it, and leaves no retries of such a run to those around it.
  const self = generated === undefined
    ? Retry.run(attempt(send, run, request), policy, options)
    : Retry.runKeyed(
      policy,
      (made) =>
        attempt(send, run, HttpClientRequest.setHeader(request, generated.header, key.render(made, generated.style))),
      options
    )
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
  Effect.withFiber((fiber) => {
    const settings = config.settings(fiber.getRef(Current))
    const said = marks.read(original)
    const keyHeaders = keyHeadersOf(said, settings)
    const bare = marks.remove(original)
    const generated = generatedOf(bare, said, settings, keyHeaders)
    const begun = ({ broken, request, spent }: body.Prepared): Effect.Effect<Response, unknown, R> => {
      const shared = settings.budget ?? (settings.contextual ? fiber.getRef(RetryBudget.Current) : undefined)
      return retried(send, {
        settings,
        request,
        generated,
        idempotent: method.isIdempotent(request.method) || said.idempotent,
        keyHeaders,
        spent,
        broken,
        sends: 0,
        keyed: false,
        elsewhere: false,
        origins: config.origins(shared),
        origin: originOf(request),
        began: monotonicMillisOf(fiber.getRef(Clock.Clock)),
        answer: undefined,
        pending: undefined,
        failure: undefined,
        seen: new Set()
      })
    }
    const prepared = body.prepare(bare, patience.attemptMillis(settings))
    if (!Effect.isEffect(prepared)) return begun(prepared)
    return Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(restore(prepared), (prepared) =>
        // After a success the rest of the body may still be on its way, and is closed by whoever reads it.
        Effect.onError(restore(Effect.suspend(() => begun(prepared))), () => prepared.close))
    )
  })
