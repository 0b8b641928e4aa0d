import { IdempotencyKey, Policy, Retry, Transience } from "@reprise/core"
import { Idempotency, IdempotencyError } from "@reprise/idempotency"
import { Data, Effect, Option, Schema, Stream } from "effect"
import { HttpServerRequest, HttpServerRespondable, HttpServerResponse } from "effect/http"
import { describe, expect, it } from "vitest"
import { start } from "./httpServer.ts"
import * as memory from "./memory.ts"

const status = (code: number, headers: Readonly<Record<string, string>> = {}) =>
  HttpServerResponse.text(`status ${code}`, { status: code, headers })

/** An answer of the server's to a business mistake. */
class Refused extends Data.TaggedError("Refused")<{ readonly status: number }> {
  [HttpServerRespondable.symbol]() {
    return Effect.succeed(status(this.status))
  }
}

/** What comes of two requests with one key: of the first, and whether the second was a replay, a new run, or in doubt. */
const twice = async (handler: Parameters<typeof start>[0], options?: Parameters<typeof start>[1]) => {
  await using server = start(handler, options)
  const first = await server.ask()
  const second = await server.ask()
  const so = second.code ?? (second.replayed ? "replayed" : `run ${server.runs()}`)
  return { first: first.status, second: second.status, so }
}

describe("a response", () => {
  it.each([200, 201, 202, 204, 302, 400, 401, 402, 403, 404, 405, 409, 410, 412, 413, 415, 422, 451, 501, 507])(
    "%i is an outcome",
    async (code) => {
      expect(await twice(Effect.succeed(status(code)))).toEqual({ first: code, second: code, so: "replayed" })
    }
  )

  it.each<[number, Record<string, string>]>([
    [408, {}],
    [425, {}],
    [429, {}],
    [403, { "retry-after": "1" }],
    [409, { "retry-after": "1" }],
    [413, { "retry-after": "1" }],
    [423, { "retry-after": "1" }],
    [503, { "retry-after": "1" }]
  ])(
    "%i with %j leaves the key as new",
    async (code, headers) => {
      expect(await twice(Effect.succeed(status(code, headers)))).toEqual({ first: code, second: code, so: "run 2" })
    }
  )

  it.each([500, 502, 503, 504, 599])("%i does not say whether anything took effect", async (code) => {
    const { first, second, so } = await twice(Effect.succeed(status(code)))
    expect([first, second, so]).toEqual([code, 500, "idempotency_in_doubt"])
  })

  it.each([500, 502, 504])("%i is an outcome for who says so, as with Stripe's keys", async (code) => {
    const transience = Transience.make([Transience.whenStatus([500, 502, 504], "terminal")])
    const options = { transience, unquotedKeys: true }
    expect(await twice(Effect.succeed(status(code)), options)).toEqual({ first: code, second: code, so: "replayed" })
    expect((await twice(Effect.timeout(Effect.never, "1 millis"), options)).so).toBe("idempotency_in_doubt")
  })

  it("is judged as the program says", async () => {
    const transience = Transience.make([Transience.whenStatus(500, { transience: "terminal", applied: "maybe" })])
    expect((await twice(Effect.succeed(status(500)), { transience })).so).toBe("replayed")
  })
})

describe("a failure of the handler", () => {
  it("is what the first caller gets, and its response is recorded", async () => {
    const refused = await twice(Effect.fail(new Refused({ status: 402 })))
    expect(refused).toEqual({ first: 402, second: 402, so: "replayed" })
  })

  it("that is a response is that response", async () => {
    expect(await twice(Effect.fail(status(404)))).toEqual({ first: 404, second: 404, so: "replayed" })
    expect(await twice(Effect.die(status(404)))).toEqual({ first: 404, second: 404, so: "replayed" })
  })

  it("of a body that is not as it should be is an outcome", async () => {
    const payment = HttpServerRequest.schemaBodyJson(Schema.Struct({ card: Schema.String }))
    const handler = Effect.as(payment, HttpServerResponse.empty())
    expect(await twice(handler)).toEqual({ first: 400, second: 400, so: "replayed" })
  })

  it("that did nothing and may not be so again leaves the key as new, whatever its response", async () => {
    class Busy extends Refused {
      readonly "~@reprise/core/Transience": Transience.SelfDescription = { transience: "transient", applied: "no" }
    }
    expect((await twice(Effect.fail(new Busy({ status: 422 })))).so).toBe("run 2")
  })

  it("that may have taken effect leaves a doubt", async () => {
    const lost = Object.assign(new Error("socket hang up"), { code: "ECONNRESET" })
    expect(await twice(Effect.fail(lost))).toEqual({ first: 500, second: 500, so: "idempotency_in_doubt" })
  })

  it("that says nothing leaves a doubt", async () => {
    expect((await twice(Effect.fail("?"))).so).toBe("idempotency_in_doubt")
    expect((await twice(Effect.die("?"))).so).toBe("idempotency_in_doubt")
    expect((await twice(Effect.interrupt)).so).toBe("idempotency_in_doubt")
  })

  it("after retries that did nothing leaves the key as new", async () => {
    const refused = Object.assign(new Error("refused"), { code: "ECONNREFUSED" })
    const handler = Effect.fail(refused).pipe(Retry.run(Policy.delays(["1 millis"])))
    expect(await twice(handler)).toEqual({ first: 500, second: 500, so: "run 2" })
  })
})

