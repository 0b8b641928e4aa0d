/** A handler of HTTP requests that runs once for each key. */
import * as IdempotencyKey from "@reprise/core/IdempotencyKey"
import * as RetryExhausted from "@reprise/core/RetryExhausted"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as HttpEffect from "effect/http/HttpEffect"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import { toResponse } from "effect/http/HttpServerRespondable"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import * as Option from "effect/Option"
import type { Scope } from "effect/Scope"
import { CurrentClaim, type Failure, type Reconciled, recordOf } from "../../Idempotency.ts"
import { InDoubt, StoreFailed } from "../../IdempotencyError.ts"
import * as once from "../once.ts"
import * as answers from "./answers.ts"
import * as key from "./key.ts"
import { Answered, outcomeOf } from "./outcome.ts"
import * as recorded from "./recorded.ts"
import * as incoming from "./request.ts"
import { forRequest, type Settings } from "./settings.ts"
import { isAnswer, together } from "./transaction.ts"

type Response = HttpServerResponse

export type App = Effect.Effect<Response, unknown, unknown>

/** What the handler came to itself, as its caller gets it. */
interface Own {
  exit: Exit.Exit<Response, unknown> | undefined
}

// A body that cannot be read is a defect of who made it.
const keep = (settings: Settings, response: Response): Effect.Effect<recorded.Kept, never, Scope> =>
  Effect.orDie(recorded.keep(response, settings.headers, settings.maxResponseBytes))

type Recording = Effect.Effect<recorded.Recorded, unknown, unknown>

/** Runs the handler, for what is to be recorded of it. The failure of this effect is what leaves no record. */
const recording = (settings: Settings, app: App, own: Own): Recording => {
  const { codec, transience } = settings.general
  const recordingOf = (exit: Exit.Exit<Response, unknown>): Recording =>
    Effect.flatMap(outcomeOf(exit, transience, codec.isFailure), (outcome): Recording => {
      if (outcome === undefined) {
        own.exit = exit
        // A response that is no outcome says by its status whether anything took effect.
        return Exit.isSuccess(exit) ? Effect.fail(new Answered(exit.value)) : Effect.failCause(exit.cause)
      }
      return Effect.map(keep(settings, outcome), (kept) => {
        // A body that was read is not there a second time.
        own.exit = kept.response === outcome ? exit : Exit.succeed(kept.response)
        return kept.recorded
      })
    })
  return Effect.flatMap(Effect.exit(Effect.map(app, recorded.plain)), recordingOf)
}

/** What a `reconcile` effect finds is recorded as if the handler had answered it. */
const asRecord = (
  settings: Settings,
  found: Reconciled<Response>
): Effect.Effect<Reconciled<unknown>, never, Scope> => {
  if (found._tag !== "Applied" || Exit.isFailure(found.exit)) return Effect.succeed(found)
  return Effect.map(keep(settings, recorded.plain(found.exit.value)), ({ recorded }) => ({
    _tag: "Applied",
    exit: Exit.succeed(recorded)
  }))
}

/** What was recorded, or was found by a `reconcile` effect. */
const replay = (settings: Settings, record: string, outcome: Exit.Exit<recorded.Recorded, unknown>): App =>
  Exit.isSuccess(outcome)
    ? Effect.succeed(recorded.replay(outcome.value) ?? answers.unreplayable(settings, record))
    // It becomes a response further out.
    : HttpEffect.withPreResponseHandler(
      Effect.failCause(outcome.cause),
      (_, response) => Effect.succeed(recorded.mark(response))
    )

/** What an operator should know of. */
const log = (error: Failure): Effect.Effect<void> => {
  if (error._tag === "StoreFailed") return Effect.logError(error.message, error)
  // Each request with the key meets it, and any client may send many.
  return error._tag === "InDoubt" ? Effect.logWarning(error.message) : Effect.void
}

/** The response to who gets no outcome. */
const instead = (settings: Settings, error: Failure): Effect.Effect<Response> =>
  Effect.as(log(error), answers.of(settings, error))

