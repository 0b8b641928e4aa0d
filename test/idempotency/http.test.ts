import { HttpIdempotency } from "@reprise/idempotency"
import { ByteSize, Effect, Layer } from "effect"
import { Headers, HttpIncomingMessage, HttpServerRequest, HttpServerResponse } from "effect/http"
import { describe, expect, it } from "vitest"
import { start } from "./httpServer.ts"
import * as memory from "./memory.ts"

const numbered = (run: number) => Effect.succeed(HttpServerResponse.jsonUnsafe({ run }, { status: 201 }))

const body = Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ text }) => text)

describe("HttpIdempotency.middleware", () => {
  it("gives later requests the response of the first: status, headers and body", async () => {
    await using server = start((run) =>
      Effect.succeed(
        HttpServerResponse.text(`charge ${run}`, { status: 201, headers: { location: "/charges/1", etag: "\"1\"" } })
      )
    )
    const first = await server.ask()
    const again = await server.ask()
    expect(server.runs()).toBe(1)
    expect([again.status, again.text]).toEqual([201, "charge 1"])
    for (const name of ["location", "etag", "content-type", "content-length"]) {
      expect(again.headers.get(name)).toBe(first.headers.get(name))
    }
    expect([first.replayed, again.replayed]).toEqual([false, true])
  })

  it("keeps the bytes of a body as they are", async () => {
    const bytes = Uint8Array.from({ length: 256 }, (_, i) => i)
    await using server = start(Effect.succeed(HttpServerResponse.uint8Array(bytes, { contentType: "image/png" })))
    await server.send()
    const again = await server.send()
    expect(again.headers.get("content-type")).toBe("image/png")
    expect(new Uint8Array(await again.arrayBuffer())).toEqual(bytes)
  })

  it.each([204, 205, 304])("replays a response that has no body: %i", async (status) => {
    await using server = start(Effect.succeed(HttpServerResponse.empty({ status, headers: { etag: "\"7\"" } })))
    await server.ask()
    const again = await server.ask()
    expect([again.status, again.text, again.replayed, again.headers.get("etag")]).toEqual([status, "", true, "\"7\""])
  })

  it("handles another key anew", async () => {
    await using server = start(numbered)
    await server.ask({ key: "\"a\"" })
    expect((await server.ask({ key: "\"b\"" })).text).toBe("{\"run\":2}")
  })

  it("lets a handler read the body that it has read", async () => {
    await using server = start(Effect.map(body, (text) => HttpServerResponse.text(text)))
    expect((await server.ask({ body: "five" })).text).toBe("five")
  })

  it("takes as it is what the handler knows of the request otherwise", async () => {
    await using server = start(
      Effect.map(
        HttpServerRequest.HttpServerRequest,
        ({ headers, method, source, url }) =>
          HttpServerResponse.jsonUnsafe([method, url, headers["x-trace"], source instanceof Request])
      )
    )
    const { text } = await server.ask({ path: "/charges?dry=1", headers: { "x-trace": "t" } })
    expect(JSON.parse(text)).toEqual(["POST", "/charges?dry=1", "t", true])
  })

  it("runs the handler once for requests that come together, and the others wait if asked to", async () => {
    await using server = start((run) => Effect.delay(numbered(run), "20 millis"), { wait: "5 seconds" })
    const answers = await Promise.all(Array.from({ length: 20 }, () => server.ask()))
    expect(server.runs()).toBe(1)
    expect(new Set(answers.map(({ text }) => text))).toEqual(new Set(["{\"run\":1}"]))
    expect(answers.filter(({ replayed }) => replayed)).toHaveLength(19)
  })
})