describe("a body", () => {
  const bytes = (text: string) => new TextEncoder().encode(text)
  const streaming = (...parts: ReadonlyArray<string>) =>
    Effect.succeed(HttpServerResponse.stream(Stream.fromIterable(parts.map(bytes)), { contentType: "text/csv" }))

  it("that is a stream is recorded", async () => {
    await using server = start(streaming("a,b\n", "1,2\n"))
    const first = await server.ask()
    const again = await server.ask()
    expect([first.text, again.text]).toEqual(["a,b\n1,2\n", "a,b\n1,2\n"])
    expect([first.headers.get("content-type"), again.headers.get("content-type")]).toEqual(["text/csv", "text/csv"])
    expect([again.replayed, server.runs()]).toEqual([true, 1])
  })

  it("that is a form is recorded, with its boundary", async () => {
    const form = new FormData()
    form.append("a", "1")
    await using server = start(Effect.succeed(HttpServerResponse.formData(form)))
    await server.ask()
    const again = await server.send()
    expect((await again.formData()).get("a")).toBe("1")
  })

  it("that is a web response is recorded", async () => {
    await using server = start(Effect.sync(() => HttpServerResponse.raw(new Response("raw"))))
    expect([(await server.ask()).text, (await server.ask()).text]).toEqual(["raw", "raw"])
  })

  it.each([
    ["as bytes", Effect.succeed(HttpServerResponse.text("12345678901"))],
    ["as a stream", streaming("12345", "67890", "1")]
  ])("over the limit is the first caller's alone, %s", async (_, handler) => {
    await using server = start(handler, { maxResponseBytes: 10 })
    const first = await server.ask()
    const again = await server.ask()
    expect([first.status, first.text]).toEqual([200, "12345678901"])
    expect([again.status, again.code, server.runs()]).toEqual([500, "idempotency_unreplayable", 1])
    expect(again.headers.get("x-should-retry")).toBe("false")
  })

  it.each([
    ["as bytes", Effect.succeed(HttpServerResponse.text("1234567890"))],
    ["as a stream", streaming("12345", "67890")]
  ])("at the limit is recorded, %s", async (_, handler) => {
    await using server = start(handler, { maxResponseBytes: 10 })
    await server.ask()
    expect((await server.ask()).text).toBe("1234567890")
  })

  it("without an end is given to the first caller as it comes", async () => {
    const endless = Stream.forever(Stream.succeed(bytes("12345678")))
    await using server = start(Effect.succeed(HttpServerResponse.stream(endless)), { maxResponseBytes: 100 })
    const reader = (await server.send()).body!.getReader()
    let read = 0
    while (read < 1000) read += (await reader.read()).value?.length ?? 0
    await reader.cancel()
    expect((await server.ask()).code).toBe("idempotency_unreplayable")
  })

  it("that breaks off leaves a doubt", async () => {
    const broken = Stream.concat(Stream.succeed(bytes("a")), Stream.fail(new Error("disk")))
    const { first, so } = await twice(Effect.succeed(HttpServerResponse.stream(broken)))
    expect([first, so]).toEqual([500, "idempotency_in_doubt"])
  })

  it("of many small parts is recorded in no time", async () => {
    const parts = Array.from({ length: 50_000 }, () => "x")
    await using server = start(streaming(...parts))
    await server.ask()
    expect((await server.ask()).text).toHaveLength(50_000)
  })
})

