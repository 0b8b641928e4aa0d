// A holder that is stopped (SIGSTOP) for longer than its lease, and then goes on (SIGCONT).
import * as Idempotency from "@reprise/idempotency/Idempotency"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { describe, expect, it } from "vitest"
import { effects, start } from "./processes.ts"
import { kinds, servers } from "./servers.ts"
import { inStore, type Place } from "./stores.ts"

const { log, place } = servers()

const lease = 400
const options = { key: "k", scope: "live", payload: { key: "k" }, success: Schema.String, lease } as const

const call = (at: Place, onAbandoned?: "rerun") =>
  inStore(
    at,
    Idempotency.once({ ...options, onAbandoned }, Effect.succeed("by another")).pipe(
      Effect.catch((error) => Effect.succeed(`_tag` in error ? error._tag : String(error)))
    )
  )

const pause = (millis: number) => new Promise((resolve) => setTimeout(resolve, millis))

const cases = kinds.flatMap(([kind, isThere]) => [
  { kind, isThere, isBlocking: false, rerun: false },
  { kind, isThere, isBlocking: true, rerun: false },
  { kind, isThere, isBlocking: false, rerun: true },
  { kind, isThere, isBlocking: true, rerun: true }
])

describe.each(cases)("$kind, in the middle of a computation: $isBlocking, run again meanwhile: $rerun", (one) => {
  it.skipIf(!one.isThere)("one outcome is recorded, or the key stays in doubt", async () => {
    const task = { place: place(one.kind), log: log(), lease }
    const worker = await start({
      ...task,
      frozen: { key: "k", millis: 250, isBlocking: one.isBlocking }
    })
    worker.go()
    expect(await worker.next()).toBe("running")
    await pause(50)
    worker.process.kill("SIGSTOP")
    await pause(2 * lease)
    const meanwhile = await call(task.place, one.rerun ? "rerun" : undefined)
    expect(meanwhile).toBe(one.rerun ? "by another" : "InDoubt")
    worker.process.kill("SIGCONT")
    const { outcome } = (await worker.next()) as { readonly outcome: string }
    await worker.ended
    const afterwards = [await call(task.place), await call(task.place)]
    // Whatever the first one did, its outcome is refused where another has been recorded. Else it is the true one, or
    // nobody knows; never one to this caller and another to that.
    const recorded = one.rerun ? "by another" : `k by ${worker.process.pid}`
    expect(["InDoubt", recorded]).toContain(outcome)
    expect(afterwards).toEqual(one.rerun ? [recorded, recorded] : [outcome, outcome])
    expect(outcome === recorded && !one.rerun ? effects(task.log) : ["k"]).toEqual(["k"])
  })
})
