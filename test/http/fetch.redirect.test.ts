import { Policy, RetryExhausted } from "@reprise/core"
import * as FetchRetry from "@reprise/http/FetchRetry"
import { describe, expect, it } from "vitest"
import { inOrder, rejection, serve } from "./fetchServer.ts"

const policy = Policy.delays(["1 millis", "1 millis"])
const keyed = FetchRetry.fetch(policy, { budget: "none", idempotencyKey: "order-1017", deadline: "20 seconds" })

const to = (location: string, status = 307) => ({ status, headers: { location }, body: "moved" })

const secrets = { authorization: "Bearer x", "proxy-authorization": "y", cookie: "z", "x-own": "1" }

describe("a redirect to another origin", () => {
  it("takes along neither the key, nor the attempt, nor the deadline, nor credentials", async () => {
    const other = await serve(inOrder(503, 200))
    const { seen, url } = await serve(inOrder(to(`${other.url}/there`)))
    const response = await keyed(`${url}/here`, {
      method: "PUT",
      body: "a",
      headers: { ...secrets, "idempotency-key": "k" }
    })
    expect([response.status, response.url, response.redirected]).toEqual([200, `${other.url}/there`, true])
    expect(
      seen.map(({ headers }) => [headers["idempotency-key"], headers["retry-attempt"], typeof headers["grpc-timeout"]])
    )
      .toEqual([["k", undefined, "string"], ["k", "2", "string"]])
    for (const { body, headers, method } of other.seen) {
      expect([method, body.toString(), headers["x-own"]]).toEqual(["PUT", "a", "1"])
      for (
        const name of [
          "idempotency-key",
          "retry-attempt",
          "grpc-timeout",
          "authorization",
          "proxy-authorization",
          "cookie"
        ]
      ) {
        expect(headers).not.toHaveProperty(name)
      }
    }
  })

  it("and back is still one without them", async () => {
    const { seen, url } = await serve((number, request) => request.url === "/1" ? to(`${other.url}/2`) : 200)
    const other: { url: string } = await serve(inOrder(to(`${url}/3`)))
    await keyed(`${url}/1`, { method: "POST", body: "a" })
    expect(seen.map(({ headers, url }) => [url, headers["idempotency-key"]])).toEqual([
      ["/1", "\"order-1017\""],
      ["/3", undefined]
    ])
  })

  it.each([[500], ["reset"], ["hang"]] as const)("is no longer safe to repeat by the key: %s", async (answer) => {
    const other = await serve(inOrder(answer))
    const { seen, url } = await serve(inOrder(to(other.url)))
    const f = FetchRetry.fetch(policy, { budget: "none", idempotencyKey: true, attemptTimeout: "200 millis" })
    const error = await rejection(f(url, { method: "POST", body: "a" }))
    expect([RetryExhausted.is(error) && error.reason._tag, seen.length, other.seen.length]).toEqual(["Unsafe", 1, 1])
  })

  it("that does nothing is repeated from the start, with the key", async () => {
    const other = await serve(inOrder(429, 200))
    const { seen, url } = await serve(inOrder(to(other.url)))
    expect((await keyed(url, { method: "POST", body: "a" })).status).toBe(200)
    expect(seen.map((_) => _.headers["idempotency-key"])).toEqual(["\"order-1017\"", "\"order-1017\""])
    expect(other.seen.map((_) => _.headers["idempotency-key"])).toEqual([undefined, undefined])
  })
})

