import { Policy, RetryExhausted } from "@reprise/core"
import * as FetchRetry from "@reprise/http/FetchRetry"
import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { closed, inOrder, rejection, type Seen, serve } from "./fetchServer.ts"

const options: FetchRetry.Options = { budget: "none" }
const policy = Policy.delays(["1 millis", "1 millis"])
const quickly = FetchRetry.fetch(policy, options)

const form = () => {
  const data = new FormData()
  data.append("name", "Ada")
  data.append("file", new Blob(["bytes"], { type: "text/plain" }), "a.txt")
  return data
}

/** A stream that lets itself be waited for, longer than it is seen whether it comes at once. */
const slowly = (...chunks: ReadonlyArray<string>) => {
  const left = chunks.map((_) => new TextEncoder().encode(_))
  return new ReadableStream({
    pull: async (controller) => {
      if (left.length === chunks.length) await new Promise((resolve) => setTimeout(resolve, 120))
      const chunk = left.shift()
      if (chunk === undefined) controller.close()
      else controller.enqueue(chunk)
    }
  })
}

const streamOf = (...chunks: ReadonlyArray<string>) =>
  ReadableStream.from(chunks.map((_) => new TextEncoder().encode(_)))

// Node.js wants `duplex` for streams, and its types do not know it.
const put = (body: unknown): RequestInit => ({ method: "PUT", body, duplex: "half" }) as RequestInit

async function* iterable() {
  yield Buffer.from("ab")
}

const reasonOf = (error: unknown) => RetryExhausted.is(error) ? error.reason._tag : error

const bytes = new TextEncoder().encode("-bytes-")

describe("a body that is sent again", () => {
  it.each([
    ["text", () => "text é", "text é"],
    ["URLSearchParams", () => new URLSearchParams({ a: "1 2" }), "a=1+2"],
    ["Blob", () => new Blob(["blob"]), "blob"],
    ["ArrayBuffer", () => bytes.slice().buffer, "-bytes-"],
    ["Uint8Array of a part", () => bytes.subarray(1, 6), "bytes"],
    ["DataView", () => new DataView(bytes.buffer, 1, 5), "bytes"],
    ["Buffer", () => Buffer.from("buffer"), "buffer"]
  ])("%s", async (_, make, sent) => {
    const { seen, url } = await serve(inOrder(503, "reset", 200))
    expect((await quickly(url, put(make()))).status).toBe(200)
    expect(seen.map((_) => _.body.toString())).toEqual([sent, sent, sent])
    expect(new Set(seen.map((_) => _.headers["content-type"])).size).toBe(1)
  })

  it("FormData, files with their names included", async () => {
    const { seen, url } = await serve(inOrder(503, 200))
    await quickly(url, put(form()))
    for (const { body, headers } of seen) {
      const parsed = await new Response(Uint8Array.from(body), {
        headers: { "content-type": headers["content-type"]! }
      })
        .formData()
      expect(parsed.get("name")).toBe("Ada")
      const file = parsed.get("file")
      expect(file instanceof File && [file.name, await file.text()]).toEqual(["a.txt", "bytes"])
    }
    expect(seen).toHaveLength(2)
  })

  it("FormData byte for byte, with one boundary (HTTP review 14)", async () => {
    const { seen, url } = await serve(inOrder(503, "reset", 200))
    await quickly(url, put(form()))
    expect(new Set(seen.map(({ body }) => body.toString())).size).toBe(1)
    expect(new Set(seen.map(({ headers }) => headers["content-type"])).size).toBe(1)
    expect(seen[0]!.headers["content-type"]).toMatch(/^multipart\/form-data; boundary=/)
  })

  it("FormData of more than a megabyte, part by part", async () => {
    const data = form()
    data.append("big", new Blob(["x".repeat(1_048_577)]))
    const { seen, url } = await serve(inOrder(503, 200))
    await quickly(url, put(data))
    expect(seen.map(({ body }) => body.length > 1_048_577)).toEqual([true, true])
  })

  it("is the one of the call, whatever becomes of it afterwards", async () => {
    const { seen, url } = await serve(inOrder(503, 200))
    const [array, params, data] = [bytes.slice(), new URLSearchParams("a=1"), form()]
    const calls = [array, params, data].map((body) => quickly(url, put(body)))
    array.fill(0)
    params.set("a", "2")
    data.set("name", "Bob")
    await Promise.all(calls)
    const sent = seen.map((_) => _.body.toString())
    expect(sent.filter((_) => _ === "-bytes-" || _ === "a=1" || _.includes("Ada"))).toHaveLength(seen.length)
  })
})

