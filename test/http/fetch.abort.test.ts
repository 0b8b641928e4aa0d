import { Policy, RetryExhausted } from "@reprise/core"
import * as FetchRetry from "@reprise/http/FetchRetry"
import { getEventListeners } from "node:events"
import { describe, expect, it } from "vitest"
import { inOrder, rejection, serve } from "./fetchServer.ts"

const options: FetchRetry.Options = { budget: "none" }
const quickly = FetchRetry.fetch(Policy.delays(["1 millis", "1 millis"]), options)
const patient = Policy.constant("1 hour").pipe(Policy.attempts(3))

const listeners = (signal: AbortSignal): number => getEventListeners(signal, "abort").length

describe("the caller's signal", () => {
  it("aborted already, sends nothing", async () => {
    const { seen, url } = await serve(inOrder(200))
    expect(await rejection(quickly(url, { signal: AbortSignal.abort("gone") }))).toBe("gone")
    expect(seen).toEqual([])
  })

  it("ends an attempt at once, with its own reason, and is not retried", async () => {
    const controller = new AbortController()
    const reason = new Error("went away")
    const { seen, url } = await serve(() => {
      controller.abort(reason)
      return "hang"
    })
    expect(await rejection(quickly(url, { signal: controller.signal }))).toBe(reason)
    expect(seen).toHaveLength(1)
    expect(listeners(controller.signal)).toBe(0)
  })

  it("ends a wait at once", async () => {
    const controller = new AbortController()
    const { seen, url } = await serve(inOrder(503))
    const f = FetchRetry.fetch(patient, {
      ...options,
      onRetry: () => queueMicrotask(() => controller.abort("enough"))
    })
    expect(await rejection(f(url, { signal: controller.signal }))).toBe("enough")
    expect([seen.length, listeners(controller.signal)]).toEqual([1, 0])
  })

  it.each(["answer", "failure"])("is not retried where it comes together with an %s", async (kind) => {
    const controller = new AbortController()
    let attempts = 0
    const fetch = async () => {
      attempts++
      controller.abort("enough")
      if (kind === "failure") throw Object.assign(new Error("reset"), { code: "ECONNRESET" })
      return new Response("", { status: 503 })
    }
    const f = FetchRetry.fetch(Policy.immediate(2), { ...options, fetch, exhausted: "response" })
    expect(await rejection(f("http://a.example", { signal: controller.signal }))).toBe("enough")
    expect(attempts).toBe(1)
  })

  it("of AbortSignal.timeout ends the call with its TimeoutError", async () => {
    const { seen, url } = await serve(inOrder("hang"))
    const error = await rejection(quickly(url, { signal: AbortSignal.timeout(20) }))
    expect([error instanceof DOMException && error.name, seen.length]).toEqual(["TimeoutError", 1])
  })

  it("of a Request counts too, and `signal: null` takes it away", async () => {
    const controller = new AbortController()
    const { url } = await serve(inOrder("hang", 200))
    const request = new Request(url, { signal: controller.signal })
    const running = quickly(request)
    setTimeout(() => controller.abort("gone"), 10)
    expect(await rejection(running)).toBe("gone")
    expect((await quickly(request, { signal: null })).status).toBe(200)
  })

  it("ends the reading of the body, when the call is long over", async () => {
    const controller = new AbortController()
    const { url } = await serve(inOrder(503, (response) => void response.writeHead(200).write("begun")))
    const response = await quickly(url, { signal: controller.signal })
    const reader = response.body!.getReader()
    expect(new TextDecoder().decode((await reader.read()).value)).toBe("begun")
    setTimeout(() => controller.abort(new Error("enough")), 5)
    expect(await rejection(reader.read())).toEqual(new Error("enough"))
  })

  it("shared by calls in thousands, keeps no listener (F2)", async () => {
    const { signal } = new AbortController()
    const answers = [503, 200]
    const fetch = async () => new Response(null, { status: answers[0]! })
    const f = FetchRetry.fetch(Policy.immediate(1), { ...options, fetch, exhausted: "response" })
    for (let n = 0; n < 1000; n++) await f("http://a.example", { signal })
    expect(listeners(signal)).toBe(0)
  })

  it("shared by 1,000 calls under way, ends them all, and keeps no listener (F2)", async () => {
    const controller = new AbortController()
    const { signal } = controller
    const fetch = (_: unknown, init?: RequestInit) =>
      new Promise<Response>((_, reject) => {
        init!.signal!.addEventListener("abort", () => reject(init!.signal!.reason), { once: true })
      })
    const f = FetchRetry.fetch(patient, { ...options, fetch })
    const running = Array.from({ length: 1000 }, () => rejection(f("http://a.example", { signal })))
    controller.abort("all of you")
    expect(new Set(await Promise.all(running))).toEqual(new Set(["all of you"]))
    expect(listeners(signal)).toBe(0)
  })
})

describe("an attempt's own timeout", () => {
  it("is retried, and says so when it is the last", async () => {
    const { seen, url } = await serve(inOrder("hang"))
    const f = FetchRetry.fetch(Policy.immediate(1), { ...options, attemptTimeout: "15 millis" })
    const error = await rejection(f(url))
    expect(RetryExhausted.is(error) && error.lastError).toMatchObject({ _tag: "TimeoutError" })
    expect(seen).toHaveLength(2)
  })

  it("does not bound the body", async () => {
    const { url } = await serve(inOrder((response) => {
      response.writeHead(200).write("a")
      setTimeout(() => response.end("b"), 60)
    }))
    const response = await FetchRetry.fetch(Policy.immediate(1), { ...options, attemptTimeout: "30 millis" })(url)
    expect(await response.text()).toBe("ab")
  })
})