describe("a redirect within the origin", () => {
  it.each([
    [301, "POST", "GET"],
    [302, "POST", "GET"],
    [303, "POST", "GET"],
    [303, "DELETE", "GET"],
    [301, "DELETE", "DELETE"],
    [307, "POST", "POST"],
    [308, "POST", "POST"]
  ])("%i makes of a %s a %s", async (status, method, made) => {
    const { seen, url } = await serve((number) => number === 1 ? to("/b?c", status) : 200)
    const response = await keyed(`${url}/a#hash`, {
      method,
      body: "a",
      headers: { ...secrets, "content-type": "text/x" }
    })
    expect(response.url).toBe(`${url}/b?c`)
    const second = seen[1]!
    const same = method === made
    expect([second.method, second.body.toString()]).toEqual([made, same ? "a" : ""])
    expect(second.headers["content-type"]).toBe(same ? "text/x" : undefined)
    expect(second.headers.authorization).toBe("Bearer x")
    expect(second.headers["grpc-timeout"]).toMatch(/u$/)
  })

  it("keeps a GET a GET, and what a Request says", async () => {
    const { seen, url } = await serve((number) => number === 1 ? to("/b", 302) : 200)
    const response = await keyed(new Request(`${url}/a`, { headers: { "x-own": "1" }, referrerPolicy: "no-referrer" }))
    expect([response.status, seen[1]!.method, seen[1]!.headers["x-own"]]).toEqual([200, "GET", "1"])
  })

  it.each(["follow", "natively"])("is followed 20 times at most (%s)", async (how) => {
    const { seen, url } = await serve((number) => to(`/${number}`))
    const f = how === "follow" ? keyed : FetchRetry.fetch(policy)
    expect(await rejection(f(url))).toMatchObject({ name: "TypeError", message: "fetch failed" })
    expect(seen).toHaveLength(21)
  })

  it.each([["ftp://a.example/"], ["http://["], ["http://user:password@127.0.0.1/"]])(
    "to %s is a failure that is not retried",
    async (location) => {
      const { seen, url } = await serve(inOrder(to(location)))
      expect(await rejection(keyed(url))).toMatchObject({ name: "TypeError", message: "fetch failed" })
      expect(seen).toHaveLength(1)
    }
  )

  it("without a location is an answer", async () => {
    const { url } = await serve(inOrder({ status: 302, body: "nowhere" }))
    const response = await keyed(url)
    expect([response.status, await response.text(), response.redirected]).toEqual([302, "nowhere", false])
  })

  it("of a body that is read cannot be followed", async () => {
    const { seen, url } = await serve(inOrder(to("/b")))
    const init = { method: "PUT", body: new Blob(["a"]).stream(), duplex: "half" }
    expect(await rejection(keyed(url, init as RequestInit))).toMatchObject({ message: "fetch failed" })
    expect(seen).toHaveLength(1)
  })
})

describe("what the caller says of redirects", () => {
  it("\"manual\" gives the redirect itself", async () => {
    const { seen, url } = await serve(inOrder(to("/b")))
    const response = await keyed(url, { redirect: "manual" })
    expect([response.status, response.headers.get("location"), seen.length]).toEqual([307, "/b", 1])
    expect((await keyed(new Request(url, { redirect: "manual" }))).status).toBe(307)
  })

  it("\"error\" rejects, and is not retried", async () => {
    const { seen, url } = await serve(inOrder(to("/b")))
    expect(await rejection(keyed(url, { redirect: "error" }))).toMatchObject({ message: "fetch failed" })
    expect(seen).toHaveLength(1)
  })
})

describe("where redirects are not shown, as in browsers", () => {
  it("sends the request once more without the headers, and lets the browser follow", async () => {
    const { seen, url } = await serve((_, request) => request.url === "/a" ? to("/b") : 503)
    const fetch = async (input: unknown, init?: RequestInit) => {
      const response = await globalThis.fetch(input as string, init)
      if (init?.redirect !== "manual" || response.status !== 307) return response
      return Object.defineProperties(new Response(null), { type: { value: "opaqueredirect" }, status: { value: 0 } })
    }
    const options: FetchRetry.Options = { budget: "none", idempotencyKey: true, fetch }
    const error = await rejection(FetchRetry.fetch(policy, options)(`${url}/a`, { method: "POST", body: "x" }))
    expect(RetryExhausted.is(error) && error.reason._tag).toBe("Unsafe")
    expect(seen.map(({ body, headers, url }) => [url, body.toString(), headers["idempotency-key"] === undefined]))
      .toEqual([
        ["/a", "x", false],
        ["/a", "x", true],
        ["/b", "x", true]
      ])
  })
})
