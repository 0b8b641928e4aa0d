// Ten thousand requests that are retried, or aborted, hold no socket and no memory; neither does a long upload.
import { describe, expect, it } from "@effect/vitest"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Policy } from "@reprise/core"
import { HttpRetry } from "@reprise/http"
import * as Effect from "effect/Effect"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import type * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import * as server from "../server.ts"

setFlagsFromString("--expose-gc")
// Made by the flag, which a context that is there already does not see.
const gc = runInNewContext("gc") as () => void

const heap = Effect.gen(function* () {
  for (let i = 0; i < 4; i++) {
    yield* Effect.sleep(10)
    gc()
  }
  const { arrayBuffers, external, heapUsed } = process.memoryUsage()
  return (heapUsed + external + arrayBuffers) / 1_048_576
})

/** A figure as soon as it is at most the bound, or what it is after ten seconds. */
const within = (bound: number, figure: Effect.Effect<number>): Effect.Effect<number> =>
  Effect.gen(function* () {
    let last = yield* figure
    for (let tries = 0; last > bound && tries < 40; tries++) {
      yield* Effect.sleep(250)
      last = yield* figure
    }
    return last
  })

// One connection for each of ten at a time, so that one which is not given back is missed at once.
const few: ReadonlyArray<readonly [name: string, layer: Layer.Layer<HttpClient.HttpClient>, most: number]> = [
  ["node", NodeHttpClient.layerNodeHttpOptions({ keepAlive: true, maxSockets: 10 }), 10],
  ["undici with one connection", NodeHttpClient.layerUndiciOptions({ connections: 1 }), 1],
  // It has no limit of its own; what is not given back shows in what is open.
  ["fetch", NodeHttpClient.layerFetch, 40]
]

const retrying = Effect.map(
  HttpClient.HttpClient,
  HttpRetry.client(Policy.delays(["1 millis", "1 millis"]), { budget: "none" })
)

describe.each(few)("%s", (_, layer, most) => {
  const provided = (self: Effect.Effect<void, unknown, HttpClient.HttpClient | Scope.Scope>): Effect.Effect<void> =>
    Effect.scoped(self).pipe(Effect.provide(layer), Effect.orDie)

  it.live("10,000 requests that are retried", () =>
    provided(Effect.gen(function* () {
      // Of three answers two are failures, with bodies of all kinds.
      const failures = [
        server.respond(503, "busy"),
        server.chunked(503, "bu", "sy"),
        server.respond(429, "x".repeat(20_000)),
        server.respond(500)
      ]
      const made = yield* server.serve((socket, request) =>
        (request.headers["retry-attempt"] === "3"
          ? server.respond(200, "ok")
          : failures[request.number % failures.length]!)(socket, request)
      )
      const client = yield* retrying
      const one = Effect.flatMap(client.get(made.origin), (_) => _.text)
      const many = (count: number) =>
        Effect.forEach(Array.from({ length: count }), () => one, { concurrency: 10, discard: true })
      yield* many(1000)
      const before = yield* heap
      yield* many(9000)
      const after = yield* heap
      expect(made.count).toBe(30_000)
      expect(made.mostOpen).toBeLessThanOrEqual(most)
      expect(made.connections).toBeLessThanOrEqual(most)
      expect(after - before).toBeLessThan(10)
    })))

  // More than any transport reads ahead: without being told, it would wait for somebody to read on.
  it.live("100 requests that are retried after a megabyte", () =>
    provided(Effect.gen(function* () {
      const long = server.respond(503, "x".repeat(1_000_000))
      const made = yield* server.serve((socket, request) =>
        (request.headers["retry-attempt"] === "2" ? server.respond(200, "ok") : long)(socket, request)
      )
      const client = yield* retrying
      const one = Effect.flatMap(client.get(made.origin), (_) => _.text)
      yield* Effect.forEach(Array.from({ length: 100 }), () => one, { concurrency: 10, discard: true })
      yield* Effect.sleep(100)
      expect(made.count).toBe(200)
      expect(made.open).toBeLessThanOrEqual(most)
    })))

  it.live("10,000 requests that are aborted", () =>
    provided(Effect.gen(function* () {
      const made = yield* server.serve((socket, request) => {
        if (request.path === "/ok") server.respond(200, "ok")(socket, request)
        if (request.path === "/503") server.respond(503, "busy")(socket, request)
      })
      const client = yield* Effect.map(
        HttpClient.HttpClient,
        HttpRetry.client(Policy.constant("1 minute").pipe(Policy.attempts(3)), { budget: "none" })
      )
      // In an attempt, or in a wait.
      const aborted = (path: string) => Effect.ignore(Effect.timeout(client.get(made.origin + path), "5 millis"))
      const many = (count: number) =>
        Effect.forEach(Array.from({ length: count }, (_, index) => index), (index) =>
          aborted(index % 2 === 0 ? "/stall" : "/503"), {
          concurrency: 20,
          discard: true
        })
      // Fetch keeps much of the first thousands for a while, with and without retries, and then no more.
      yield* many(4000)
      const before = yield* heap
      yield* many(6000)
      // On a busy machine it takes the transport a while to let go; what is leaked stays.
      expect(
        yield* within(
          Math.max(most, 20),
          Effect.sync(() =>
            made.open
          )
        )
      ).toBeLessThanOrEqual(Math.max(most, 20))
      expect(yield* within(15, Effect.map(heap, (after) => after - before))).toBeLessThanOrEqual(15)
      const last = yield* Effect.flatMap(client.get(`${made.origin}/ok`), (_) => _.text)
      expect(last).toBe("ok")
    })))

  it.live("100 MB are streamed in the memory that the transport takes", () =>
    provided(Effect.gen(function* () {
      const chunk = new Uint8Array(65_536).fill(7)
      const chunks = 1600
      const made = yield* server.serve(server.respond(200, "ok"))
      const plain = yield* HttpClient.HttpClient
      const ours = yield* retrying
      const peakOf = (
        send: (request: HttpClientRequest.HttpClientRequest) => Effect.Effect<{ readonly status: number }, unknown>
      ) =>
        Effect.gen(function* () {
          const base = yield* heap
          let peak = 0
          let taken = 0
          const taking = Effect.sync(() => {
            if (++taken % 100 === 0) {
              gc()
              const { arrayBuffers, external, heapUsed } = process.memoryUsage()
              peak = Math.max(peak, (heapUsed + external + arrayBuffers) / 1_048_576 - base)
            }
            return chunk.slice()
          })
          const stream = Stream.range(1, chunks).pipe(Stream.mapEffect(() => taking), Stream.rechunk(1))
          const { status } = yield* send(HttpClientRequest.put(made.origin).pipe(HttpClientRequest.bodyStream(stream)))
          expect([status, made.requests.at(-1)?.bytes]).toEqual([200, chunks * chunk.length])
          return peak
        })
      const patient = HttpRetry.withOptions({ attemptTimeout: "none" })
      // The first one pays for what is made once.
      yield* peakOf(plain.execute)
      const without = yield* peakOf(plain.execute)
      const withRetries = yield* peakOf((request) => patient(ours.execute(request)))
      const withBuffer = yield* peakOf((request) => patient(ours.execute(HttpRetry.bufferUpTo(request, 1_048_576))))
      expect(withRetries).toBeLessThan(without + 20)
      expect(withBuffer).toBeLessThan(without + 20)
    })))
})
