import { Policy, type Retry, RetryBudget, RetryExhausted, Transience } from "@reprise/core"
import * as FetchRetry from "@reprise/http/FetchRetry"
import type { ServerResponse } from "node:http"
import { describe, expect, it } from "vitest"
import { closed, inOrder, rejection, serve } from "./fetchServer.ts"
import { timed } from "./timed.ts"

const quick = Policy.delays(["1 millis", "1 millis"])
const options: FetchRetry.Options = { budget: "none" }
const quickly = FetchRetry.fetch(quick, options)

const exhaustion = async (promise: Promise<unknown>): Promise<RetryExhausted.RetryExhausted> => {
  const error = await rejection(promise)
  if (RetryExhausted.is(error)) return error
  throw error
}

const statusOf = ({ lastError }: RetryExhausted.RetryExhausted) =>
  lastError instanceof FetchRetry.ResponseError ? lastError.status : lastError

/** An answer whose body begins, and never ends. */
const stalled = (status: number, body: string, headers: Record<string, string> = {}) =>
  new Response(new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode(body)) }), {
    status,
    headers
  })

describe("FetchRetry.fetch", () => {
  it("is called as fetch is, and tries again", async () => {
    const { seen, url } = await serve(inOrder(503, "reset", { status: 200, body: "ok" }))
    const response = await quickly(`${url}/orders?page=2`, { headers: { accept: "text/plain" } })
    expect([response.status, await response.text(), response.url]).toEqual([200, "ok", `${url}/orders?page=2`])
    expect(seen.map((_) => _.url)).toEqual(Array(3).fill("/orders?page=2"))
    expect(seen.map((_) => _.headers.accept)).toEqual(Array(3).fill("text/plain"))
  })

  it("takes a URL and a Request", async () => {
    const { seen, url } = await serve(inOrder(503, 200, 503, 200))
    await quickly(new URL(url))
    await quickly(new Request(url, { headers: { "x-a": "1" } }), { headers: { "x-b": "2" } })
    await quickly(new Request(url, { headers: { "x-a": "1" } }))
    expect(seen.slice(2).map(({ headers }) => [headers["x-a"], headers["x-b"]])).toEqual([
      [undefined, "2"],
      [undefined, "2"],
      ["1", undefined]
    ])
  })

  it("takes a Request in the place of the second argument", async () => {
    const { seen, url } = await serve(inOrder(503, 200))
    const request = new Request("http://a.example", { method: "PUT", body: "ab", headers: { "x-a": "1" } })
    await FetchRetry.fetch(quick, { ...options, bufferBody: 10 })(url, request)
    expect(seen.map(({ body, headers, method }) => [method, headers["x-a"], body.toString()])).toEqual([
      ["PUT", "1", "ab"],
      ["PUT", "1", "ab"]
    ])
  })

  it("has a type that fits where fetch does", async () => {
    const { url } = await serve(inOrder(200))
    const f: typeof globalThis.fetch = quickly
    expect((await f(url)).ok).toBe(true)
  })

  it.each([200, 204, 304, 400, 401, 404, 409, 422, 501])("resolves to a %i at once, as it is", async (status) => {
    const { seen, url } = await serve(inOrder(status))
    expect((await quickly(url)).status).toBe(status)
    expect(seen).toHaveLength(1)
  })

  it("rejects with RetryExhausted, which has status, method, URL without its query, and headers", async () => {
    const headers = { "x-request-id": "17", "set-cookie": "secret" }
    const { seen, url } = await serve(inOrder({ status: 503, headers, body: "busy" }))
    const error = await exhaustion(quickly(`${url}/a?token=secret#b`))
    expect(seen).toHaveLength(3)
    expect(error.lastError).toMatchObject({
      status: 503,
      method: "GET",
      url: `${url}/a`,
      headers: { "x-request-id": "17" }
    })
    expect(String(error)).toContain(`HTTP GET gave up after 3 attempts`)
    expect(JSON.stringify([error, error.lastError, String(error)])).not.toContain("secret")
  })

  it("`exhausted: \"response\"` resolves to the last answer, whose body can be read", async () => {
    const { seen, url } = await serve((number) => ({ status: 503, body: `busy ${number}` }))
    const response = await FetchRetry.fetch(quick, { ...options, exhausted: "response" })(url)
    expect([response.status, await response.text(), seen.length]).toEqual([503, "busy 3", 3])
  })

  it("`exhausted: \"response\"` rejects where there was no answer", async () => {
    const { url } = await serve(inOrder(503, "reset"))
    const error = await exhaustion(FetchRetry.fetch(quick, { ...options, exhausted: "response" })(url))
    expect(String(error.lastError)).toBe("TypeError: fetch failed")
  })

  it("an answer that the policy or `when` does not retry resolves, with its body", async () => {
    const { url } = await serve(inOrder({ status: 503, body: "busy" }))
    const not503 = quick.pipe(Policy.untilInput((error) => error instanceof FetchRetry.ResponseError, "answer"))
    for (const f of [FetchRetry.fetch(not503, options), FetchRetry.fetch(quick, { ...options, when: () => false })]) {
      const response = await f(url)
      expect([response.status, await response.text()]).toEqual([503, "busy"])
    }
    expect((await FetchRetry.fetch(Policy.none, options)(url)).status).toBe(503)
  })

  it("a failure of the network that stays rejects as it is", async () => {
    expect(await rejection(quickly("http:/\\:"))).toBeInstanceOf(TypeError)
    expect(await rejection(quickly("ftp://127.0.0.1/"))).toMatchObject({ message: "fetch failed" })
    expect(await rejection(quickly("http://127.0.0.1:1", { method: "GET", body: "a" }))).toBeInstanceOf(TypeError)
  })

  it("a refused connection is tried again", async () => {
    const url = await closed()
    for (const method of ["GET", "POST"]) {
      const error = await exhaustion(quickly(url, { method }))
      expect([error.reason._tag, error.attempts, String(error.cause)]).toEqual(["End", 3, "TypeError: fetch failed"])
    }
  })

  it("waits as a server asks, and not longer than the policy allows", async () => {
    const { seen, url } = await serve(inOrder({ status: 429, headers: { "retry-after-ms": "30" } }, 200))
    const events: Array<Retry.RetryEvent> = []
    await FetchRetry.fetch(quick, { ...options, onRetry: (event) => events.push(event) })(url)
    expect(seen).toHaveLength(2)
    expect(events.map((_) => [_.name, _.attempt])).toEqual([["HTTP GET", 1]])
    const long = await serve(inOrder({ status: 429, headers: { "retry-after": "3600" } }))
    const error = await exhaustion(quickly(long.url))
    expect([error.reason._tag, error.attempts, error.retryAt === undefined]).toEqual(["RetryAfterTooLong", 1, false])
  })

  it("what one call is asked to wait, the others of the origin wait too", async () => {
    const arrived: Record<string, number> = {}
    const { url } = await serve((_, { headers, url }) => {
      const again = headers["retry-attempt"] !== undefined
      arrived[`${url} ${again ? 2 : 1}`] = performance.now()
      if (again) return 200
      return url === "/asked" ? { status: 429, headers: { "retry-after-ms": "300" } } : 503
    })
    let other: Promise<unknown> | undefined
    const f = FetchRetry.fetch(quick, {
      budget: RetryBudget.unlimited,
      // The first to be told of knows the hint.
      onRetry: () => void (other ??= f(`${url}/other`))
    })
    await f(`${url}/asked`)
    await other
    expect(arrived["/other 1"]! - arrived["/asked 1"]!).toBeLessThan(290)
    // A timer may be a millisecond early.
    expect(arrived["/other 2"]! - arrived["/asked 1"]!).toBeGreaterThanOrEqual(299)
  })

  it("heeds `x-should-retry`", async () => {
    const no = await serve(inOrder({ status: 503, headers: { "x-should-retry": "false" } }))
    expect((await exhaustion(quickly(no.url))).reason._tag).toBe("Pushback")
    const yes = await serve(inOrder({ status: 409, headers: { "x-should-retry": "true" } }, 200))
    expect((await quickly(yes.url)).status).toBe(200)
  })

  it("reads a hint in the body for a profile that does, and leaves the body", async () => {
    const body = JSON.stringify({ retry_after: 3600 })
    const { url } = await serve(inOrder({ status: 429, body, headers: { "content-type": "application/json" } }))
    const f = FetchRetry.fetch(quick, { ...options, profile: "discord", exhausted: "response" })
    expect(await (await f(url)).json()).toEqual({ retry_after: 3600 })
    expect((await exhaustion(FetchRetry.fetch(quick, { ...options, profile: "discord" })(url))).reason._tag)
      .toBe("RetryAfterTooLong")
  })

  it("tells the server the attempt from the second on, and the deadline where there is one", async () => {
    const { seen, url } = await serve(inOrder(503))
    await rejection(FetchRetry.fetch(quick, { ...options, deadline: "5 seconds" })(url))
    expect(seen.map((_) => _.headers["retry-attempt"])).toEqual([undefined, "2", "3"])
    for (const { headers } of seen) expect(headers["grpc-timeout"]).toMatch(/^[1-4]\d{6}u$/)
    await rejection(FetchRetry.fetch(quick, { ...options, headers: false, deadline: "5 seconds" })(url))
    expect(Object.keys(seen.at(-1)!.headers)).not.toContain("retry-attempt")
    expect(Object.keys(seen.at(-1)!.headers)).not.toContain("grpc-timeout")
  })

  it("an attempt timeout is tried again, and cancels what was under way", async () => {
    const { seen, url } = await serve(inOrder("hang", 200))
    const response = await FetchRetry.fetch(quick, { ...options, attemptTimeout: "30 millis" })(url)
    expect([response.status, seen.length]).toEqual([200, 2])
  })

  it("no retry starts after the deadline", async () => {
    const { seen, url } = await serve(inOrder(503))
    const slow = Policy.constant("1 hour").pipe(Policy.attempts(3))
    const error = await exhaustion(FetchRetry.fetch(slow, { ...options, deadline: "1 second" })(url))
    expect([error.reason._tag, seen.length]).toEqual(["Deadline", 1])
  })

  it("shares a budget for each origin among its calls", async () => {
    const [one, other] = [await serve(inOrder(503)), await serve(inOrder(503))]
    const f = FetchRetry.fetch(quick)
    const reasons = []
    for (const { url } of [one, one, other]) reasons.push((await exhaustion(f(url))).reason._tag)
    expect(reasons).toEqual(["Budget", "Budget", "Budget"])
    expect([one.seen.length, other.seen.length]).toEqual([3, 2])
  })

  it("cancels the responses of attempts that are given up, also one that comes too late", async () => {
    const cancelled: Array<string> = []
    const answer = (name: string, status: number) =>
      new Response(
        new ReadableStream({
          pull: (controller) => controller.enqueue(new Uint8Array(10_000)),
          cancel: () => void cancelled.push(name)
        }),
        { status }
      )
    let attempt = 0
    const fetch = async (_: unknown, init?: RequestInit) => {
      const number = ++attempt
      // A fetch that does not listen to the signal.
      if (number === 2) await new Promise((resolve) => init!.signal!.addEventListener("abort", resolve))
      return answer(`answer ${number}`, number === 2 ? 200 : 503)
    }
    await rejection(FetchRetry.fetch(quick, { ...options, attemptTimeout: "10 millis", fetch })("http://a.example"))
    expect(cancelled).toEqual(["answer 1", "answer 2", "answer 3"])
  })

  it("what fetch says without a cause in browsers is tried again, unless the arguments are to blame", async () => {
    const native = globalThis.fetch
    let attempts = 0
    globalThis.fetch = async () => {
      attempts++
      throw new TypeError("Failed to fetch")
    }
    try {
      expect((await exhaustion(quickly("http://a.example"))).attempts).toBe(3)
      expect((await exhaustion(quickly("http://a.example", { method: "POST" }))).reason._tag).toBe("Unsafe")
      expect(attempts).toBe(4)
      expect(await rejection(quickly("http://a.example", { method: "a b" }))).toBeInstanceOf(TypeError)
      expect(attempts).toBe(5)
    } finally {
      globalThis.fetch = native
    }
  })

  it("and so through a fetch of the caller's, relative URLs included (HTTP review 17)", async () => {
    const fetch = async () => {
      throw new TypeError("Failed to fetch")
    }
    const f = FetchRetry.fetch(quick, { ...options, fetch })
    expect((await exhaustion(f("http://a.example"))).attempts).toBe(3)
    expect((await exhaustion(f("/orders"))).attempts).toBe(3)
    expect(await rejection(f("http://a.example", { method: "a b" }))).toBeInstanceOf(TypeError)
  })

  it.each([
    ["when", {
      when: () => {
        throw new Error("mine")
      }
    }],
    ["onRetry", {
      onRetry: () => {
        throw new Error("mine")
      },
      exhausted: "response"
    }],
    ["onRetry, of errors", {
      onRetry: () => {
        throw new Error("mine")
      }
    }],
    ["the classifier", {
      transience: {
        ...Transience.standard,
        classify: () => {
          throw new Error("mine")
        }
      }
    }]
  ] as ReadonlyArray<readonly [string, FetchRetry.Options]>)(
    "leaves no response open where %s throws (HTTP review 12)",
    async (_, more) => {
      let cancelled = 0
      const endless = () =>
        new ReadableStream({
          pull: (controller) => controller.enqueue(new Uint8Array(10_000)),
          cancel: () => void cancelled++
        })
      const fetch = async () => new Response(endless(), { status: 503 })
      const error = await rejection(FetchRetry.fetch(quick, { ...options, ...more, fetch })("http://a.example"))
      expect([error, cancelled]).toEqual([new Error("mine"), 1])
    }
  )

  it("reads what is left of an answer that is given up, so that its connection is used again (HTTP review 11)", async () => {
    let connections = 0
    const late = (response: ServerResponse) => {
      response.writeHead(503).write("x".repeat(20_000))
      setTimeout(() => response.end("x".repeat(20_000)), 3)
    }
    const { seen, url } = await serve((number) => number % 3 === 0 ? 200 : late, () => connections++)
    const keeping = FetchRetry.fetch(quick, { ...options, exhausted: "response" })
    for (const f of [quickly, keeping]) for (let n = 0; n < 5; n++) await (await f(url)).text()
    // One that is read may be on its way back, and one that was kept is read while the next attempt is under way.
    expect([seen.length, connections < 6]).toEqual([30, true])
  })

  it("does not wait for an answer without an end beyond the deadline", async () => {
    const f = FetchRetry.fetch(quick, { ...options, fetch: async () => stalled(503, "busy"), deadline: "70 millis" })
    const [{ attempts, lastError }, millis] = await timed(() => exhaustion(f("http://a.example")))
    // The end of the first is waited for until 50, that of the second from 51 on.
    expect([attempts, millis]).toEqual([2, 70])
    expect(lastError instanceof FetchRetry.ResponseError && lastError.excerpt).toBe("busy")
  })

  it("is not waited for longer than 50 ms, and its error shows what had come", async () => {
    const f = FetchRetry.fetch(quick, { ...options, fetch: async () => stalled(503, "busy") })
    const [{ attempts, lastError }, millis] = await timed(() => exhaustion(f("http://a.example")))
    expect([attempts, millis]).toEqual([3, 3 * 50 + 2])
    expect(lastError instanceof FetchRetry.ResponseError && lastError.excerpt).toBe("busy")
  })

  it("shows the beginning of the last answer, and of those before (HTTP review 23)", async () => {
    const { url } = await serve((number) => ({
      status: 500,
      body: `disk ${number} full ${"é".repeat(1000)}`,
      headers: { "content-type": "text/plain" }
    }))
    const told: Array<string | undefined> = []
    const onRetry = ({ error }: Retry.RetryEvent) =>
      void told.push(error instanceof FetchRetry.ResponseError ? error.excerpt?.slice(0, 11) : "")
    const { lastError } = await exhaustion(FetchRetry.fetch(quick, { ...options, onRetry })(url))
    expect(told).toEqual(["disk 1 full", "disk 2 full"])
    const excerpt = lastError instanceof FetchRetry.ResponseError ? lastError.excerpt ?? "" : ""
    expect([excerpt.slice(0, 12), new TextEncoder().encode(excerpt).length]).toEqual(["disk 3 full ", 1024])
  })

  it("shows nothing of an answer that is no text", async () => {
    const { url } = await serve(inOrder({ status: 500, body: "\u0000", headers: { "content-type": "image/png" } }))
    const { lastError } = await exhaustion(quickly(url))
    expect(lastError instanceof FetchRetry.ResponseError && lastError.excerpt).toBe(undefined)
  })

  it("tries 421 and 425 once more in a call, whatever comes between (HTTP review 16)", async () => {
    const { seen, url } = await serve(inOrder(425, 503, 425))
    const long = Policy.constant("1 millis").pipe(Policy.attempts(6))
    expect([(await FetchRetry.fetch(long, options)(url)).status, seen.length]).toEqual([425, 3])
  })

  it("a deadline ends an attempt that has no timeout of its own (HTTP review 9)", async () => {
    const { seen, url } = await serve(inOrder("hang"))
    const f = FetchRetry.fetch(quick, { ...options, attemptTimeout: "none", deadline: "50 millis" })
    expect([(await exhaustion(f(url))).reason._tag, seen.length]).toEqual(["Deadline", 1])
  })

  it("looks for hints only in JSON, not for ever, and only where the profile has a rule for the status (HTTP review 8)", async () => {
    const call = async (type: string, more: FetchRetry.Options) => {
      const fetch = async () => stalled(404, "{", { "content-type": type })
      const [{ status }, millis] = await timed(() =>
        FetchRetry.fetch(quick, { ...options, ...more, fetch })("http://a.example")
      )
      return [status, millis]
    }
    expect(await call("text/html", { profile: "google" })).toEqual([404, 0])
    expect(await call("application/json", { profile: "discord" })).toEqual([404, 0])
    expect(await call("application/json", { profile: "google" })).toEqual([404, 1000])
    expect(await call("application/json", { profile: "google", deadline: "100 millis" })).toEqual([404, 50])
  })

  it("an attempt does not end of looking for hints", async () => {
    const { seen, url } = await serve(inOrder((response) => {
      response.writeHead(404, { "content-type": "application/json" }).write("{")
    }))
    const f = FetchRetry.fetch(quick, { ...options, profile: "google", attemptTimeout: "100 millis" })
    const response = await f(url)
    expect([response.status, seen.length]).toEqual([404, 1])
    await response.body?.cancel()
  })

  it("takes null for no second argument, as fetch does", async () => {
    const { url } = await serve(inOrder(200))
    // Types know no null there, and runtimes do.
    expect((await quickly(url, null as unknown as undefined)).status).toBe(200)
  })

  it("says that a signal is none", async () => {
    const signal = {} as AbortSignal // What is tested is that it is not.
    expect(String(await rejection(quickly("http://a.example", { signal })))).toContain("must be an AbortSignal")
  })

  it("in a page, tells another origin nothing that it would have to allow", async () => {
    const sent: Array<readonly [string, string | null]> = []
    const fetch = async (input: unknown, init?: RequestInit) => {
      sent.push([String(input), new Headers(init?.headers).get("retry-attempt")])
      return new Response(null, { status: 503 })
    }
    Object.assign(globalThis, { location: { href: "http://site.example/a/", origin: "http://site.example" } })
    try {
      const f = FetchRetry.fetch(Policy.immediate(1), { ...options, fetch })
      for (const url of ["http://api.example/", "http://site.example/b", "c"]) await exhaustion(f(url))
    } finally {
      Reflect.deleteProperty(globalThis, "location")
    }
    expect(sent).toEqual([
      ["http://api.example/", null],
      ["http://api.example/", null],
      ["http://site.example/b", null],
      ["http://site.example/b", "2"],
      ["c", null],
      ["c", "2"]
    ])
  })

  it("a retrying fetch in another does not multiply", async () => {
    const { seen, url } = await serve(inOrder(503))
    const outer = FetchRetry.fetch(quick, { ...options, fetch: quickly, exhausted: "response" })
    expect(statusOf(await exhaustion(outer(url)))).toBe(503)
    expect(seen).toHaveLength(3)
  })
})