describe("the body of a Request (HTTP review 10)", () => {
  const request = (url: string, more: RequestInit = {}) => new Request(url, { method: "PUT", body: "text é", ...more })

  it("is sent again where it is a text or the like, with its length and its type", async () => {
    const { seen, url } = await serve(inOrder(503, "reset", 200))
    const given = request(url)
    expect((await quickly(given)).status).toBe(200)
    expect(given.bodyUsed).toBe(true)
    const { seen: natively, url: there } = await serve(inOrder(200))
    await fetch(request(there))
    const described = ({ body, headers }: Seen) => [
      body.toString(),
      headers["content-length"],
      headers["content-type"],
      headers["transfer-encoding"]
    ]
    expect(seen.map(described)).toEqual(Array(3).fill(described(natively[0]!)))
  })

  it.each([
    ["a form", form, "Ada"],
    ["a Blob", () => new Blob(["blob"]), "blob"],
    ["nothing", () => "", ""]
  ])("%s is sent again", async (_, body, part) => {
    const { seen, url } = await serve(inOrder(503, 200))
    await quickly(request(url, { body: body() }))
    expect(seen[0]!.body.toString()).toContain(part)
    expect(seen[1]).toEqual({ ...seen[0], headers: { ...seen[0]!.headers, "retry-attempt": "2" } })
  })

  it("may be `keepalive`", async () => {
    const { seen, url } = await serve(inOrder(200))
    expect((await quickly(request(url, { method: "POST", keepalive: true }))).status).toBe(200)
    expect(seen).toHaveLength(1)
  })

  it.each([["shop"], [undefined]])("is sent again where browsers do not show it: %s", async (body) => {
    const { seen, url } = await serve(inOrder(503, 200))
    const given = new Request(url, { method: "PUT", ...(body === undefined ? {} : { body }) })
    const hidden = Object.defineProperty(given, "body", { value: undefined })
    expect((await quickly(hidden)).status).toBe(200)
    expect(new Set(seen.map(({ body }) => body.toString()))).toEqual(new Set([body ?? ""]))
  })

  it("longer than a megabyte is sent whole, and once", async () => {
    const body = "x".repeat(1_048_577)
    const good = await serve(inOrder(200))
    await quickly(request(good.url, { body }))
    expect(good.seen[0]!.body.length).toBe(body.length)
    const { seen, url } = await serve(inOrder(503))
    expect(reasonOf(await rejection(quickly(request(url, { body }))))).toBe("Unsafe")
    expect(seen).toHaveLength(1)
    // Nobody has read it yet.
    expect(reasonOf(await rejection(quickly(request(await closed(), { body }))))).toBe("Unsafe")
  })

  it("that fails by itself is not sent again", async () => {
    const { seen, url } = await serve(inOrder(200))
    const body = new ReadableStream({ pull: (controller) => controller.error(new Error("gone")) })
    const error = await rejection(quickly(new Request(url, put(body))))
    expect([error instanceof Error, seen.length]).toEqual([true, 0])
  })
})