/** After a transaction that failed, which has left nothing; or, where it could not tell, what the next request will find. */
const undone = (settings: Settings, cause: Cause.Cause<unknown>, own: Own): App => {
  const error = Option.getOrUndefined(Cause.findErrorOption(cause))
  if (own.exit !== undefined) {
    if (error instanceof Answered) return own.exit
    if (Exit.isFailure(own.exit) && Option.contains(Exit.findErrorOption(own.exit), error)) return own.exit
  }
  if (error === undefined) return Effect.failCause(cause)
  if (error instanceof StoreFailed) return instead(settings, error)
  const isPassing = RetryExhausted.is(error) || settings.general.transience.isTransient(error)
  // Of the transaction, and none of the handler's.
  return isPassing
    ? Effect.as(
      Effect.logError("A request with an idempotency key could not be committed", cause),
      answers.later(settings)
    )
    : Effect.die(error)
}

const keyed = (
  settings: Settings,
  app: App,
  request: HttpServerRequest.HttpServerRequest,
  key: IdempotencyKey.IdempotencyKey
): App =>
  Effect.gen(function* () {
    const scope = yield* settings.scope
    const claim = yield* CurrentClaim
    // What stands around this has claimed the key for it.
    if (claim !== undefined && claim.record === (yield* recordOf({ scope, key }))) return yield* app
    const read = yield* Effect.result(Effect.interruptible(incoming.bytesOf(request, settings.maxBodyBytes)))
    if (read._tag === "Failure") {
      return incoming.isTooLarge(read.failure) ? answers.tooLarge(settings) : yield* toResponse(read.failure)
    }
    const body = read.success
    const again = incoming.withBody(request, body)
    const within = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
      effect.pipe(
        Effect.provideService(HttpServerRequest.HttpServerRequest, again),
        Effect.provideService(IdempotencyKey.Current, Option.some(key))
      )
    const payload = settings.payload === undefined ? body : yield* within(settings.payload)
    const { reconcile } = settings
    const own: Own = { exit: undefined }
    const call = forRequest(
      settings,
      { key, scope, payload, method: request.method, path: incoming.pathOf(request) },
      reconcile && within(Effect.flatMap(reconcile, (found) => asRecord(settings, found)))
    )
    const handling = within(recording(settings, app, own))
    const answering = Effect.suspend(() => {
      // Of an attempt of the transaction before this one.
      own.exit = undefined
      return settings.interrupts ? once.answer(call, handling) : once.finish(call, handling)
    })
    const whole = together(settings, answering)
    const asked = settings.interrupts ? Effect.interruptible(whole) : Effect.uninterruptible(whole)
    const result = yield* Effect.exit(asked)
    if (Exit.isFailure(result)) return yield* undone(settings, result.cause, own)
    if (!isAnswer(result.value)) return yield* instead(settings, result.value)
    const { record, replayed } = result.value
    // A holder that came too late gets what was recorded instead of its own.
    if (!replayed && own.exit !== undefined) return yield* own.exit
    // Outcomes are what the schema says.
    const exit = result.value.exit as Exit.Exit<recorded.Recorded, unknown>
    if (replayed || Exit.isSuccess(exit)) return yield* replay(settings, record, exit)
    // Of an interruption, or of the `reconcile` effect.
    const error = Option.getOrUndefined(Exit.findErrorOption(exit))
    return yield* error instanceof InDoubt ? instead(settings, error) : Effect.failCause(exit.cause)
  })

export const middleware = (settings: Settings) => (app: App): App => {
  const rule = settings.unquoted
    ? "be one text of printable ASCII, in quotation marks or bare"
    : "be one text of printable ASCII in quotation marks (a String of RFC 9651)"
  return Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
    if (!settings.methods.has(request.method)) return app
    const value = request.headers[settings.header]
    if (value === undefined) return settings.required ? Effect.succeed(answers.missing(settings)) : app
    const parsed = key.parse(value, settings.unquoted)
    if (parsed === undefined) return Effect.succeed(answers.malformed(settings, rule))
    return Effect.matchEffect(IdempotencyKey.fromString(parsed), {
      onFailure: (error) => Effect.succeed(answers.of(settings, error)),
      onSuccess: (key) => keyed(settings, app, request, key)
    })
  })
}