describe("which requests it is for", () => {
  it.each(["POST", "PATCH"])("%s without a key is refused", async (method) => {
    await using server = start(numbered)
    const { code, headers, status, text } = await server.ask({ method, key: "" })
    expect([status, code, server.runs()]).toEqual([400, "idempotency_key_missing", 0])
    expect(headers.get("content-type")).toBe("application/problem+json")
    expect(JSON.parse(text)).toMatchObject({ type: "about:blank", status: 400, title: expect.any(String) })
  })

  it.each(["GET", "PUT", "DELETE"])("%s passes, with and without a key", async (method) => {
    await using server = start(numbered)
    for (const key of ["", "\"a\"", "\"a\""]) expect((await server.ask({ method, key })).status).toBe(201)
    expect(server.runs()).toBe(3)
  })

  it("methods are those that it is told", async () => {
    await using server = start(numbered, { methods: ["delete"] })
    expect((await server.ask({ method: "DELETE", key: "" })).status).toBe(400)
    expect((await server.ask({ method: "POST", key: "" })).status).toBe(201)
  })

  it("a key that is not required may be missing, and not malformed", async () => {
    await using server = start(numbered, { required: false })
    expect((await server.ask({ key: "" })).text).toBe("{\"run\":1}")
    expect((await server.ask({ key: "" })).text).toBe("{\"run\":2}")
    expect((await server.ask({ key: "a b" })).code).toBe("idempotency_key_malformed")
    expect((await server.ask()).text).toBe("{\"run\":3}")
    expect((await server.ask()).text).toBe("{\"run\":3}")
  })

  it("the header may have another name", async () => {
    await using server = start(numbered, { header: "X-Request-Key" })
    const headers = { "x-request-key": "\"a\"" }
    expect((await server.ask({ headers, key: "" })).text).toBe("{\"run\":1}")
    expect((await server.ask({ headers, key: "" })).text).toBe("{\"run\":1}")
    expect((await server.ask({ key: "" })).text).toContain("x-request-key")
  })

  it("the page on keys is the type of a problem", async () => {
    await using server = start(numbered, { documentation: "https://pay.example/docs/keys" })
    expect(JSON.parse((await server.ask({ key: "" })).text)).toHaveProperty("type", "https://pay.example/docs/keys")
  })
})

describe("keys", () => {
  const quoted = [
    "\"8e03978e-40d5-43dd-bc93-6894a57f9324\"",
    " \"a\" ",
    "\"a b\"",
    "\"a,b;c=d\"",
    "\"say \\\"a\\\"\"",
    "\"a\\\\b\"",
    "\"a\";v=1",
    "\"a\"; v; w=\"x, y\"; *x=:YQ==:;y=?1",
    "\"a\";v=%\"f%c3%bc\";w=@1659578233;x=-1.5",
    `"${"k".repeat(255)}"`
  ]
  const bare = ["8e03978e-40d5-43dd-bc93-6894a57f9324", "order:1017", "a=b", "k".repeat(255)]
  const wrong = [
    "\"\"",
    "\"a\", \"b\"",
    "a, b",
    "a,b",
    "a b",
    "\"a",
    "a\"",
    "\"a\" b",
    "\"a\\b\"",
    "\" a\"",
    "\"a \"",
    "\"a\";",
    "\"a\";1",
    "\"a\";V=1",
    "\"a\"v=1",
    "\"ä\"",
    "(\"a\")",
    `"${"k".repeat(256)}"`,
    `"a";${"b".repeat(5000)}=`
  ]

  it.each(quoted)("%s is one", async (key) => {
    await using server = start(numbered)
    expect((await server.ask({ key })).status).toBe(201)
    expect((await server.ask({ key })).replayed).toBe(true)
  })

  it.each([...wrong, ...bare])("%s is none", async (key) => {
    await using server = start(numbered)
    const { code, status, text } = await server.ask({ key })
    expect([status, code, server.runs()]).toEqual([400, "idempotency_key_malformed", 0])
    expect(JSON.parse(text).detail).not.toContain(key)
  })

  it.each([...quoted, ...bare])("%s is one where quotation marks are not asked for", async (key) => {
    await using server = start(numbered, { unquotedKeys: true })
    expect((await server.ask({ key })).status).toBe(201)
    expect((await server.ask({ key })).replayed).toBe(true)
  })

  it.each(wrong)("%s is none where quotation marks are not asked for", async (key) => {
    await using server = start(numbered, { unquotedKeys: true })
    expect((await server.ask({ key })).code).toBe("idempotency_key_malformed")
  })

  it("in and without quotation marks, and with parameters, it is the same key", async () => {
    await using server = start(numbered, { unquotedKeys: true })
    for (const key of ["\"a=b\"", "a=b", "\"a=b\";v=2"]) {
      expect((await server.ask({ key })).text).toBe("{\"run\":1}")
    }
  })

  it("an escaped character is that character", async () => {
    await using server = start(numbered, { unquotedKeys: true })
    await server.ask({ key: "\"a\\\\b\"" })
    expect((await server.ask({ key: "a\\b" })).replayed).toBe(true)
  })
})