describe("a body that can be read once", () => {
  it.each([
    ["a stream", (url: string) => quickly(url, put(streamOf("a", "b")))],
    ["a Request's stream", (url: string) => quickly(new Request(url, put(slowly("a", "b"))))],
    ["an iterable", (url: string) => quickly(url, put(iterable()))]
  ])("%s is sent, and not sent again once it is read", async (_, send) => {
    const good = await serve(inOrder(200))
    expect((await send(good.url)).status).toBe(200)
    expect(good.seen[0]!.body.toString()).toBe("ab")
    const { seen, url } = await serve(inOrder(503))
    const error = await rejection(send(url))
    expect([reasonOf(error), seen.length]).toEqual(["Unsafe", 1])
    expect(String(error)).toContain("bufferBody")
  })

  it("is kept as it is sent where that is asked for", async () => {
    const { seen, url } = await serve(inOrder(503, "reset", 200))
    const buffering = FetchRetry.fetch(policy, { ...options, bufferBody: 4 })
    await buffering(url, put(streamOf("ab", "", "cd")))
    expect(seen.map((_) => _.body.toString())).toEqual(["abcd", "abcd", "abcd"])
    const other = await serve(inOrder(503, 200))
    await buffering(new Request(other.url, put("abcd")))
    expect(other.seen.map((_) => _.body.toString())).toEqual(["abcd", "abcd"])
  })

  it("is not kept past the limit, and arrives whole all the same", async () => {
    const buffering = FetchRetry.fetch(policy, { ...options, bufferBody: 3 })
    const good = await serve(inOrder(200))
    const chunks = Array.from({ length: 50 }, (_, n) => `${n},`)
    await buffering(good.url, put(streamOf(...chunks)))
    expect(good.seen[0]!.body.toString()).toBe(chunks.join(""))
    const { seen, url } = await serve(inOrder(503))
    expect(reasonOf(await rejection(buffering(url, put(streamOf("ab", "cd")))))).toBe("Unsafe")
    expect(seen).toHaveLength(1)
  })

  it("goes on from what was read where an attempt ended in the middle", async () => {
    const { seen, url } = await serve(inOrder(200))
    let attempts = 0
    const fetch = async (input: unknown, init?: RequestInit) => {
      if (++attempts > 1) return globalThis.fetch(input as string, init)
      const reader = (init!.body as ReadableStream).getReader()
      await reader.read()
      throw Object.assign(new Error("reset"), { code: "ECONNRESET" })
    }
    await FetchRetry.fetch(policy, { ...options, fetch, bufferBody: 100 })(url, put(streamOf("ab", "cd", "ef")))
    expect(seen.map((_) => _.body.toString())).toEqual(["abcdef"])
  })

  it("arrives whole whatever was read of it before, or is not sent again (property)", async () => {
    const property = fc.asyncProperty(
      fc.array(fc.string({ maxLength: 4 }), { maxLength: 8 }),
      fc.array(fc.nat(9), { minLength: 2, maxLength: 2 }),
      fc.nat(16),
      async (chunks, reads, bufferBody) => {
        let attempts = 0
        let arrived: string | undefined
        let begun = 0
        const fetch = async (_: unknown, init?: RequestInit) => {
          const body = init!.body as ReadableStream<Uint8Array>
          const most = reads[attempts++]
          if (most === undefined) {
            arrived = await new Response(body).text()
            return new Response()
          }
          const reader = body.getReader()
          let bytes = 0
          for (let n = 0; n < most; n++) bytes += (await reader.read()).value?.length ?? 0
          begun = Math.max(begun, bytes)
          throw Object.assign(new Error("reset"), { code: "ECONNRESET" })
        }
        const immediate = FetchRetry.fetch(Policy.immediate(2), { ...options, fetch, bufferBody })
        const outcome = await immediate("http://a.example", put(streamOf(...chunks))).then(() => "sent", reasonOf)
        expect(outcome).toBe(begun > bufferBody ? "Unsafe" : "sent")
        expect(arrived).toBe(outcome === "sent" ? chunks.join("") : undefined)
      }
    )
    await fc.assert(property, { numRuns: 100 })
  })

  it("is cancelled when the call has failed", async () => {
    let cancelled: unknown
    const body = new ReadableStream({
      pull: (controller) => controller.enqueue(new Uint8Array(10)),
      cancel: (reason) => {
        cancelled = reason
      }
    })
    const error = await rejection(quickly(await closed(), put(body)))
    expect(reasonOf(error)).toBe("Unsafe")
    expect(cancelled).toBe(error)
  })

  it("says so when the network fails (HTTP review 13)", async () => {
    const { url } = await serve(inOrder("reset"))
    const error = await rejection(quickly(url, put(streamOf("ab"))))
    expect([reasonOf(error), String(error).includes("bufferBody")]).toEqual(["Unsafe", true])
  })

  it("is refused without `duplex`, as by fetch", async () => {
    const { seen, url } = await serve(inOrder(200))
    const init: RequestInit = { method: "POST", body: streamOf("a") }
    expect([await rejection(quickly(url, init)), seen.length]).toEqual([await rejection(fetch(url, init)), 0])
  })

  it("that is read already is refused by fetch, once", async () => {
    const { seen, url } = await serve(inOrder(200))
    const request = new Request(url, put("ab"))
    await request.text()
    expect(await rejection(quickly(request))).toBeInstanceOf(TypeError)
    const stream = streamOf("a")
    stream.getReader()
    expect(await rejection(quickly(url, put(stream)))).toBeInstanceOf(TypeError)
    expect(seen).toEqual([])
  })
})