describe("a request in progress", () => {
  it("is a conflict, and says when to come back", async () => {
    const { promise: open, resolve } = Promise.withResolvers<void>()
    const handler = Effect.as(Effect.promise(() => open), HttpServerResponse.text("done"))
    await using server = start(handler, { retryAfter: "1500 millis" })
    const first = server.ask()
    const second = await server.ask()
    expect([second.status, second.code]).toEqual([409, "idempotency_in_progress"])
    expect(second.headers.get("retry-after")).toBe("2")
    expect(JSON.parse(second.text)).toHaveProperty("record", expect.stringMatching(/^[0-9a-f]{12}$/))
    resolve()
    expect((await first).text).toBe("done")
    expect((await server.ask()).replayed).toBe(true)
  })

  it("does not send anybody away for longer than its lease", async () => {
    await using server = start(Effect.delay(Effect.succeed(status(200)), "100 millis"), {
      retryAfter: "1 hour",
      lease: "2 seconds"
    })
    const first = server.ask()
    expect(Number((await server.ask()).headers.get("retry-after"))).toBeLessThanOrEqual(2)
    await first
  })
})

describe("a client that goes away", () => {
  const leaving = async (onDisconnect: "finish" | "interrupt") => {
    const { promise: started, resolve } = Promise.withResolvers<void>()
    const handler = Effect.andThen(Effect.sync(resolve), Effect.delay(Effect.succeed(status(201)), "50 millis"))
    await using server = start(handler, { onDisconnect, wait: "5 seconds" })
    const client = new AbortController()
    const first = server.ask({ signal: client.signal }).catch(() => undefined)
    await started
    client.abort()
    const second = await server.ask()
    await first
    return { runs: server.runs(), replayed: second.replayed, code: second.code }
  }

  it("finds the outcome when it comes back", async () => {
    expect(await leaving("finish")).toEqual({ runs: 1, replayed: true, code: undefined })
  })

  it("finds a doubt, where it may interrupt the handler", async () => {
    expect(await leaving("interrupt")).toEqual({ runs: 1, replayed: false, code: "idempotency_in_doubt" })
  })

  it("while it still sends, leaves nothing behind", async () => {
    await using server = start(Effect.succeed(status(201)))
    const client = new AbortController()
    const body = new ReadableStream({ pull: () => client.abort() })
    await expect(server.ask({ body, signal: client.signal })).resolves.toMatchObject({ status: 499 })
    expect((await server.ask()).replayed).toBe(false)
    expect(server.runs()).toBe(1)
  })
})

describe("a doubt", () => {
  const lost = Effect.succeed(status(504))

  it("is an error of the server's, and no client that listens tries it again", async () => {
    await using server = start(lost)
    await server.ask()
    const { code, headers, status, text } = await server.ask()
    expect([status, code, headers.get("x-should-retry"), headers.get("retry-after")])
      .toEqual([500, "idempotency_in_doubt", "false", null])
    expect(JSON.parse(text)).toHaveProperty("record", expect.stringMatching(/^[0-9a-f]{12}$/))
    expect(server.runs()).toBe(1)
  })

  it("is run again where that is harmless", async () => {
    await using server = start((run) => run === 1 ? lost : Effect.succeed(status(201)), { onAbandoned: "rerun" })
    await server.ask()
    expect((await server.ask()).status).toBe(201)
    expect((await server.ask()).replayed).toBe(true)
  })

  it("is settled by what the outside world says, which is recorded", async () => {
    const found: Array<string> = []
    const reconcile = Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      found.push(request.url, yield* request.text, Option.getOrThrow(yield* IdempotencyKey.Current))
      return Idempotency.succeeded(HttpServerResponse.text("found", { status: 201, headers: { location: "/1" } }))
    }).pipe(Effect.orDie)
    await using server = start(lost, { reconcile })
    await server.ask()
    for (const _ of [1, 2]) {
      const { headers, replayed, status, text } = await server.ask()
      expect([status, text, headers.get("location"), replayed]).toEqual([201, "found", "/1", true])
    }
    expect(found).toEqual(["/charges", "{\"amount\":20}", "order-1017"])
    expect(server.runs()).toBe(1)
  })

  it("is run where the outside world says that nothing took effect", async () => {
    const handler = (run: number) => run === 1 ? lost : Effect.succeed(status(201))
    await using server = start(handler, { reconcile: Effect.succeed(Idempotency.notApplied) })
    await server.ask()
    const second = await server.ask()
    expect([second.status, second.replayed, server.runs()]).toEqual([201, false, 2])
  })

  it("stays where it cannot be told, and may be told later", async () => {
    await using server = start(lost, { reconcile: Effect.succeed(Idempotency.unknown) })
    await server.ask()
    const { code, headers } = await server.ask()
    expect([code, headers.get("x-should-retry")]).toEqual(["idempotency_in_doubt", null])
  })

  it("stays where asking fails, and the failure is the caller's", async () => {
    await using server = start(lost, { reconcile: Effect.fail(new Refused({ status: 502 })) })
    await server.ask()
    expect((await server.ask()).status).toBe(502)
  })

  it("is logged without key and payload", async () => {
    await using server = start(lost)
    await server.ask()
    const { text } = await server.ask()
    expect(server.logs.join("\n")).toContain(JSON.parse(text).record)
    expect(server.logs.join("\n")).not.toMatch(/order-1017|amount/)
  })
})

