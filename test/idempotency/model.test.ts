// The store in memory against a model of it: what may happen to one record, written down from the documentation.
import { it } from "@effect/vitest"
import { Idempotency, IdempotencyStore } from "@reprise/idempotency"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as fc from "fast-check"
import * as Schema from "effect/Schema"
import { expect } from "vitest"
import * as TestClock from "effect/testing/TestClock"
import { samples } from "../laws/forAll.ts"
import { layer, type Store } from "./memory.ts"

type Command =
  | { readonly do: "claim" | "retake"; readonly who: number; readonly payload: string }
  | { readonly do: "renew" | "done" | "doubt" | "free"; readonly who: number }
  | { readonly do: "wait"; readonly millis: number }
  | { readonly do: "sweep" }

const stringSchema = Schema.String
const lease = 100
const retention = 300
const processes = 3

const who = fc.integer({ min: 0, max: processes - 1 })
const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constantFrom("claim", "retake"), who, payload: fc.constantFrom("a", "b") })
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constantFrom("renew", "done", "doubt", "free"), who }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("wait"), millis: fc.constantFrom(1, 50, 99, 100, 101, 300) }) },
  { weight: 1, arbitrary: fc.constant<Command>({ do: "sweep" }) }
)

interface Model {
  now: number
  /** Who holds it, or held it last. */
  holder: number | undefined
  state: "none" | "free" | "running" | "doubt" | "done"
  payload: string
  until: number
  expires: number
  outcome: string | undefined
  /** The highest number ever seen. */
  fence: number
}

/** A store of its own, in a time of its own. */
const virtual = () => Layer.provideMerge(layer(), TestClock.layer())

/** Runs the commands on the store, and on the model beside it. */
const check = (commands: ReadonlyArray<Command>): Effect.Effect<void, unknown, Store> =>
  Effect.gen(function* () {
    const store = yield* IdempotencyStore.IdempotencyStore
    const model: Model = {
      now: 0,
      holder: undefined,
      state: "none",
      payload: "",
      until: 0,
      expires: 0,
      outcome: undefined,
      fence: 0
    }
    /** What each process believes to hold. */
    const held: Array<IdempotencyStore.Held | undefined> = Array.from({ length: processes }, () => undefined)
    const isThere = () => model.state !== "none" && model.state !== "free" && model.expires > model.now
    const take = (process: number, payload: string) => {
      model.state = "running"
      model.holder = process
      model.payload = payload
      model.until = model.now + lease
      model.expires = model.until + retention
      model.outcome = undefined
    }
    const request = (payload: string) => ({ id: "id", holder: store.holder(), fingerprint: payload, lease, retention })
    const isHolder = (process: number) => held[process]?.fence === model.fence && model.holder === process

    for (const step of commands) {
      switch (step.do) {
        case "wait":
          yield* TestClock.adjust(step.millis)
          model.now += step.millis
          break
        case "sweep": {
          const isGone = model.state !== "none" && model.expires <= model.now
          expect(yield* store.sweep(10)).toBe(isGone ? 1 : 0)
          // Its number begins anew; tokens tell the claims apart.
          if (isGone) Object.assign(model, { state: "none", fence: 0, holder: undefined })
          break
        }
        case "claim": {
          const mine = request(step.payload)
          const claim = yield* store.claim(mine)
          if (isThere()) {
            expect(claim).toMatchObject({
              state: model.state,
              fingerprint: model.payload,
              fence: model.fence,
              outcome: model.outcome
            })
            expect(claim).toMatchObject({ left: model.state === "running" ? model.until - model.now : 0 })
          } else {
            expect(claim).toBe(model.fence + 1)
            take(step.who, step.payload)
            held[step.who] = { id: "id", holder: mine.holder, fence: ++model.fence }
          }
          break
        }
        case "retake": {
          const mine = request(step.payload)
          const fence = yield* store.retake(mine, model.fence)
          const isAbandoned = model.state === "doubt" || (model.state === "running" && model.until <= model.now)
          if (isThere() && isAbandoned) {
            expect(fence).toBe(model.fence + 1)
            take(step.who, step.payload)
            held[step.who] = { id: "id", holder: mine.holder, fence: ++model.fence }
          } else expect(fence).toBeUndefined()
          expect(yield* store.retake(mine, model.fence - 1)).toBeUndefined()
          break
        }
        default: {
          const by = held[step.who]
          if (by === undefined) break
          const mayAct = isHolder(step.who)
          if (step.do === "renew") {
            const renews = mayAct && model.state === "running"
            expect(yield* store.renew(by, { lease, retention })).toBe(renews)
            if (renews) model.expires = (model.until = model.now + lease) + retention
            break
          }
          const outcome = `by ${by.holder}`
          const ending = step.do === "done"
            ? { state: step.do, outcome, retention }
            : { state: step.do, retention }
          expect(yield* store.finish(by, ending)).toBe(mayAct)
          if (mayAct) {
            model.state = step.do
            model.expires = model.now + retention
            model.outcome = step.do === "done" ? outcome : undefined
          }
        }
      }
      const read = yield* store.read("id")
      expect(read?.state).toBe(isThere() ? model.state : undefined)
      expect(read?.outcome).toBe(isThere() ? model.outcome : undefined)
    }
  })

const runs = samples(fc.array(command, { maxLength: 40 }), 200)

it.effect("the store in memory does what the model does", () =>
  Effect.forEach(runs, (commands) => Effect.provide(check(commands), virtual()), {
    discard: true
  }))

// What callers see: with every operation known to be harmless or not, none runs twice that has an outcome.
const calls = samples(
  fc.array(
    fc.record({
      key: fc.constantFrom("k-1", "k-2"),
      payload: fc.constantFrom(1, 2),
      ends: fc.constantFrom("success", "die"),
      wait: fc.constantFrom(0, 10, 10_000)
    }),
    { maxLength: 30 }
  ),
  100
)

it.effect("every caller with one key gets the one outcome, KeyReused, or a doubt that stays", () =>
  Effect.forEach(calls, (run) =>
    Effect.gen(function* () {
      const first = new Map<string, { readonly payload: number; readonly answer: string; readonly until: number }>()
      let now = 0
      let executions = 0
      for (const { ends, key, payload, wait } of run) {
        const operation = Effect.suspend(() => {
          executions++
          return ends === "die" ? Effect.die("broken") : Effect.succeed(`${key} ${executions}`)
        })
        const options = { key, scope: "s", payload, success: stringSchema, retention: 5_000 }
        const before = executions
        const exit = yield* Effect.exit(Idempotency.once(options, operation))
        const known = first.get(key)
        if (known === undefined || known.until <= now) {
          expect(executions).toBe(before + 1)
          const answer = ends === "die" ? "InDoubt" : `${key} ${executions}`
          first.set(key, { payload, answer, until: now + 5_000 })
        } else {
          expect(executions).toBe(before)
          const expected = known.payload === payload ? known.answer : "KeyReused"
          expect(exit._tag === "Success" ? exit.value : String(exit)).toContain(expected)
        }
        yield* TestClock.adjust(wait)
        now += wait
      }
    }).pipe(Effect.provide(virtual())), { discard: true }))
