import { Policy, RetryExhausted, Transience } from "@reprise/core"
import * as FetchRetry from "@reprise/http/FetchRetry"
import { describe, expect, it, onTestFinished } from "vitest"
import { closed, inOrder, rejection, type Seen, serve } from "./fetchServer.ts"

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

  it.each([["ftp://a.example/"], ["http://["], ["http://user:password@127.0.0.1/"], ["http://user@127.0.0.1/"], [
    "http://:password@127.0.0.1/"
  ]])(
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

const reasonOf = (error: unknown) => RetryExhausted.is(error) ? error.reason._tag : error

describe("a POST that took effect and leads to a page", () => {
  const post = { method: "POST", body: "order" }
  // A fetch that heeds no `redirect`.
  const follows: FetchRetry.Fetch = (input, init) => globalThis.fetch(input, { ...init, redirect: "follow" })

  it.each([
    ["429", {}],
    ["429", { deadline: "20 seconds" }],
    ["429", { fetch: follows }],
    ["503", {}],
    ["503", { deadline: "20 seconds" }],
    ["503", { fetch: follows }],
    ["refused", {}],
    ["refused", { deadline: "20 seconds" }]
  ] as ReadonlyArray<readonly [string, FetchRetry.Options]>)(
    "is not sent again when that fails: %s, %j (HTTP review 1)",
    async (failure, options) => {
      const page = failure === "refused" ? await closed() : "/orders/1"
      const failing = { status: Number(failure), headers: { "retry-after": "0" } }
      const { seen, url } = await serve((_, { method }) => method === "POST" ? to(page, 303) : failing)
      const error = await rejection(FetchRetry.fetch(policy, { budget: "none", ...options })(url, post))
      expect([reasonOf(error), seen.filter(({ method }) => method === "POST").length]).toEqual(["Unsafe", 1])
      const last = RetryExhausted.is(error) ? error.lastError : error
      expect(last instanceof FetchRetry.ResponseError ? last.applied : "maybe").toBe("maybe")
    }
  )

  it("says which request failed", async () => {
    const { url } = await serve((_, { method }) => method === "POST" ? to("/orders/1", 303) : 429)
    const error = await rejection(FetchRetry.fetch(policy, { budget: "none" })(url, post))
    expect(RetryExhausted.is(error) && error.lastError).toMatchObject({ method: "GET", url: `${url}/orders/1` })
  })

  it("is not sent again whatever a rule says of the status (HTTP review 1)", async () => {
    const { seen, url } = await serve((_, { method }) => method === "POST" ? to("/orders/1", 303) : 409)
    const transience = Transience.make([Transience.whenStatus(409, { transience: "transient", applied: "no" })])
    expect(reasonOf(await rejection(FetchRetry.fetch(policy, { budget: "none", transience })(url, post)))).toBe(
      "Unsafe"
    )
    expect(seen).toHaveLength(2)
  })

  it("is not sent again when a server without the key comes between (HTTP review 1)", async () => {
    const third = await serve(inOrder(429))
    const second = await serve(inOrder(to(third.url)))
    const { seen, url } = await serve(inOrder(to(second.url)))
    expect(reasonOf(await rejection(keyed(url, post)))).toBe("Unsafe")
    expect([seen.length, second.seen.length, third.seen.length]).toEqual([1, 1, 1])
  })

  it("is sent again where no redirect was followed and it did nothing", async () => {
    const { seen, url } = await serve(inOrder(429, to("/orders/1", 303), 200))
    expect((await FetchRetry.fetch(policy, { budget: "none" })(url, post)).status).toBe(200)
    expect(seen.map(({ method }) => method)).toEqual(["POST", "POST", "GET"])
  })
})

it.each([
  ["another origin", true],
  ["the same origin", false]
])("a response that was redirected to %s is as fetch would have made it, and its copies too", async (_, leaves) => {
  const other = await serve(inOrder(200))
  const { url } = await serve((_, request) => request.url === "/" ? to(leaves ? other.url : "/b") : 200)
  const [ours, native] = [await keyed(url), await fetch(url)]
  for (const response of [ours, ours.clone(), ours.clone().clone()]) {
    expect([response.redirected, response.type]).toEqual([native.redirected, native.type])
  }
})

it.each([
  ["POST", {}],
  ["POST", { deadline: "20 seconds" }],
  ["GET", { deadline: "20 seconds" }]
] as ReadonlyArray<readonly [string, FetchRetry.Options]>)(
  "a digest is that of the last response: %s, %j",
  async (method, options) => {
    const { url } = await serve((_, request) => request.url === "/" ? to("/b", 303) : { status: 200, body: "hi" })
    const integrity = "sha256-j0NDRmSPa5bfid2pAcUXaxCm2Dlh3TwayItZstwyeqQ="
    const body = method === "POST" ? { body: "order" } : {}
    const f = FetchRetry.fetch(policy, { budget: "none", ...options })
    expect(await (await f(url, { method, integrity, ...body })).text()).toBe("hi")
    expect(await (await f(new Request(url, { method, integrity, ...body }))).text()).toBe("hi")
  }
)

it("the caller's own key stays behind too where ours has another header", async () => {
  const other = await serve(inOrder(200))
  const { url } = await serve(inOrder(to(other.url)))
  const f = FetchRetry.fetch(policy, { budget: "none", idempotencyKeyForm: { header: "x-key" } })
  await f(url, { method: "POST", body: "a", headers: { "idempotency-key": "mine" } })
  expect(other.seen[0]!.headers).not.toHaveProperty("idempotency-key")
})

describe("a relative URL, for a fetch that knows of what", () => {
  const within = (url: string): FetchRetry.Fetch => async (input, init) => {
    const response = await globalThis.fetch(new URL(input instanceof Request ? input.url : input, url), init)
    // What is made by hand, as in tests and on servers, has no URL.
    return new Response(response.body, response)
  }

  it("is sent as it is (HTTP review 6)", async () => {
    const { seen, url } = await serve(inOrder(503, 201))
    const f = FetchRetry.fetch(policy, { fetch: within(url), budget: "none", idempotencyKey: true })
    expect((await f("/orders", { method: "POST", body: "a" })).status).toBe(201)
    expect(seen.map(({ url }) => url)).toEqual(["/orders", "/orders"])
  })

  it("is redirected within its origin, and away from it without the key (HTTP review 6)", async () => {
    const other = await serve(inOrder(200))
    const { seen, url } = await serve((_, request) => request.url === "/orders/?a" ? to("../b#c") : to(other.url))
    const f = FetchRetry.fetch(policy, { fetch: within(url), budget: "none", idempotencyKey: "k" })
    expect((await f("/orders/?a", { method: "POST", body: "a" })).status).toBe(200)
    expect(seen.map(({ headers, url }) => [url, headers["idempotency-key"]])).toEqual([
      ["/orders/?a", "\"k\""],
      ["/b", "\"k\""]
    ])
    expect(other.seen.map(({ headers }) => headers["idempotency-key"])).toEqual([undefined])
  })
})

describe("where redirects are not shown, as in browsers", () => {
  const hiding: FetchRetry.Fetch = async (input, init) => {
    const response = await globalThis.fetch(input, init)
    if (init?.redirect !== "manual" || response.headers.get("location") === null) return response
    return Object.defineProperties(new Response(null), { type: { value: "opaqueredirect" }, status: { value: 0 } })
  }
  const page = (origin: string) => {
    Object.assign(globalThis, { location: { href: `${origin}/`, origin } })
    onTestFinished(() => void Reflect.deleteProperty(globalThis, "location"))
  }
  const options: FetchRetry.Options = { budget: "none", fetch: hiding, deadline: "20 seconds" }
  const sent = (seen: ReadonlyArray<Seen>) =>
    seen.map(({ headers, method, url }) => [
      method,
      url,
      headers["idempotency-key"],
      ["retry-attempt", "grpc-timeout"].some((name) => name in headers)
    ])

  // It was sent once more without the key, which is one order too many where nothing has failed.
  it("a POST is sent once, with its key all the way, and without what servers elsewhere need not know (HTTP review 2)", async () => {
    const { seen, url } = await serve((_, { method }) => method === "POST" ? to("/orders/1", 303) : 200)
    page(url)
    const f = FetchRetry.fetch(policy, { ...options, idempotencyKey: "order-17" })
    expect((await f(`${url}/orders`, { method: "POST", body: "x" })).status).toBe(200)
    expect(sent(seen)).toEqual([
      ["POST", "/orders", "\"order-17\"", false],
      ["GET", "/orders/1", "\"order-17\"", false]
    ])
  })

  it("a POST without a key is not sent again after a redirect, or after a failure of the network", async () => {
    const { seen, url } = await serve((_, { method }) => method === "POST" ? to("/orders/1", 303) : 429)
    page(url)
    const f = FetchRetry.fetch(policy, options)
    expect(reasonOf(await rejection(f(url, { method: "POST", body: "x" })))).toBe("Unsafe")
    expect(sent(seen)).toEqual([["POST", "/", undefined, false], ["GET", "/orders/1", undefined, false]])
    expect(reasonOf(await rejection(f(await closed(), { method: "POST", body: "x" })))).toBe("Unsafe")
  })

  it("a POST without a key is sent again where it did nothing, and with one after anything", async () => {
    const { seen, url } = await serve(inOrder(429, 200, 500, 200))
    page(url)
    await FetchRetry.fetch(policy, options)(url, { method: "POST", body: "x" })
    await FetchRetry.fetch(policy, { ...options, idempotencyKey: true })(url, { method: "POST", body: "x" })
    expect(seen).toHaveLength(4)
  })

  it("what may be sent twice is sent once more without what is not for others", async () => {
    const { seen, url } = await serve((_, request) => request.url === "/a" ? to("/b") : 200)
    page(url)
    expect((await FetchRetry.fetch(policy, options)(`${url}/a`, { method: "PUT", body: "x" })).status).toBe(200)
    expect(sent(seen)).toEqual([
      ["PUT", "/a", undefined, true],
      ["PUT", "/a", undefined, false],
      ["PUT", "/b", undefined, false]
    ])
  })

  it("a POST through a fetch that hides them unexpectedly is not sent twice, and the next one is left to it", async () => {
    const { seen, url } = await serve((_, { method }) => method === "POST" ? to("/orders/1", 303) : 200)
    const f = FetchRetry.fetch(policy, { ...options, idempotencyKey: true })
    expect(await rejection(f(url, { method: "POST", body: "x" }))).toMatchObject({ message: "fetch failed" })
    expect((await f(url, { method: "POST", body: "x" })).status).toBe(200)
    expect(seen.map(({ method }) => method)).toEqual(["POST", "POST", "GET"])
  })
})
