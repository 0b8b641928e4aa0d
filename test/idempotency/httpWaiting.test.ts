import { HttpIdempotency } from "@reprise/idempotency"
import { Clock, Effect, Layer } from "effect"
import { HttpServerResponse } from "effect/http"
import { describe, expect, it } from "vitest"
import { scope, start } from "./httpServer.ts"
import * as memory from "./memory.ts"

const gate = () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { closed: Effect.promise(() => promise), open: resolve }
}

/** A clock on which nobody's sleep ends, and who sleeps on it. */
const sleepless = () => {
  let count = 0
  const { promise, resolve } = Promise.withResolvers<void>()
  const clock = Layer.effect(
    Clock.Clock,
    Effect.map(Clock.Clock, (clock): Clock.Clock => ({
      currentTimeMillis: clock.currentTimeMillis,
      currentTimeNanos: clock.currentTimeNanos,
      monotonicTimeNanos: clock.monotonicTimeNanos,
      currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe(),
      currentTimeNanosUnsafe: () => clock.currentTimeNanosUnsafe(),
      monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
      sleep: () =>
        Effect.suspend(() => {
          count++
          // The holder before its renewal, and who waits: before the next look, and before the end of its time.
          if (count === 3) resolve()
          return Effect.onInterrupt(Effect.never, () => Effect.sync(() => void count--))
        })
    }))
  )
  return { clock, count: () => count, waits: promise }
}

describe("a client that goes away while it waits for the outcome of another", () => {
  it.each(["finish", "interrupt"] as const)("leaves at once, with onDisconnect %s", async (onDisconnect) => {
    const { clock, count, waits } = sleepless()
    const { closed, open } = gate()
    await using server = start(
      Effect.as(closed, HttpServerResponse.text("done")),
      { wait: "1 minute", onDisconnect },
      Layer.merge(memory.layer(), clock)
    )
    const first = server.ask()
    const client = new AbortController()
    const waiting = server.ask({ signal: client.signal })
    await waits
    client.abort()
    expect((await waiting).status).toBe(499)
    // Of the holder alone.
    expect(count()).toBe(1)
    open()
    expect((await first).text).toBe("done")
    expect(server.runs()).toBe(1)
  })
})

describe("a client that has gone before its turn", () => {
  it("leaves the key as new", async () => {
    const { closed, open } = gate()
    const asked = Promise.withResolvers<void>()
    const client = new AbortController()
    const store = memory.faulty(({ claim }) => ({
      claim: (request) =>
        Effect.tap(claim(request), () => {
          asked.resolve()
          return client.signal.aborted ? Effect.void : closed
        })
    }))
    await using server = start(Effect.succeed(HttpServerResponse.text("done")), {}, store)
    const first = server.ask({ signal: client.signal })
    await asked.promise
    client.abort()
    open()
    expect((await first).status).toBe(499)
    expect(server.runs()).toBe(0)
    expect((await server.ask()).replayed).toBe(false)
    expect(server.runs()).toBe(1)
  })
})

describe("the middleware around itself", () => {
  it("is one: the inner one leaves the request to the outer", async () => {
    const inner = HttpIdempotency.middleware({ scope, wait: "1 minute" })
    let runs = 0
    const handler = inner(Effect.sync(() => HttpServerResponse.text(`run ${++runs}`)))
    // The store is the one that the server has.
    await using server = start(handler as never)
    for (const replayed of [false, true]) expect(await server.ask()).toMatchObject({ text: "run 1", replayed })
  })

  it("is two where the keys are two", async () => {
    const inner = HttpIdempotency.middleware({ scope, header: "x-request-id" })
    let runs = 0
    const handler = inner(Effect.sync(() => HttpServerResponse.text(`run ${++runs}`)))
    // As above.
    await using server = start(handler as never)
    const headers = { "x-request-id": "\"r\"" }
    expect((await server.ask({ headers })).text).toBe("run 1")
    expect(await server.ask({ key: "\"other\"", headers })).toMatchObject({ text: "run 1", replayed: true })
  })
})