describe("requests that differ", () => {
  it.each([
    ["body", { body: "{\"amount\":21}" }],
    ["white space in the body", { body: "{\"amount\": 20}" }],
    ["path", { path: "/refunds" }],
    ["query", { path: "/charges?capture=false" }],
    ["method", { method: "PATCH" }]
  ])("by %s are refused under one key", async (_, ask) => {
    await using server = start(numbered)
    await server.ask()
    const { code, status } = await server.ask(ask)
    expect([status, code, server.runs()]).toEqual([422, "idempotency_key_reused", 1])
    expect((await server.ask()).replayed).toBe(true)
  })

  it.each([
    ["user-agent", "other"],
    ["retry-attempt", "2"],
    ["content-type", "application/json;charset=utf-8"],
    ["host", "other.example"]
  ])("by the header %s are the same", async (name, value) => {
    await using server = start(numbered)
    await server.ask()
    expect((await server.ask({ headers: { [name]: value } })).replayed).toBe(true)
  })

  it("may be the same by a payload of one's own", async () => {
    const payload = Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ json }) => json)
    await using server = start(numbered, { payload })
    await server.ask({ body: "{\"a\":1,\"b\":2}" })
    expect((await server.ask({ body: "{ \"b\": 2, \"a\": 1 }" })).replayed).toBe(true)
    expect((await server.ask({ body: "{\"a\":1}" })).status).toBe(422)
  })

  it("may be refused where that payload cannot be compared", async () => {
    const payload = Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ json }) => json)
    await using server = start(numbered, { payload })
    const { code, status, text } = await server.ask({ body: `${"[".repeat(200)}${"]".repeat(200)}` })
    expect([status, code, server.runs()]).toEqual([400, "idempotency_payload_malformed", 0])
    expect(text).toContain("levels deep")
  })

  it.each([true, false])(
    "a body over the limit is refused, and nothing of it is handled; streamed: %s",
    async (streams) => {
      await using server = start(numbered, { maxBodyBytes: 10 })
      const stream = (text: string) => new Blob([text]).stream()
      const of = (text: string) => (streams ? stream(text) : text)
      const { code, status } = await server.ask({ body: of("12345678901") })
      expect([status, code, server.runs()]).toEqual([413, "idempotency_payload_too_large", 0])
      expect((await server.ask({ body: of("1234567890") })).status).toBe(201)
    }
  )
})

describe("without limits of one's own", () => {
  const mebibyte = 1_048_576

  it("a body of a request is at most 1,048,576 bytes long", async () => {
    await using server = start(numbered)
    expect((await server.ask({ body: "x".repeat(mebibyte + 1) })).status).toBe(413)
    expect((await server.ask({ body: "x".repeat(mebibyte) })).status).toBe(201)
  })

  it.each([[mebibyte, 200], [mebibyte + 1, 500]])("of a body of %i bytes the replay is %i", async (size, replay) => {
    await using server = start(Effect.succeed(HttpServerResponse.uint8Array(new Uint8Array(size))))
    expect((await server.ask()).status).toBe(200)
    expect((await server.ask()).status).toBe(replay)
  })

  it("a body is no longer than the program allows anyway", async () => {
    const allowed = Layer.succeed(HttpIncomingMessage.MaxBodySize, ByteSize.bytes(5))
    await using server = start(numbered, { maxBodyBytes: 10 }, Layer.merge(memory.layer(), allowed))
    const { code, status } = await server.ask({ body: "123456" })
    expect([status, code, server.runs()]).toEqual([413, "idempotency_payload_too_large", 0])
    expect((await server.ask({ body: "12345" })).status).toBe(201)
  })
})

