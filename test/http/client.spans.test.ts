// One client span for each send, and none around them.
import { describe, expect, it } from "@effect/vitest"
import type { HttpRetry } from "@reprise/http"
import * as Effect from "effect/Effect"
import * as Tracer from "effect/Tracer"
import { awaited, type Reply, retrying } from "./clientScript.ts"

const traced = (replies: ReadonlyArray<Reply>, options: HttpRetry.Options = {}) =>
  Effect.gen(function* () {
    const spans: Array<Tracer.Span> = []
    const tracer = Tracer.make({
      span: (options) => {
        const span = new Tracer.NativeSpan(options)
        spans.push(span)
        return span
      }
    })
    const { client } = retrying(replies, undefined, options)
    yield* awaited(client.get("https://a.example/stock")).pipe(Effect.provideService(Tracer.Tracer, tracer))
    return spans.map(({ attributes, kind, status }) => ({
      kind,
      ended: status._tag,
      resends: attributes.get("http.request.resend_count"),
      error: attributes.get("error.type"),
      status: attributes.get("http.response.status_code")
    }))
  })

const span = { kind: "client", ended: "Ended", resends: undefined, error: undefined, status: undefined }

describe("spans", () => {
  it.effect("a request that succeeds at once has one that says nothing of retries", () =>
    Effect.gen(function* () {
      expect(yield* traced([200])).toEqual([{ ...span, status: 200 }])
    }))

  it.effect("each send has its own, which says its number and what went wrong", () =>
    Effect.gen(function* () {
      expect(yield* traced([503, "ECONNREFUSED", 200])).toEqual([
        { ...span, status: 503, error: "503" },
        { ...span, resends: 1, error: "ECONNREFUSED" },
        { ...span, resends: 2, status: 200 }
      ])
    }))

  it.effect("an error without a code is known by its name, and an attempt that was interrupted by nothing", () =>
    Effect.gen(function* () {
      expect(yield* traced([new Error("?"), 200])).toEqual([{ ...span, error: "TransportError" }, {
        ...span,
        resends: 1,
        status: 200
      }])
      expect((yield* traced([() => Effect.never, 200]))[0]).toEqual(span)
    }))

  it.effect("redirects that are followed are sends too", () =>
    Effect.gen(function* () {
      expect(yield* traced([[302, { location: "/other" }], 200], { redirects: 3 })).toEqual([
        { ...span, status: 302 },
        { ...span, resends: 1, status: 200 }
      ])
    }))
})
