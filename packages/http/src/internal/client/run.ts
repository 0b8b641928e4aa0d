/** One request from its first attempt to its outcome. */
import * as Deadline from "@reprise/core/Deadline"
import * as Retry from "@reprise/core/Retry"
import * as RetryBudget from "@reprise/core/RetryBudget"
import { is as isExhausted, type RetryExhausted } from "@reprise/core/RetryExhausted"
import type * as Transience from "@reprise/core/Transience"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as HttpClientError from "effect/http/HttpClientError"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import type * as HttpClientResponse from "effect/http/HttpClientResponse"
import * as Option from "effect/Option"
import { readsBody } from "../hints/profiles.ts"
import { judge } from "../semantics/judge.ts"
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
  readonly generated: marks.KeyForm | undefined
  /** Whether the body failed by itself. */
  readonly broken: () => boolean
  /** The budget of an origin, which knows of the hint in force there. */
  readonly budgetOf: (origin: string) => RetryBudget.Holding
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

// The server could not be sure of the connection, or of the early data: either is over at the next attempt.
const once: ReadonlySet<number> = new Set([421, 425])

/** The wait that an origin asks for is in force for all, as long as this client would wait. */
const heeded = (run: Run, { url }: Response, wait: number): Effect.Effect<void> =>
  // A redirect may have led elsewhere.
  run.budgetOf(URL.canParse(url) ? new URL(url).origin : run.origin).hold(Math.min(wait, run.settings.hintLimit))

// A caller that gets the response as it is waits for its body, which may have no end.
const longestLook = 1000

/** How many milliseconds a body may be waited for: the attempt is not to end of it. */
const patienceOf = ({ began, settings: { attemptTimeout } }: Run): Effect.Effect<number> =>
  Effect.flatMap(Deadline.remaining, (deadline) =>
    Effect.map(monotonicMillis, (now) => {
      const left = attemptTimeout === undefined
        ? Infinity
        : Duration.toMillis(Duration.fromInputUnsafe(attemptTimeout)) - (now - began)
      const most = Option.match(deadline, { onNone: () => Infinity, onSome: Duration.toMillis })
      return Math.max(0, Math.min(longestLook, left / 2, most / 2))
    }))

const monotonicMillis = /* @__PURE__ */ Effect.map(Clock.monotonicTimeNanos, (nanos) => Number(nanos) / 1e6)

/** The response, or the error that it is where it is worth a retry. `refused` is what it came as, if not as itself. */
const judged = (run: Run, given: Response, refused?: unknown): Effect.Effect<Response, ResponseError> => {
  const { status } = given
  if (status < 400) return Effect.succeed(given)
  const { seen, settings } = run
  if (seen.has(status)) return Effect.succeed(given)
  if (once.has(status)) seen.add(status)
  const looked = readsBody(settings.profile, status) && refused === undefined && given.request.method !== "HEAD"
    ? Effect.flatMap(patienceOf(run), (longest) => unread.look(given, longest))
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
      return wait === 0 ? Effect.fail(error) : Effect.andThen(heeded(run, response, wait), Effect.fail(error))
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
  return Effect.map(drain.drain(pending.response, settings.excerpt), (excerpt) => {
    if (excerpt !== "") setExcerpt(pending.error, excerpt)
  })
}

// A body that is there already is read in no time, and for another nobody waits, neither a retry nor the caller.
const patience = 50

/** The same, and goes on when it has begun. */
const putAway = (run: Run): Effect.Effect<void> =>
  run.pending === undefined
    ? Effect.void
    : Effect.flatMap(
      Effect.forkDetach(drained(run), { startImmediately: true }),
      (fiber) => Effect.asVoid(Effect.timeoutOption(Fiber.await(fiber), patience))
    )

const cancelled = (run: Run): Effect.Effect<void> =>
  run.pending === undefined ? Effect.void : drain.cancel(run.pending.response)

const passed = ({ refused, response }: Answer): Effect.Effect<Response, unknown> =>
  refused === undefined ? Effect.succeed(response) : Effect.fail(refused)

/** What a client without retries would have come to. */
const unexhausted = (run: Run, { lastError }: RetryExhausted): Effect.Effect<Response, unknown> => {
  const { answer, pending, request } = run
  if (pending !== undefined && pending.error === lastError) return passed(pending)
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
  return Effect.andThen(putAway(run), Effect.fail(failed))
}

/** The run is over: a response that the policy leaves alone passes after all, and another goes out of the way. */
const ended = (run: Run, cause: Cause.Cause<unknown>): Effect.Effect<Response, unknown> => {
  const { failure, pending, settings } = run
  const error = Option.getOrUndefined(Cause.findErrorOption(cause))
  if (pending !== undefined && error === pending.error) return passed(pending)
  // A client beneath may have retries of its own, and then that is its error.
  if (settings.exhausted === "response" && isExhausted(error) && error !== failure) return unexhausted(run, error)
  return Effect.andThen(putAway(run), Effect.failCause(cause))
}

const begun = (run: Run): Effect.Effect<void> =>
  Effect.flatMap(monotonicMillis, (now) => {
    run.began = now
    return putAway(run)
  })

const attempt = <E, R>(
  send: attempts.Send<E, R>,
  run: Run,
  request: Request
): Effect.Effect<Response, E | ResponseError, R> =>
  Effect.flatMap(
    Effect.andThen(begun(run), Retry.Attempt),
    ({ number }) =>
      Effect.matchEffect(attempts.make(send, run, request, number), {
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
  )

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
): marks.KeyForm | undefined => {
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
    budget: run.budgetOf(origin),
    origin: origin === "" ? undefined : origin,
    repeatable: repeatable(run),
    onEvent,
    onRetry: (event: Retry.RetryEvent) => {
      const before = settings.exhausted === "response" ? Effect.void : putAway(run)
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
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const settings = config.settings(yield* Current)
      const said = marks.read(original)
      const keyHeaders = keyHeadersOf(said, settings)
      const bare = marks.remove(original)
      const generated = generatedOf(bare, said, settings, keyHeaders)
      const left = Option.getOrElse(yield* Deadline.remaining, () => Duration.infinity)
      const longest = Duration.min(left, Duration.fromInputUnsafe(settings.attemptTimeout ?? Duration.infinity))
      const { broken, close, request, spent } = yield* restore(
        body.prepare(bare, Duration.isFinite(longest) ? longest : undefined)
      )
      const origins = config.origins(settings.budget ?? (settings.contextual ? yield* RetryBudget.Current : undefined))
      const now = yield* monotonicMillis
      const run: Run = {
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
        budgetOf: (origin) => origins.of(origin, now),
        origin: originOf(request),
        began: now,
        answer: undefined,
        pending: undefined,
        failure: undefined,
        seen: new Set()
      }
      // After a success the rest of the body may still be on its way, and is closed by whoever reads it.
      return yield* Effect.onError(restore(retried(send, run)), () => close)
    })
  )
