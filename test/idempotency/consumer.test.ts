import { describe, expect, it } from "@effect/vitest"
import { InvalidPolicy } from "@reprise/core"
import { Idempotency } from "@reprise/idempotency"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { counted, layer, order } from "./memory.ts"

interface Message {
  readonly id: string
  readonly queue: string
  readonly body: string
}

const message: Message = { id: "m-1", queue: "a", body: "hello" }
const general = { key: ({ id }: Message) => id, scope: "mail", success: order.success }

describe("a consumer", () => {
  it.effect("handles each message once, also where it is delivered again and again", () =>
    Effect.gen(function* () {
      const { count, operation } = counted((n) => Effect.succeed(`handled ${n}`))
      const handle = Idempotency.consumer({
        ...general,
        scope: ({ queue }: Message) => `${queue}/mail`,
        payload: ({ body }) => body
      }, () => operation)
      expect(yield* handle(message)).toBe("handled 1")
      expect(yield* handle(message)).toBe("handled 1")
      expect(yield* handle({ ...message, queue: "b" })).toBe("handled 2")
      expect(yield* Effect.flip(handle({ ...message, body: "bye" }))).toMatchObject({ _tag: "KeyReused" })
      expect(count()).toBe(2)
    }).pipe(Effect.provide(layer())))

  it.effect("compares no payload where it is told of none", () =>
    Effect.gen(function* () {
      const handle = Idempotency.consumer(general, ({ body }) => Effect.succeed(body))
      expect(yield* handle(message)).toBe("hello")
      expect(yield* handle({ ...message, body: "bye" })).toBe("hello")
    }).pipe(Effect.provide(layer())))

  it.effect("refuses a message whose key is none, and runs nothing for it", () =>
    Effect.gen(function* () {
      const { count, operation } = counted(() => Effect.succeed("handled"))
      const error = yield* Effect.flip(Idempotency.consumer(general, () => operation)({ ...message, id: "" }))
      expect(error._tag).toBe("InvalidIdempotencyKey")
      expect(count()).toBe(0)
    }).pipe(Effect.provide(layer())))

  it.effect("dies of a scope that breaks the rule, and of a function of the message that throws", () =>
    Effect.gen(function* () {
      const { count, operation } = counted(() => Effect.succeed("handled"))
      const throwing = (): never => {
        throw new Error("no such field")
      }
      for (const wrong of [{ scope: () => "" }, { key: throwing }, { scope: throwing }, { payload: throwing }]) {
        const exit = yield* Effect.exit(Idempotency.consumer({ ...general, ...wrong }, () => operation)(message))
        expect(Exit.hasDies(exit)).toBe(true)
      }
      expect(count()).toBe(0)
    }).pipe(Effect.provide(layer())))

  it.each([
    ["consumer.scope", { scope: "" }],
    ["consumer.scope", { scope: undefined }],
    ["consumer.key", { key: "id" }],
    ["consumer.payload", { payload: "body" }],
    ["consumer.success", { success: undefined }],
    ["consumer.failure", { failure: "Declined" }],
    ["consumer.reconcile", { reconcile: () => Effect.succeed(Idempotency.unknown) }],
    ["consumer.lease", { lease: "99 millis" }],
    ["consumer.retention", { retention: 0 }],
    ["consumer.wait", { wait: -1 }],
    ["consumer.onAbandoned", { onAbandoned: "retry" }],
    ["consumer.maxPayloadBytes", { maxPayloadBytes: 0 }],
    ["consumer.method", { method: "POST" }],
    ["consumer.leases", { leases: 3 }]
  ])("is not built with a wrong %s: %o", (argument, wrong) => {
    let thrown: unknown
    try {
      // As plain JavaScript would call it.
      Idempotency.consumer({ ...general, ...wrong } as typeof general, () => Effect.succeed("handled"))
    } catch (error) {
      thrown = error
    }
    expect(thrown).toBeInstanceOf(InvalidPolicy.InvalidPolicy)
    expect(thrown).toMatchObject({ argument })
  })
})
