// A form is written once for all attempts, so that its boundary stays; and nobody waits long for that.
import { describe, expect, it } from "@effect/vitest"
import { Deadline, Policy } from "@reprise/core"
import { HttpRetry } from "@reprise/http"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as HttpBody from "effect/http/HttpBody"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import { onTestFinished, vi } from "vitest"
import { awaited, retrying } from "./clientScript.ts"
import { timed } from "./timed.ts"

const put = HttpClientRequest.put("https://files.example/1")

/** Makes what files give when they are read. */
const reading = (source: {
  readonly pull?: (controller: ReadableStreamDefaultController) => void
  readonly cancel?: () => void
}): void => {
  const stream = vi.spyOn(Blob.prototype, "stream").mockImplementation(() => new ReadableStream(source))
  onTestFinished(() => stream.mockRestore())
}

const form = (): FormData => {
  const data = new FormData()
  data.append("file", new Blob(["bytes"]), "a.txt")
  return data
}

/** As short as it seems, each part has a head of its own. */
const manyParts = (): FormData => {
  const data = new FormData()
  for (let part = 0; part < 20_000; part++) data.append("a", "")
  return data
}

const withForm = (data: FormData) => HttpClientRequest.setBody(put, HttpBody.formData(data))

describe("a form of the client's", () => {
  it.effect("whose file does not come is not waited for longer than an attempt, or a second", () =>
    Effect.gen(function* () {
      reading({})
      for (const [attemptTimeout, most] of [["100 millis", 200], ["10 seconds", 1100], ["none", 1100]] as const) {
        const { client, sent } = retrying([200], undefined, { attemptTimeout })
        const begin = yield* Clock.currentTimeMillis
        const exit = yield* awaited(client.execute(withForm(form())))
        expect([Exit.isSuccess(exit), sent.map(({ body }) => body._tag)]).toEqual([true, ["FormData"]])
        expect((yield* Clock.currentTimeMillis) - begin).toBeLessThanOrEqual(most)
      }
    }))

  it.effect("nor beyond the deadline", () =>
    Effect.gen(function* () {
      reading({})
      const { client } = retrying([() => Effect.never])
      const exit = yield* awaited(client.execute(withForm(form())).pipe(Deadline.within("300 millis")))
      expect([Exit.isFailure(exit), (yield* Clock.currentTimeMillis) <= 400]).toEqual([true, true])
    }))

  it.effect("is let go when the request is interrupted", () =>
    Effect.gen(function* () {
      let cancelled = false
      reading({
        cancel: () => {
          cancelled = true
        }
      })
      const { client, sent } = retrying([200])
      const fiber = yield* Effect.forkChild(client.execute(withForm(form())), { startImmediately: true })
      yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
      yield* Fiber.interrupt(fiber)
      yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
      expect([cancelled, sent.length]).toEqual([true, 0])
    }))

  it.effect("whose file cannot be read goes as it is, and the transport meets that", () =>
    Effect.gen(function* () {
      reading({ pull: (controller) => controller.error(new Error("the disk")) })
      const { client, sent } = retrying([200])
      const exit = yield* awaited(client.execute(withForm(form())))
      expect([Exit.isSuccess(exit), sent.map(({ body }) => body._tag)]).toEqual([true, ["FormData"]])
    }))

  it.effect("of more parts than a megabyte has room for is not kept", () =>
    Effect.gen(function* () {
      const { client, sent } = retrying([200])
      yield* awaited(client.execute(withForm(manyParts())))
      expect(sent.map(({ body }) => body._tag)).toEqual(["FormData"])
    }))

  it.effect("that goes as it is is the one of the call, whatever becomes of it afterwards", () =>
    Effect.gen(function* () {
      const data = form()
      data.append("big", new Blob(["x".repeat(1_048_577)]))
      for (const body of [HttpBody.formData(data), HttpBody.raw(data)]) {
        const { client, sent } = retrying([200])
        const fiber = yield* Effect.forkChild(client.execute(HttpClientRequest.setBody(put, body)), {
          startImmediately: true
        })
        data.set("late", "1")
        yield* Fiber.join(fiber)
        const was = sent[0]!.body
        const sentForm = was._tag === "FormData" ? was.formData : was._tag === "Raw" ? was.body : undefined
        expect(sentForm instanceof FormData && [...sentForm.keys()]).toEqual(["file", "big"])
        data.delete("late")
      }
    }))
})

describe("the bytes of a form", () => {
  it.effect("are those that the platform sends, but for the boundary", () =>
    Effect.gen(function* () {
      const texts = ["", "a", "b\r\nc\nd\re", `"quoted"`, "é\u{1f600}", "--", "a=b&c"]
      const data = new FormData()
      for (const text of texts) {
        data.append(text, text)
        data.append(text, new Blob([text], { type: text === "a" ? "text/plain" : "" }), `${text}.txt`)
      }
      const { client, sent } = retrying([200])
      yield* awaited(client.execute(withForm(data)))
      const { body, headers } = sent[0]!
      const native = new Response(data)
      const boundary = (type: string | null | undefined) => type?.split("boundary=")[1] ?? "none"
      const text = body._tag === "Uint8Array" ? new TextDecoder().decode(body.body) : ""
      const there = yield* Effect.promise(() => native.text())
      const own = boundary(headers["content-type"])
      expect(own).not.toBe("none")
      expect(text.replaceAll(own, "…")).toBe(there.replaceAll(boundary(native.headers.get("content-type")), "…"))
    }))
})

describe("a form of fetch's", () => {
  const sending = (options: HttpRetry.FetchOptions = {}) => {
    const bodies: Array<unknown> = []
    const fetch = HttpRetry.fetch(Policy.immediate(1), {
      budget: "none",
      fetch: async (_, init) => {
        bodies.push(init?.body)
        return new Response("ok")
      },
      ...options
    })
    return { bodies, send: (body: FormData) => fetch("https://files.example/1", { method: "PUT", body }) }
  }

  it.live("whose file does not come is not waited for longer than an attempt, or the deadline", () =>
    Effect.promise(async () => {
      reading({})
      for (const options of [{ deadline: "100 millis" }, { attemptTimeout: "100 millis" }] as const) {
        const { bodies, send } = sending(options)
        const [, millis] = await timed(() => send(form()).catch(() => {}))
        expect([millis, bodies.every((body) => body instanceof FormData)]).toEqual([100, true])
      }
    }))

  it.live("of more parts than a megabyte has room for is not kept", () =>
    Effect.promise(async () => {
      const { bodies, send } = sending()
      await send(manyParts())
      expect(bodies.map((body) => body instanceof FormData)).toEqual([true])
    }))
})
