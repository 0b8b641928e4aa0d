/** Records in memory. */
import * as Transience from "@reprise/core/Transience"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { StoreFailed } from "../../IdempotencyError.ts"
import type { Backing, Found, IdempotencyStore, MemoryOptions, Request } from "../../IdempotencyStore.ts"
import * as check from "../check.ts"
import { now } from "../hold.ts"
import * as stores from "./make.ts"

interface Row {
  state: Found["state"] | "free"
  fence: number
  holder: string
  fingerprint: string
  until: number
  expires: number
  outcome: string | undefined
}

const hold = (request: Request, fence: number, now: number): Row => ({
  state: "running",
  fence,
  holder: request.holder,
  fingerprint: request.fingerprint,
  until: now + request.lease,
  expires: now + request.lease + request.retention,
  outcome: undefined
})

const found = ({ fence, fingerprint, holder, outcome, state, until }: Row, now: number): Found | undefined =>
  state === "free"
    ? undefined
    : { state, fence, fingerprint, holder, outcome, left: state === "running" ? until - now : 0 }

const backing = (now: () => number, capacity: number): Backing => {
  const rows = new Map<string, Row>()

  const at = (id: string, time: number): Row | undefined => {
    const row = rows.get(id)
    return row === undefined || row.expires <= time ? undefined : row
  }
  const heldBy = (held: { readonly id: string; readonly fence: number; readonly holder: string }): Row | undefined => {
    const row = rows.get(held.id)
    return row?.fence === held.fence && row.holder === held.holder ? row : undefined
  }
  const sweep = (time: number, limit: number): number => {
    let removed = 0
    for (const [id, { expires }] of rows) {
      if (removed === limit) break
      if (expires <= time && rows.delete(id)) removed++
    }
    return removed
  }

  return {
    claim: (request) =>
      Effect.suspend((): Effect.Effect<number | Found, StoreFailed> => {
        const time = now()
        const row = at(request.id, time)
        const there = row && found(row, time)
        if (there !== undefined) return Effect.succeed(there)
        if (!rows.has(request.id) && rows.size >= capacity && sweep(time, capacity) === 0) {
          const cause = Transience.annotate(new Error(`All ${capacity} records are in use`), {
            transience: "transient",
            applied: "no"
          })
          return Effect.fail(new StoreFailed({ operation: "claim", cause }))
        }
        const fence = (rows.get(request.id)?.fence ?? 0) + 1
        rows.set(request.id, hold(request, fence, time))
        return Effect.succeed(fence)
      }),
    retake: (request, fence) =>
      Effect.sync(() => {
        const time = now()
        const row = at(request.id, time)
        if (row?.fence !== fence) return undefined
        if (row.state !== "doubt" && (row.state !== "running" || row.until > time)) return undefined
        rows.set(request.id, hold(request, fence + 1, time))
        return fence + 1
      }),
    renew: (held, { lease, retention }) =>
      Effect.sync(() => {
        const row = heldBy(held)
        if (row?.state !== "running") return false
        row.until = now() + lease
        row.expires = row.until + retention
        return true
      }),
    finish: (held, ending) =>
      Effect.sync(() => {
        const row = heldBy(held)
        if (row === undefined) return false
        row.state = ending.state
        row.expires = now() + ending.retention
        row.outcome = ending.state === "done" ? ending.outcome : undefined
        return true
      }),
    read: (id) =>
      Effect.sync(() => {
        const time = now()
        const row = at(id, time)
        return row && found(row, time)
      }),
    sweep: (limit) => Effect.sync(() => sweep(now(), limit)),
    inTransaction: Effect.succeed(false)
  }
}

export const make = (options: MemoryOptions): Effect.Effect<IdempotencyStore> => {
  check.options("layerMemory", options, ["capacity"])
  const capacity = check.integer("layerMemory.capacity", options.capacity ?? 10_000, 1)
  return Effect.flatMap(Clock.Clock, (clock) => stores.make(backing(() => now(clock), capacity), [stores.newSecret()]))
}
