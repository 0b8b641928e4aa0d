import { IdempotencyKey, Policy, RetryExhausted } from "@reprise/core"
import * as FetchRetry from "@reprise/http/FetchRetry"
import { describe, expect, it } from "vitest"
import { inOrder, rejection, serve, type Server } from "./fetchServer.ts"

const policy = Policy.delays(["1 millis", "1 millis"])
const make = (options: FetchRetry.Options = {}) => FetchRetry.fetch(policy, { budget: "none", ...options })

const post: RequestInit = { method: "POST", body: "a" }
const keys = ({ seen }: Server) => seen.map((_) => _.headers["idempotency-key"])
const reasonOf = (error: unknown) => RetryExhausted.is(error) ? error.reason._tag : error

describe("methods", () => {
  it.each(["GET", "HEAD", "PUT", "DELETE", "OPTIONS"])("a %s is sent again after anything", async (method) => {
    const { seen, url } = await serve(inOrder(500, "reset", 200))
    expect((await make()(url, { method })).status).toBe(200)
    expect(seen).toHaveLength(3)
  })

  it.each(["POST", "PATCH", "post", "LINK"])("a %s is sent again where it did nothing for sure", async (method) => {
    const { seen, url } = await serve(inOrder(429, { status: 503, headers: { "retry-after": "0" } }, 200))
    expect((await make()(url, { method, body: "a" })).status).toBe(200)
    expect(seen).toHaveLength(3)
  })

  it.each([[500], [503], ["reset"]] as const)("a POST is not sent again after %s", async (answer) => {
    const { seen, url } = await serve(inOrder(answer))
    expect(reasonOf(await rejection(make()(url, post)))).toBe("Unsafe")
    expect(seen).toHaveLength(1)
  })

  it("a POST is not sent again after a timeout", async () => {
    const { seen, url } = await serve(inOrder("hang"))
    expect(reasonOf(await rejection(make({ attemptTimeout: "20 millis" })(url, post)))).toBe("Unsafe")
    expect(seen).toHaveLength(1)
  })

  it("`idempotent` says that a POST changes nothing", async () => {
    for (const idempotent of [true, (request: FetchRetry.Outgoing) => request.url.endsWith("/search")]) {
      const { url } = await serve(inOrder(500, 200))
      expect((await make({ idempotent })(`${url}/search`, post)).status).toBe(200)
    }
    const { url } = await serve(inOrder(500))
    expect(reasonOf(await rejection(make({ idempotent: () => false })(url, post)))).toBe("Unsafe")
  })
})

describe("the key", () => {
  it("true: a new one for each call, the same in every attempt, in quotes", async () => {
    const server = await serve((number) => number % 3 === 0 ? 200 : 500)
    const f = make({ idempotencyKey: true })
    await f(server.url, post)
    await f(server.url, post)
    const sent = keys(server)
    expect(sent).toHaveLength(6)
    expect(new Set(sent).size).toBe(2)
    for (const key of sent) expect(key).toMatch(/^"[0-9a-f]{8}-[0-9a-f-]{27}"$/)
  })

  it("a text, and a function of the request", async () => {
    const server = await serve(inOrder(500, 200, 500, 200, 200))
    await make({ idempotencyKey: "order-1017" })(server.url, post)
    const derived = make({
      idempotencyKey: ({ headers, method, url }) =>
        method === "POST" ? `${headers.get("x-order")} ${new URL(url).pathname}` : undefined
    })
    await derived(`${server.url}/pay`, { ...post, headers: { "x-order": "17" } })
    await derived(`${server.url}/pay`, { ...post, method: "PATCH" })
    expect(keys(server)).toEqual(["\"order-1017\"", "\"order-1017\"", "\"17 /pay\"", "\"17 /pay\"", undefined])
  })

  it("of the request itself is left alone, and counts", async () => {
    const server = await serve(inOrder(500, 200))
    await make({ idempotencyKey: true })(server.url, { ...post, headers: { "Idempotency-Key": "mine" } })
    const plain = await serve(inOrder(500, 200))
    await make()(plain.url, { ...post, headers: { "Idempotency-Key": "mine" } })
    expect([keys(server), keys(plain)]).toEqual([["mine", "mine"], ["mine", "mine"]])
  })

  it.each(["", " ", "\"\""])("that is empty, %j, is none (HTTP review 5)", async (empty) => {
    const { seen, url } = await serve(inOrder(500))
    const sent = { ...post, headers: { "idempotency-key": empty } }
    expect(reasonOf(await rejection(make()(url, sent)))).toBe("Unsafe")
    expect(seen).toHaveLength(1)
    const server = await serve(inOrder(500, 200))
    await make({ idempotencyKey: "mine" })(server.url, sent)
    expect(keys(server)).toEqual(["\"mine\"", "\"mine\""])
  })

  it("of the request itself counts also where ours would go in another header", async () => {
    const { seen, url } = await serve(inOrder(500, 200))
    const f = make({ idempotencyKey: true, idempotencyKeyForm: { header: "x-key" } })
    await f(url, { ...post, headers: { "Idempotency-Key": "mine" } })
    expect(seen.map(({ headers }) => [headers["idempotency-key"], headers["x-key"]])).toEqual([
      ["mine", undefined],
      ["mine", undefined]
    ])
  })

  it("is not sent with methods that need none", async () => {
    const server = await serve(inOrder(200))
    await make({ idempotencyKey: true })(server.url)
    expect(keys(server)).toEqual([undefined])
  })

  it("goes in another header, bare, where that is asked for", async () => {
    const { seen, url } = await serve(inOrder(500, 200))
    await make({ idempotencyKey: "a", idempotencyKeyForm: { header: "X-Request-Token", style: "bare" } })(url, post)
    expect(seen.map((_) => _.headers["x-request-token"])).toEqual(["a", "a"])
  })

  it("that cannot travel rejects before anything is sent, and is not shown", async () => {
    const { seen, url } = await serve(inOrder(200))
    const error = await rejection(make({ idempotencyKey: () => "secret\n" })(url, post))
    expect(error).toBeInstanceOf(IdempotencyKey.InvalidIdempotencyKey)
    expect(String(error)).not.toContain("secret")
    expect(seen).toEqual([])
  })
})
