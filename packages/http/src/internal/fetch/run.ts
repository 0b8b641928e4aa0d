/** A call of the retrying `fetch`, from its arguments to its promise. */
import * as Deadline from "@reprise/core/Deadline"
import * as IdempotencyKey from "@reprise/core/IdempotencyKey"
import * as Retry from "@reprise/core/Retry"
import type * as RetryBudget from "@reprise/core/RetryBudget"
import * as RetryExhausted from "@reprise/core/RetryExhausted"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import { isIdempotent, nameOf } from "../client/method.ts"
import { attempt, type Call } from "./attempt.ts"
import { type Outgoing, read } from "./outgoing.ts"
import { cancel, take } from "./responses.ts"
import type { Settings } from "./settings.ts"

const described = ({ headers, method, url }: Outgoing) => ({ method, url, headers: new Headers(headers) })

const isRepeatable = ({ idempotent }: Settings, outgoing: Outgoing): boolean =>
  isIdempotent(outgoing.method) ||
  (typeof idempotent === "function" ? idempotent(described(outgoing)) : idempotent === true)

/** The key of a request that needs one, the same for all its attempts. */
const keyOf = (settings: Settings, outgoing: Outgoing): Effect.Effect<IdempotencyKey.IdempotencyKey | undefined> => {
  const { idempotencyKey } = settings
  if (isIdempotent(outgoing.method) || outgoing.headers.has(settings.keyForm.header)) return Effect.undefined
  if (idempotencyKey === true) return IdempotencyKey.generate
  const key = typeof idempotencyKey === "function" ? idempotencyKey(described(outgoing)) : idempotencyKey
  return typeof key === "string" ? Effect.succeed(IdempotencyKey.make(key)) : Effect.undefined
}

/** What a function of the caller's returns, whether or not it is a promise. */
const promised = <A>(f: () => A | PromiseLike<A>): Effect.Effect<A> => Effect.promise(async () => f())

const attempts = (call: Call, budget: RetryBudget.Holding): Effect.Effect<Response, unknown> =>
  Effect.gen(function* () {
    const { number, previous } = yield* Retry.Attempt
    const clock = yield* Clock.Clock
    const deadline = Option.getOrUndefined(yield* Deadline.toHeader)
    // The response that was kept in case that there would be no other attempt.
    cancel(take(previous))
    const now = () => clock.currentTimeMillisUnsafe()
    // @effect-diagnostics-next-line unknownInEffectCatch:off -- What a fetch rejects with has no type.
    return yield* Effect.tryPromise({
      try: (signal) => attempt(call, { number, deadline, signal, now }),
      catch: (error) => error
    })
  }).pipe(Effect.tapError(() => {
    const { asked = 0, settings: { hintLimit } } = call
    // What a run waits for, the others of the origin wait for.
    return asked === 0 ? Effect.void : budget.hold(Math.min(asked, hintLimit))
  }))

const runOf = (call: Call): Effect.Effect<Response, unknown> =>
  Effect.clockWith((clock) => {
    const { outgoing, settings } = call
    const { body, method, origin, signal } = outgoing
    const { deadline, exhausted, told, when } = settings
    const budget = settings.origins.of(origin, Number(clock.monotonicTimeNanosUnsafe()) / 1e6)
    const repeatable = isRepeatable(settings, outgoing)
    const run = Retry.run(attempts(call, budget), settings.policy, {
      name: settings.name ?? nameOf(method),
      origin,
      attemptTimeout: settings.attemptTimeout,
      budget,
      repeatable: (error: unknown) =>
        body.replayable() && (repeatable || call.keyed || settings.transience.notApplied(error)),
      // A caller that went away is not asked, and wants no other attempt.
      when: (error: unknown) =>
        signal?.aborted === true
          ? Effect.succeed(false)
          : when === undefined
          ? Effect.succeed(true)
          : promised(() => when(error)),
      onRetry: (event: Retry.RetryEvent) => {
        if (exhausted === "error") cancel(take(event.error))
        return told === undefined ? Effect.void : promised(() => told(event))
      }
    })
    return deadline === undefined ? run : Deadline.within(run, deadline)
  })

const outcome = ({ body, signal }: Outgoing, { exhausted }: Settings, exit: Exit.Exit<Response, unknown>): Response => {
  if (exit._tag === "Success") return exit.value
  const error = Cause.squash(exit.cause)
  const aborted = signal?.aborted === true
  const reason: unknown = aborted ? signal.reason : error
  body.cancel(reason)
  // Without a retry by the policy or by `when`, it is an answer as any other.
  const answer = take(RetryExhausted.is(error) ? error.lastError : error)
  if (answer !== undefined && !aborted && (exhausted === "response" || !RetryExhausted.is(error))) return answer
  cancel(answer)
  throw reason
}

export const run = async (settings: Settings, input: RequestInfo | URL, init: RequestInit): Promise<Response> => {
  const outgoing = read(input, init, settings.bufferBody)
  const { signal } = outgoing
  signal?.throwIfAborted()
  const whole = Effect.flatMap(
    keyOf(settings, outgoing),
    (key) => runOf({ settings, outgoing, key, keyed: false, asked: undefined, last: 0 })
  )
  return outcome(outgoing, settings, await Effect.runPromiseExit(whole, signal === undefined ? {} : { signal }))
}
