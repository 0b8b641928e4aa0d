// Every store does what the one in memory does, which has a model of its own; here without the passing of time.
import * as IdempotencyStore from "@reprise/idempotency/IdempotencyStore"
import * as Effect from "effect/Effect"
import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { samples } from "../../laws/forAll.ts"
import { layer } from "../memory.ts"
import { kinds, servers } from "./servers.ts"
import { inStore } from "./stores.ts"

const { place } = servers()

const processes = 3
const who = fc.integer({ min: 0, max: processes - 1 })
const runs = samples(
  fc.array(
    fc.oneof(
      fc.record({ do: fc.constantFrom("claim" as const, "retake" as const), who, payload: fc.constantFrom("a", "b") }),
      fc.record({ do: fc.constantFrom("renew" as const, "done" as const, "doubt" as const, "free" as const), who })
    ),
    { minLength: 10, maxLength: 30 }
  ),
  60
)

/** What the store answers to each command. */
const answers = (commands: (typeof runs)[number], id: string) =>
  Effect.gen(function* () {
    const store = yield* IdempotencyStore.IdempotencyStore
    const held: Array<IdempotencyStore.Held | undefined> = Array.from({ length: processes }, () => undefined)
    const names = new Map<string, number>()
    const terms = { lease: 60_000, retention: 60_000 }
    /** Tokens by their order, and no time. */
    const plain = (found: IdempotencyStore.Found | number | undefined) =>
      typeof found === "object" ? { ...found, left: found.left > 0, holder: names.get(found.holder) } : found
    const said: Array<unknown> = []
    let fence = 0
    for (const step of commands) {
      if (step.do === "claim" || step.do === "retake") {
        const holder = store.holder()
        names.set(holder, names.size)
        const request = { id, holder, fingerprint: step.payload, ...terms }
        const answer = yield* (step.do === "claim" ? store.claim(request) : store.retake(request, fence))
        if (typeof answer === "number") held[step.who] = { id, holder, fence: fence = answer }
        said.push(plain(answer))
        continue
      }
      const mine = held[step.who]
      if (mine === undefined) continue
      if (step.do === "renew") said.push(yield* store.renew(mine, terms))
      else {
        const ending = step.do === "done"
          ? { state: step.do, outcome: `by ${names.get(mine.holder)}, "quoted" and é`, retention: 60_000 }
          : { state: step.do, retention: 60_000 }
        said.push(yield* store.finish(mine, ending))
      }
      said.push(plain(yield* store.read(id)))
    }
    return said
  })

describe.each(kinds)("%s", (kind, isThere) => {
  it.skipIf(!isThere)("answers as the store in memory does", async () => {
    const all = Effect.forEach(runs, (commands, i) => answers(commands, `id-${i}`))
    const expected = await Effect.runPromise(Effect.provide(all, layer()))
    expect(await inStore(place(kind), all)).toEqual(expected)
  })

  it.skipIf(!isThere)("refuses a holder whose record has gone, also where another's has the same number", async () => {
    const found = await inStore(
      place(kind),
      Effect.gen(function* () {
        const store = yield* IdempotencyStore.IdempotencyStore
        const claimed = { id: "id", fingerprint: "f" }
        const [first, other] = [store.holder(), store.holder()]
        const terms = { lease: 60_000, retention: 60_000 }
        const before = yield* store.claim({ ...claimed, holder: first, lease: 1, retention: 1 })
        yield* Effect.sleep(20)
        // Redis removes it by itself.
        yield* store.sweep(1)
        const after = yield* store.claim({ ...claimed, holder: other, ...terms })
        const held = { id: "id", holder: first, fence: 1 }
        return {
          numbers: [before, after],
          renewed: yield* store.renew(held, terms),
          finished: [
            yield* store.finish(held, { state: "done", outcome: "of the first", retention: 60_000 }),
            yield* store.finish(held, { state: "free", retention: 60_000 })
          ],
          there: (yield* store.read("id"))?.holder === other,
          others: yield* store.finish({ ...held, holder: other }, { state: "doubt", retention: 60_000 })
        }
      })
    )
    expect(found).toEqual({ numbers: [1, 1], renewed: false, finished: [false, false], there: true, others: true })
  })

  // Redis has nothing to sweep.
  if (kind === "redis") return
  it.skipIf(!isThere)("sweeps no more records at a time than it is told", async () => {
    const swept = await inStore(
      place(kind),
      Effect.gen(function* () {
        const store = yield* IdempotencyStore.IdempotencyStore
        for (let i = 0; i < 5; i++) {
          yield* store.claim({ id: `${i}`, holder: store.holder(), fingerprint: "f", lease: 1, retention: 1 })
        }
        yield* Effect.sleep(20)
        return [yield* store.sweep(2), yield* store.sweep(2), yield* store.sweep(2), yield* store.sweep(2)]
      })
    )
    expect(swept).toEqual([2, 2, 1, 0])
  })
})
