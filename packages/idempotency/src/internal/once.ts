/** The one caller that runs, and what the others get. */
import * as IdempotencyKey from "@reprise/core/IdempotencyKey"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { identity } from "effect/Function"
import { type IdempotencyError, InDoubt, InProgress, KeyReused, StoreFailed } from "../IdempotencyError.ts"
import type { Answer } from "../Idempotency.ts"
import { type Found, type Held, IdempotencyStore } from "../IdempotencyStore.ts"
import * as canonical from "./canonical.ts"
import { CurrentClaim } from "./claim.ts"
import { certainUntil, type Ended, hold, now, type Restore } from "./hold.ts"
import type { Settings } from "./settings.ts"
import { settle, type Settled, whyInDoubt } from "./settle.ts"
import { isHeld, waitFor } from "./wait.ts"

export type AnyEffect = Effect.Effect<unknown, unknown, unknown>
type Failure = IdempotencyError | IdempotencyKey.InvalidIdempotencyKey
type AnyAnswer = Effect.Effect<Answer<unknown, unknown>, Failure, unknown>

/** How errors name a record. */
export const recordName = (id: string): string => id.slice(0, 12)

/** One call, and what it knows of its record. */
interface Call {
  readonly store: IdempotencyStore
  readonly clock: Clock.Clock
  readonly settings: Settings
  readonly operation: AnyEffect
  readonly fingerprints: ReadonlyArray<string>
  readonly inTransaction: boolean
  readonly restore: Restore
  /** What runs goes on without its caller. */
  readonly detached: boolean
}

const replay = ({ settings }: Call, id: string, outcome: string | undefined): AnyAnswer =>
  Effect.map(
    Effect.mapError(settings.codec.decode(outcome ?? ""), (cause) => new StoreFailed({ operation: "decode", cause })),
    (exit) => ({ exit, replayed: true, recorded: true, record: recordName(id) })
  )

/** Runs what holds the record, and leaves it. */
const run: (call: Call, held: Held, claimedAt: number, abandoned: boolean) => AnyAnswer = Effect.fnUntraced(
  function* (call: Call, held: Held, claimedAt: number, abandoned: boolean) {
    const { clock, detached, inTransaction, operation, restore, settings, store } = call
    const { reconcile, retention } = settings
    const record = recordName(held.id)
    let stage: "waiting" | "asking" | "told" | "running" = "waiting"
    // Whether an earlier execution may have taken effect.
    let unsure = abandoned

    const body: AnyEffect = Effect.suspend(() => {
      stage = "running"
      return operation
    })
    const asked: AnyEffect = reconcile === undefined || !abandoned ? body : Effect.suspend(() => {
      stage = "asking"
      return Effect.flatMap(reconcile, (answer) => {
        if (answer._tag === "NotApplied") {
          unsure = false
          return body
        }
        if (answer._tag === "Unknown") return Effect.fail(new InDoubt({ record, reason: "Unknown" }))
        if (answer._tag !== "Applied" || !Exit.isExit(answer.exit)) {
          return Effect.die(new TypeError("A reconcile effect must come to succeeded, failed, notApplied or unknown"))
        }
        stage = "told"
        return answer.exit
      })
    })
    const leave = (state: "free" | "doubt") =>
      Effect.exit(store.finish(held, { state: unsure ? "doubt" : state, retention }))

    // Who wants to leave by now leaves; and a claim that took so long may have ended.
    const leaving = yield* Effect.exit(restore(Effect.void))
    if (Exit.isFailure(leaving)) {
      yield* leave("free")
      return yield* Effect.failCause(leaving.cause)
    }
    if (!inTransaction && now(clock) >= certainUntil(claimedAt, settings.lease)) {
      yield* leave("free")
      return yield* new StoreFailed({ operation: "claim", cause: new Cause.TimeoutError("It took as long as a lease") })
    }

    const marked = Effect.provideService(asked, CurrentClaim, { record, fence: held.fence })
    const settled = (exit: Exit.Exit<unknown, unknown>): Effect.Effect<Settled, never, unknown> => {
      // Its own code has changed what it had to decide on by now.
      const reached = stage as "waiting" | "asking" | "told" | "running"
      return Exit.isFailure(exit) && (reached === "waiting" || reached === "asking")
        ? Effect.succeed({ exit, ending: { state: "free" } })
        : settle(exit, reached === "told", settings)
    }
    const ended: Ended<unknown, unknown> | undefined = inTransaction
      ? undefined
      : yield* hold(store, clock, held, settings, claimedAt, marked, detached ? identity : restore)
    const end: Settled = ended === undefined
      ? yield* together(store, Effect.flatMap(Effect.exit(detached ? apart(marked) : restore(marked)), settled))
      : yield* settled(ended.exit)
    const { broken, ending, exit } = end

    const answer: Answer<unknown, unknown> = { exit, replayed: false, recorded: ending.state === "done", record }
    if (ending.state !== "done") {
      // What it wrote in a transaction is undone, and of more a transaction knows nothing.
      yield* leave(inTransaction ? "free" : ending.state)
      if (ending.state === "doubt" && !inTransaction) {
        yield* Effect.logWarning(`The idempotency record ${record} is in doubt: ${whyInDoubt(end)}`)
      }
      if (broken !== undefined) return yield* Effect.failCause(broken)
      const lost = ended?.lost
      return lost !== undefined && Exit.hasInterrupts(exit) ? yield* new InDoubt({ record, reason: lost }) : answer
    }
    const recorded = yield* Effect.exit(store.finish(held, { ...ending, retention }))
    if (Exit.isFailure(recorded)) {
      // A transaction is undone as a whole: by this failure, or by that of the operation.
      if (inTransaction) return Exit.isFailure(exit) ? answer : yield* Effect.failCause(recorded.cause)
      return yield* new InDoubt({ record, reason: "NotRecorded", cause: Cause.squash(recorded.cause) })
    }
    if (recorded.value) return answer
    return yield* superseded(call, held)
  }
)

