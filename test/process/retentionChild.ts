// A configuration that lives as long as the program runs in the context of a request. Says what is left of the request.
import { Policy, Retry } from "@reprise/core"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"

const Session = Context.Reference<object>("test/Session", { defaultValue: () => ({}) })
const policy = Policy.immediate(3)
const charge = Retry.make({ name: "charge", policy, idempotency: "idempotent" })

const request = (runs: number): WeakRef<object> => {
  const session = { secret: "4111 1111" }
  const run = Effect.andThen(charge(Effect.void), Retry.run(Effect.void, policy))
  Effect.runSync(Effect.repeat(run, { times: runs - 1 }).pipe(Effect.provideService(Session, session)))
  return new WeakRef(session)
}

const sessions = [request(1), request(100)]
// A weak reference is strong until its turn of the event loop is over.
await new Promise((resolve) => setTimeout(resolve, 1))
globalThis.gc?.()
/** Whether the session of each request is alive. */
export type Kept = ReadonlyArray<boolean>

const kept: Kept = sessions.map((session) => session.deref() !== undefined)
console.log(JSON.stringify(kept))
