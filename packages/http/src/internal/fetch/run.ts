/** A call of the retrying `fetch`, from its arguments to its promise. */
import * as Deadline from "@reprise/core/Deadline"
import * as IdempotencyKey from "@reprise/core/IdempotencyKey"
import * as Retry from "@reprise/core/Retry"
import * as RetryExhausted from "@reprise/core/RetryExhausted"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import { isIdempotent, nameOf } from "../semantics/method.ts"
import { putAway } from "../semantics/drain.ts"
import { setExcerpt } from "../semantics/responseError.ts"
import { attemptMillis } from "../semantics/patience.ts"
import { monotonicMillis } from "../semantics/time.ts"
import { attempt, type Call } from "./attempt.ts"
import { hasKey } from "../semantics/key.ts"
import { type Outgoing, read } from "./outgoing.ts"
import { cancel, drain } from "./responses.ts"
import type { Settings } from "./settings.ts"

const described = ({ headers, method, url }: Outgoing) => ({ method, url, headers: new Headers(headers) })

const isRepeatable = ({ idempotent }: Settings, outgoing: Outgoing): boolean =>
  isIdempotent(outgoing.method) ||
  (typeof idempotent === "function" ? idempotent(described(outgoing)) : idempotent === true)

/** The key of a request that needs one, the same for all its attempts. */
const keyOf = (settings: Settings, outgoing: Outgoing): Effect.Effect<IdempotencyKey.IdempotencyKey | undefined> => {
  const { idempotencyKey } = settings
  if (isIdempotent(outgoing.method) || hasKey(outgoing.headers, settings.keyHeaders)) return Effect.undefined
  if (idempotencyKey === true) return IdempotencyKey.generate
  const key = typeof idempotencyKey === "function" ? idempotencyKey(described(outgoing)) : idempotencyKey
  return typeof key === "string" ? Effect.succeed(IdempotencyKey.make(key)) : Effect.undefined
}

/** What a function of the caller's returns, whether or not it is a promise. */
const promised = <A>(f: () => A | PromiseLike<A>): Effect.Effect<A> => Effect.promise(async () => f())

/** Takes the pending response out of the way, and keeps what its error is to show of it. */
const drained = (call: Call): Effect.Effect<void> =>
  Effect.suspend(() => {
    const { pending, settings } = call
    if (pending === undefined) return Effect.void
    call.pending = undefined
    const { error, response } = pending
    return drain(response, {
      excerptBytes: error === undefined ? 0 : settings.excerpt,
      tell: (excerpt) => error && setExcerpt(error, excerpt)
    })
  })

const away = (call: Call): Effect.Effect<void> =>
  Effect.suspend(() => call.pending === undefined ? Effect.void : putAway(drained(call)))

/** The answer that a failed call comes to all the same. */
const answerOf = ({ pending, settings: { exhausted } }: Call, error: unknown): Response | undefined => {
  if (pending?.error === undefined) return undefined
  // Without a retry by the policy or by `when`, it is an answer as any other.
  const passes = error === pending.error ||
    (exhausted === "response" && RetryExhausted.is(error) && error.lastError === pending.error)
  return passes ? pending.response : undefined
}

const attempts = (call: Call): Effect.Effect<Response, unknown> =>
  Effect.withFiber((fiber) => {
    const { number } = fiber.getRef(Retry.Attempt)
    const attempted = Effect.flatMap(
      Deadline.toHeader,
      (left) => attempt(call, { number, deadline: Option.getOrUndefined(left) })
    )
    // The response that was kept in case that there would be no other attempt. Nobody waits for its end.
    return call.pending === undefined
      ? attempted
      : Effect.andThen(Effect.forkDetach(drained(call), { startImmediately: true }), attempted)
  })

const runOf = (call: Call): Effect.Effect<Response, unknown> => {
  const { outgoing: { body, method, origin, signal }, settings } = call
  const { deadline, exhausted, told, when } = settings
  return Retry.run(attempts(call), settings.policy, {
    name: settings.name ?? nameOf(method),
    origin,
    // Without one nothing would end an attempt at the deadline.
    attemptTimeout: settings.attemptTimeout ?? deadline,
    budget: settings.origins.of(origin, call.began),
    repeatable: (error: unknown) =>
      body.replayable() &&
      (call.repeatable || call.keyed || (!call.doubtful && settings.transience.notApplied(error))),
    // A caller that went away is not asked, and wants no other attempt.
    when: (error: unknown) =>
      signal?.aborted === true
        ? Effect.succeed(false)
        : when === undefined
        ? Effect.succeed(true)
        : promised(() => when(error)),
    onRetry: (event: Retry.RetryEvent) =>
      Effect.andThen(
        exhausted === "error" ? away(call) : Effect.void,
        told === undefined ? Effect.void : promised(() => told(event))
      )
  }).pipe(
    Effect.tapError((error) => answerOf(call, error) === undefined ? away(call) : Effect.void)
  )
}

const outcome = (
  { body, signal }: Outgoing,
  call: Call | undefined,
  exit: Exit.Exit<Response, unknown>
): Response => {
  if (exit._tag === "Success") return exit.value
  const error = Cause.squash(exit.cause)
  const aborted = signal?.aborted === true
  const reason: unknown = aborted ? signal.reason : error
  body.cancel(reason)
  const answer = call === undefined ? undefined : answerOf(call, error)
  if (answer !== undefined && !aborted) return answer
  cancel(call?.pending?.response)
  throw reason
}

/** The call, with its body as it will be sent. */
const begun = (settings: Settings, given: Outgoing): Effect.Effect<Call> => {
  const { body: { prepared } } = given
  const body = prepared === undefined ? Effect.succeed(given.body) : prepared(attemptMillis(settings))
  return Effect.flatMap(
    body,
    (body) =>
      Effect.flatMap(keyOf(settings, given), (key) =>
        Effect.map(monotonicMillis, (began) => ({
          settings,
          outgoing: { ...given, body },
          key,
          repeatable: isRepeatable(settings, given),
          began,
          method: given.method,
          keyed: false,
          doubtful: false,
          pending: undefined,
          met: new Set<number>()
        })))
  )
}

export const run = async (
  settings: Settings,
  input: RequestInfo | URL,
  init: RequestInit | null
): Promise<Response> => {
  const outgoing = read(input, init ?? {}, settings.bufferBody)
  const { signal } = outgoing
  signal?.throwIfAborted()
  let call: Call | undefined
  const whole = Effect.flatMap(begun(settings, outgoing), (made) => {
    call = made
    return runOf(made)
  })
  const bounded = settings.deadline === undefined ? whole : Deadline.within(whole, settings.deadline)
  const exit = await Effect.runPromiseExit(bounded, signal === undefined ? {} : { signal })
  return outcome(outgoing, call, exit)
}