/** Runs what nobody interrupts but itself. */
const apart = (operation: AnyEffect): AnyEffect =>
  Effect.flatMap(Effect.forkChild(Effect.interruptible(operation), { startImmediately: true }), Fiber.join)

/** Inside a transaction: what the operation wrote stays if its outcome is recorded, and is undone otherwise. */
const together = (
  { savepoint }: IdempotencyStore,
  settling: Effect.Effect<Settled, never, unknown>
): Effect.Effect<Settled, StoreFailed, unknown> =>
  savepoint === undefined ? settling : savepoint(
    Effect.flatMap(settling, (settled) =>
      settled.ending.state === "done" ? Effect.succeed(settled) : Effect.fail(settled))
  )

/** Another holds the record, or has left it: what it recorded is the outcome, unless the key has become another's since. */
const superseded = (call: Call, held: Held): AnyAnswer =>
  Effect.flatMap(Effect.exit(call.store.read(held.id)), (read) => {
    const there = Exit.isSuccess(read) ? read.value : undefined
    return there?.state === "done" && call.fingerprints.includes(there.fingerprint)
      ? replay(call, held.id, there.outcome)
      : Effect.fail(new InDoubt({ record: recordName(held.id), reason: "Fenced" }))
  })

const begin: (settings: Settings, operation: AnyEffect, restore: Restore, detached: boolean) => AnyAnswer = Effect
  .fnUntraced(function* (settings: Settings, operation: AnyEffect, restore: Restore, detached: boolean) {
    const store = yield* IdempotencyStore
    const clock = yield* Clock.Clock
    const key = IdempotencyKey.isIdempotencyKey(settings.key)
      ? settings.key
      : yield* IdempotencyKey.fromString(settings.key)
    const payload = yield* canonical.read(settings, settings.maxPayloadBytes)
    const id = yield* restore(store.identify(settings.scope, key))
    const fingerprints = yield* restore(store.fingerprints(payload))
    const { lease, reconcile, reruns, retention, wait } = settings
    const inTransaction = yield* store.inTransaction
    const call: Call = { store, clock, settings, operation, fingerprints, inTransaction, restore, detached }
    const record = recordName(id)
    const holder = store.holder()
    const request = { id, holder, fingerprint: fingerprints[0], lease, retention }
    const startedAt = now(clock)
    const until = startedAt + wait
    // What is left half asked in a transaction is undone with it; and there it may wait for another transaction.
    const asks: Restore = inTransaction ? restore : identity

    // Whether this call has tried to take over what may have taken effect.
    let abandoned = false

    while (true) {
      const askedAt = now(clock)
      const claim: number | Found = yield* asks(store.claim(request))
      if (typeof claim === "number") return yield* run(call, { id, holder, fence: claim }, askedAt, false)
      if (!fingerprints.includes(claim.fingerprint)) return yield* new KeyReused({ record })
      if (claim.state === "done") return yield* replay(call, id, claim.outcome)
      // The answer to an earlier question of this very call was lost. Nothing has run for it.
      const isMine = claim.holder === holder
      if (isHeld(claim)) {
        if (isMine) {
          // Its lease began after the first question, and no earlier than what is left of it says.
          const since = Math.max(startedAt, askedAt + claim.left - lease)
          return yield* run(call, { id, holder, fence: claim.fence }, since, abandoned)
        }
        const left = until - now(clock)
        if (left <= 0) {
          return yield* new InProgress({ record, left: Duration.millis(Math.ceil(claim.left)) })
        }
        yield* restore(waitFor(store, id, claim, left))
        continue
      }
      abandoned ||= !isMine
      if (abandoned && !reruns && reconcile === undefined) return yield* new InDoubt({ record, reason: "Abandoned" })
      const retakenAt = now(clock)
      const fence = yield* asks(store.retake(request, claim.fence))
      if (fence !== undefined) return yield* run(call, { id, holder, fence }, retakenAt, abandoned)
    }
  })

export const answer = (settings: Settings, operation: AnyEffect): AnyAnswer =>
  Effect.uninterruptibleMask((restore) => begin(settings, operation, restore, false))

/** The same for a caller that may leave until the operation runs, and not any more then: only its lease interrupts that. */
export const finish = (settings: Settings, operation: AnyEffect): AnyAnswer =>
  Effect.uninterruptible(begin(settings, operation, Effect.interruptible, true))