describe("a store that fails", () => {
  const failing = (cause: unknown) =>
    memory.faulty(() => ({
      claim: () => Effect.fail(new IdempotencyError.StoreFailed({ operation: "claim", cause }))
    }))

  it("sends callers away for a while, and runs nothing", async () => {
    const away = Object.assign(new Error("connect"), { code: "ECONNREFUSED" })
    await using server = start(Effect.succeed(status(201)), {}, failing(away))
    const { code, headers, status: found } = await server.ask()
    expect([found, code, headers.get("retry-after")]).toEqual([503, "idempotency_unavailable", "1"])
    expect(server.runs()).toBe(0)
    expect(server.logs.join()).toContain("claim")
  })

  it("for good says so, and runs nothing", async () => {
    await using server = start(Effect.succeed(status(201)), {}, failing(new Error("no such table")))
    const { code, headers, status: found } = await server.ask()
    expect([found, code, headers.get("x-should-retry")]).toEqual([500, "idempotency_unavailable", "false"])
    expect(server.runs()).toBe(0)
  })
})

describe("a holder that comes too late", () => {
  // The record has been given to another, which has recorded a response of its own.
  const outcome = JSON.stringify({ success: { status: 201, headers: {}, body: btoa("the other") } })
  const late = (there: "done" | "running") =>
    memory.faulty((store) => ({
      finish: () => Effect.succeed(false),
      read: (id) => Effect.map(store.read(id), (found) => found && { ...found, state: there, outcome })
    }))

  it("answers what is recorded", async () => {
    await using server = start(Effect.succeed(HttpServerResponse.text("mine")), {}, late("done"))
    const { replayed, text } = await server.ask()
    expect([text, replayed]).toEqual(["the other", true])
  })

  it("answers that it is not known, where nothing is recorded yet", async () => {
    await using server = start(Effect.succeed(HttpServerResponse.text("mine")), {}, late("running"))
    const { code, headers } = await server.ask()
    expect([code, headers.get("x-should-retry")]).toEqual(["idempotency_in_doubt", "false"])
  })

  it("and may come back, where what is in doubt may be run again", async () => {
    const handler = Effect.succeed(HttpServerResponse.text("mine"))
    await using server = start(handler, { onAbandoned: "rerun" }, late("running"))
    const { code, headers } = await server.ask()
    expect([code, headers.get("x-should-retry")]).toEqual(["idempotency_in_doubt", null])
  })
})

describe("the handler", () => {
  it("knows its key and its claim", async () => {
    const handler = Effect.gen(function* () {
      const key = Option.getOrThrow(yield* IdempotencyKey.Current)
      return HttpServerResponse.jsonUnsafe([key, yield* Idempotency.CurrentClaim])
    })
    await using server = start(handler)
    expect(JSON.parse((await server.ask()).text)).toEqual(["order-1017", {
      record: expect.stringMatching(/^[0-9a-f]{12}$/),
      fence: 1
    }])
  })

  it("may add to its response what is added to each", async () => {
    const { HttpEffect } = await import("effect/http")
    const handler = Effect.andThen(
      HttpEffect.appendPreResponseHandler((_, response) =>
        Effect.succeed(HttpServerResponse.setHeader(response, "x-request", "first"))
      ),
      Effect.succeed(status(201))
    )
    await using server = start(handler)
    expect((await server.ask()).headers.get("x-request")).toBe("first")
    expect((await server.ask()).headers.get("x-request")).toBe(null)
  })
})