describe("responses that are recorded", () => {
  it("never have the cookies of the first caller", async () => {
    await using server = start((run) =>
      HttpServerResponse.text("in").pipe(
        HttpServerResponse.setCookieUnsafe("session", `secret-${run}`),
        HttpServerResponse.setHeader("x-session", `secret-${run}`),
        Effect.succeed
      )
    )
    const first = await server.ask()
    const again = await server.ask()
    expect(first.headers.getSetCookie()).toEqual(["session=secret-1"])
    expect(again.replayed).toBe(true)
    expect(again.headers.getSetCookie()).toEqual([])
    expect(again.headers.get("x-session")).toBe(null)
  })

  it("never have a header that sets a cookie", async () => {
    await using server = start(Effect.succeed(HttpServerResponse.text("in", { headers: { "set-cookie": "a=b" } })))
    expect((await server.ask()).headers.getSetCookie()).toEqual(["a=b"])
    expect((await server.ask()).headers.getSetCookie()).toEqual([])
  })

  it("have the headers that are asked for", async () => {
    await using server = start(
      Effect.succeed(HttpServerResponse.text("", { headers: { "x-charge": "1", "x-other": "2" } })),
      { headers: ["X-Charge"] }
    )
    await server.ask()
    const { headers } = await server.ask()
    expect([headers.get("x-charge"), headers.get("x-other")]).toEqual(["1", null])
  })
})

describe("a request that is logged", () => {
  it.each([false, true])("hides its key where the program says so: %s", async (hides) => {
    const handler = Effect.map(HttpServerRequest.HttpServerRequest, (request) => {
      expect(JSON.stringify(request).includes("order-1017")).toBe(!hides)
      return HttpServerResponse.empty()
    })
    const names = Layer.succeed(Headers.CurrentRedactedNames, hides ? ["idempotency-key"] : [])
    await using server = start(handler, {}, Layer.merge(memory.layer(), names))
    expect((await server.ask()).status).toBe(204)
  })
})

describe("HttpIdempotency.Options", () => {
  it.each<[string, object]>([
    ["middleware.scope", { scope: "tenant" }],
    ["middleware.payload", { payload: "all" }],
    ["middleware.reconcile", { reconcile: () => undefined }],
    ["middleware.required", { required: "yes" }],
    ["middleware.unquotedKeys", { unquotedKeys: 1 }],
    ["middleware.methods", { methods: "POST" }],
    ["middleware.methods[1]", { methods: ["POST", ""] }],
    ["middleware.header", { header: "a b" }],
    ["middleware.headers[0]", { headers: ["x:y"] }],
    ["middleware.maxBodyBytes", { maxBodyBytes: 0 }],
    ["middleware.maxResponseBytes", { maxResponseBytes: -1 }],
    ["middleware.retryAfter", { retryAfter: 0 }],
    ["middleware.documentation", { documentation: "two words" }],
    ["middleware.onDisconnect", { onDisconnect: "wait" }],
    ["middleware.lease", { lease: 1 }],
    ["middleware.retention", { retention: "Infinity" }],
    ["middleware.wait", { wait: -1 }],
    ["middleware.onAbandoned", { onAbandoned: "again" }],
    ["middleware.retension", { retension: "1 hour" }]
  ])("%s is checked where the middleware is made", (argument, options) => {
    // What the types do not allow.
    const make = () => HttpIdempotency.middleware({ scope: Effect.succeed("a"), ...options } as never)
    expect(make).toThrow(expect.objectContaining({ _tag: "InvalidPolicy", argument }))
  })

  const never = [
    "Set-Cookie",
    "set-cookie2",
    "connection",
    "Content-Length",
    "keep-alive",
    "proxy-authenticate",
    "proxy-connection",
    "TE",
    "trailer",
    "transfer-encoding",
    "upgrade"
  ]
  it.each(never)(
    "a header that is never recorded cannot be asked for: %s",
    (name) => {
      expect(() => HttpIdempotency.middleware({ scope: Effect.succeed("a"), headers: ["x-ok", name] }))
        .toThrow(/headers\[1\]/)
    }
  )
})
