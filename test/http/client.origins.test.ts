// What the requests of one client share: a budget for each origin, and the hint that is in force there.
import { describe, expect, it } from "@effect/vitest"
import { Deadline, Policy, RetryBudget, RetryControl, RetryExhausted } from "@reprise/core"
import { HttpRetry } from "@reprise/http"
import * as Clock from "effect/Clock"
import * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as Option from "effect/Option"
import * as TestClock from "effect/testing/TestClock"
import { awaited, type Reply, retrying, script } from "./clientScript.ts"

const reasonOf = (exit: Exit.Exit<unknown, unknown>): string | undefined => {
  const error = Option.getOrUndefined(Exit.findErrorOption(exit))
  return RetryExhausted.is(error) ? error.reason._tag : undefined
}

const instant = Policy.immediate(2)

describe("budgets", () => {
  it.effect("an origin that fails uses up its own and no other", () =>
    Effect.gen(function* () {
      const { sent, ...made } = script(503)
      const client = made.client.pipe(HttpRetry.client(instant))
      expect(reasonOf(yield* awaited(client.get("https://a.example/1"), 0))).toBe("Budget")
      expect(reasonOf(yield* awaited(client.get("https://a.example/2"), 0))).toBe("Budget")
      expect(sent.length).toBe(3)
      yield* awaited(client.get("https://b.example/1"), 0)
      expect(sent.length).toBe(5)
      // Another port is another origin.
      yield* awaited(client.get("https://a.example:8443/1"), 0)
      expect(sent.length).toBe(7)
    }))

  it.effect("one that is given is for all origins, and the context's where that is asked for", () =>
    Effect.gen(function* () {
      for (const given of [true, false]) {
        const budget = RetryBudget.make({ initial: 3 })
        const { client, sent } = retrying([503], instant, { budget: given ? budget : "context" })
        const all = Effect.forEach(["a", "b", "c"], (host) => awaited(client.get(`https://${host}.example/`)))
        yield* given ? all : Effect.provide(all, RetryBudget.layer(budget))
        expect(sent.length).toBe(6)
      }
    }))

  it.effect("the context's does not replace those of the origins: one that is dead takes no retries from another", () =>
    Effect.gen(function* () {
      const dead = ({ url }: { readonly url: string }) =>
        Effect.sync(() => new Response(null, { status: url.includes("dead") || flaky-- > 0 ? 503 : 200 }))
      let flaky = 0
      for (const budget of [undefined, "context"] as const) {
        flaky = 1
        const { client } = retrying([dead], instant, { budget })
        const ok = yield* Effect.gen(function* () {
          for (let i = 0; i < 15; i++) yield* awaited(client.get("https://dead.example/"), 1)
          return Exit.isSuccess(yield* awaited(client.get("https://alive.example/"), 1))
        }).pipe(Effect.provide(RetryBudget.layer()))
        expect([budget, ok]).toEqual([budget, budget === undefined])
      }
    }))

  it.effect("of the context, where there is none, are those of the origins", () =>
    Effect.gen(function* () {
      const { client, sent } = retrying([503], instant, { budget: "context" })
      for (const host of ["a", "b"]) yield* awaited(client.get(`https://${host}.example/`), 0)
      expect(sent.length).toBe(4)
    }))

  it.effect("none is none", () =>
    Effect.gen(function* () {
      const { client, sent } = retrying([503], instant, { budget: "none" })
      for (let i = 0; i < 20; i++) yield* awaited(client.get("https://a.example/"), 0)
      expect(sent.length).toBe(60)
    }))

  it.effect("origins past the bound share one", () =>
    Effect.gen(function* () {
      const { client, sent } = retrying([503], instant, { budget: undefined, maxOrigins: 2 })
      const counts: Array<number> = []
      for (const host of ["a", "b", "c", "d", "e"]) {
        const before = sent.length
        yield* awaited(client.get(`https://${host}.example/`), 0)
        counts.push(sent.length - before)
      }
      expect(counts).toEqual([2, 2, 2, 1, 1])
      // Origins that were not used for a minute make room.
      yield* TestClock.adjust("61 seconds")
      yield* awaited(client.get("https://f.example/"), 0)
      expect(sent.length).toBe(10)
    }))
})

describe("a hint in force", () => {
  it.effect("holds the retries of other runs to that origin, and of no other", () =>
    Effect.gen(function* () {
      const byHost = (status: number, headers: Record<string, string> = {}) => () =>
        Effect.succeed(new Response(null, { status, headers }))
      const { client, sent, times } = retrying([
        byHost(429, { "retry-after": "10" }),
        byHost(503),
        byHost(503),
        byHost(200)
      ], instant)
      const urls = ["https://a.example/1", "https://a.example/2", "https://b.example/1"]
      yield* awaited(Effect.forEach(urls, (url) => client.get(url), { concurrency: "unbounded" }))
      const retries = sent.map(({ url }, index) => [url, times[index]!] as const).slice(3)
      const at = (url: string) => retries.find((retry) => retry[0] === url)?.[1]
      expect(at("https://b.example/1")).toBe(0)
      expect(at("https://a.example/1")).toBeGreaterThanOrEqual(10_000)
      expect(at("https://a.example/2")).toBeGreaterThanOrEqual(10_000)
      expect(at("https://a.example/2")).toBeLessThanOrEqual(11_100)
    }))

  it.effect("is that of the origin that gave it, where a redirect led there", () =>
    Effect.gen(function* () {
      const seen = new Set<string>()
      const { client, sent, times } = retrying(
        [({ url }) =>
          Effect.sync(() => {
            if (url === "https://a.example/1") {
              return new Response(null, { status: 307, headers: { location: "https://b.example/" } })
            }
            const status = seen.has(url) ? 200 : 503
            seen.add(url)
            return new Response(null, { status, headers: url === "https://b.example/" ? { "retry-after": "10" } : {} })
          })],
        instant,
        { redirects: 1 }
      )
      const urls = ["https://a.example/1", "https://a.example/2", "https://b.example/3"]
      yield* awaited(Effect.forEach(urls, (url) => client.get(url), { concurrency: "unbounded" }), 10)
      const last = (url: string) => times.filter((_, index) => sent[index]!.url === url).at(-1)
      expect(last("https://a.example/2")).toBeLessThan(1000)
      expect(last("https://b.example/3")).toBeGreaterThanOrEqual(10_000)
    }))

  it.effect("does not hold first attempts, nor longer than this client would wait", () =>
    Effect.gen(function* () {
      const { client, times } = retrying([[429, { "retry-after": "1000000" }], 200, 503, 200], instant)
      yield* awaited(client.get("https://a.example/1"))
      yield* awaited(client.get("https://a.example/2"))
      yield* awaited(client.get("https://a.example/3"))
      expect(times[1]).toBeLessThan(1000)
      expect(times[3]).toBeGreaterThanOrEqual(60_000)
      expect(times[3]).toBeLessThanOrEqual(66_000)
    }))
})

/** A run that hears a hint, and is gone after so long. */
const hears = (client: ReturnType<typeof retrying>["client"], url: string, after: Duration.Input) =>
  Effect.gen(function* () {
    const first = yield* Effect.forkChild(client.get(url), { startImmediately: true })
    yield* awaited(Effect.sleep(after), 1000)
    yield* Fiber.interrupt(first)
  })

describe("a hint in force, longer than a run would wait", () => {
  it.effect("ends the runs that come later too, and they say when to come back", () =>
    Effect.gen(function* () {
      const { client, sent } = retrying([[503, { "retry-after": "1000000" }], 503])
      expect(reasonOf(yield* awaited(client.get("https://a.example/1")))).toBe("RetryAfterTooLong")
      const exit = yield* awaited(client.get("https://a.example/2"))
      const error = Option.getOrUndefined(Exit.findErrorOption(exit))
      if (!RetryExhausted.is(error)) throw new Error(`not exhausted: ${String(error)}`)
      expect([error.reason._tag, error.attempts, sent.length]).toEqual(["RetryAfterTooLong", 1, 2])
      expect(error.retryAt === undefined ? 0 : DateTime.toEpochMillis(error.retryAt)).toBeGreaterThan(59_000)
    }))

  it.effect("is kept until it ends, whoever needs the room", () =>
    Effect.gen(function* () {
      const patient = Policy.immediate(1).pipe(Policy.honoringRetryAfter({ max: "10 minutes" }))
      const { client, times } = retrying([[503, { "retry-after": "300" }], 200, 503, 200], patient, { maxOrigins: 1 })
      yield* hears(client, "https://a.example/1", "100 millis")
      yield* TestClock.adjust("61 seconds")
      yield* awaited(client.get("https://b.example/"))
      yield* awaited(client.get("https://a.example/2"), 1000)
      expect(times.length).toBe(4)
      expect(times[3]).toBeGreaterThanOrEqual(300_000)
    }))

  it.effect("of an origin that finds no room holds nobody: what was used within a minute keeps its own", () =>
    Effect.gen(function* () {
      const { client, times } = retrying([200, [503, { "retry-after": "30" }], 503, 200], instant, { maxOrigins: 1 })
      yield* awaited(client.get("https://a.example/"), 0)
      yield* TestClock.adjust("58 seconds")
      yield* hears(client, "https://b.example/1", "100 millis")
      yield* awaited(client.get("https://b.example/2"), 100)
      expect(times.length).toBe(4)
      expect(times[3]! - times[2]!).toBeLessThan(1000)
    }))

  it.effect("makes room when it has ended, and nobody has used it for a minute", () =>
    Effect.gen(function* () {
      const { client, sent } = retrying([[503, { "retry-after": "50" }], 503], instant, {
        maxOrigins: 1,
        budget: undefined
      })
      yield* hears(client, "https://a.example/", "100 millis")
      const sends: Array<number> = []
      // The last finds the room taken, and is the first to share what is for all others.
      for (const [host, after] of [["b", 70], ["c", 60], ["d", 0]] as const) {
        yield* TestClock.adjust(Duration.seconds(after))
        const before = sent.length
        yield* awaited(client.get(`https://${host}.example/`), 0)
        sends.push(sent.length - before)
      }
      expect(sends).toEqual([2, 2, 2])
    }))

  it.effect("counts from when it was heard, and not from when its run began", () =>
    Effect.gen(function* () {
      const late: Reply = () =>
        Effect.delay(
          Effect.succeed(new Response(null, { status: 503, headers: { "retry-after": "30" } })),
          "100 seconds"
        )
      const { client, times } = retrying([late, 200, 503, 200], Policy.immediate(1), {
        maxOrigins: 1,
        attemptTimeout: "none"
      })
      yield* hears(client, "https://a.example/1", "101 seconds")
      yield* awaited(client.get("https://b.example/"))
      yield* awaited(client.get("https://a.example/2"), 1000)
      expect(times.length).toBe(4)
      expect(times[3]).toBeGreaterThanOrEqual(130_000)
    }))

  it.effect("is not that of origins that share a place", () =>
    Effect.gen(function* () {
      const asks = ({ url }: { readonly url: string }) => {
        const asked = url.includes("asks")
        return Effect.succeed(new Response(null, { status: 503, headers: asked ? { "retry-after": "20" } : {} }))
      }
      const { client, sent, times } = retrying([asks], instant, { maxOrigins: 1 })
      yield* awaited(client.get("https://first.example/"), 0)
      const waiting = yield* Effect.forkChild(client.get("https://asks.example/"), { startImmediately: true })
      yield* awaited(client.get("https://other.example/"), 0)
      expect(times.filter((_, index) => sent[index]!.url === "https://other.example/")).toEqual([0, 0, 0])
      yield* Fiber.interrupt(waiting)
    }))
})

describe("what the server is told", () => {
  it.effect("the number of the attempt, from the second on", () =>
    Effect.gen(function* () {
      const { client, sent } = retrying([503, 503, 200])
      yield* awaited(client.get("https://a.example/"))
      expect(sent.map(({ headers }) => headers["retry-attempt"])).toEqual([undefined, "2", "3"])
      expect(sent.map(({ headers }) => headers["grpc-timeout"])).toEqual([undefined, undefined, undefined])
    }))

  it.effect("what is left of the deadline", () =>
    Effect.gen(function* () {
      const { client, sent } = retrying([[503, { "retry-after": "1" }], 200])
      yield* awaited(client.get("https://a.example/")).pipe(Deadline.within("8 seconds"))
      const left = sent.map(({ headers }) => Number.parseInt(headers["grpc-timeout"]!))
      expect(sent[0]!.headers["grpc-timeout"]).toBe("8000000u")
      expect(left[1]).toBeLessThanOrEqual(7_000_000)
      expect(left[1]).toBeGreaterThan(6_000_000)
    }))

  it.effect("nothing where that is switched off, and nothing in place of the caller's own", () =>
    Effect.gen(function* () {
      const quiet = retrying([503, 200], undefined, { headers: false })
      yield* awaited(quiet.client.get("https://a.example/")).pipe(Deadline.within("8 seconds"))
      expect(quiet.sent.map(({ headers }) => [headers["retry-attempt"], headers["grpc-timeout"]])).toEqual([
        [undefined, undefined],
        [undefined, undefined]
      ])
      const own = retrying([503, 200])
      const headers = { "retry-attempt": "x", "grpc-timeout": "1S" }
      yield* awaited(own.client.get("https://a.example/", { headers })).pipe(Deadline.within("8 seconds"))
      expect(own.sent[1]!.headers).toMatchObject(headers)
    }))
})

describe("from a page", () => {
  it.effect("another origin is told nothing, as it would have to allow it", () =>
    Effect.gen(function* () {
      const { client, sent } = retrying([503, 200])
      const get = (url: string) => awaited(client.get(url)).pipe(Deadline.within("8 seconds"))
      Object.assign(globalThis, { location: { origin: "https://a.example" } })
      yield* Effect.andThen(get("https://a.example/"), get("https://b.example/")).pipe(
        Effect.ensuring(Effect.sync(() => Reflect.deleteProperty(globalThis, "location")))
      )
      expect(sent.map(({ headers }) => [headers["retry-attempt"], "grpc-timeout" in headers])).toEqual([
        [undefined, true],
        ["2", true],
        [undefined, false]
      ])
    }))
})

describe("names", () => {
  it.effect("of runs say the method and no URL; the origin is for the switch", () =>
    Effect.gen(function* () {
      const events: Array<string | undefined> = []
      const { client } = retrying([503, 200], undefined, {
        onEvent: (event) => Effect.sync(() => events.push(event.operation))
      })
      yield* awaited(client.get("https://a.example/secret?token=1"))
      expect(new Set(events)).toEqual(new Set(["HTTP GET"]))
      const off = RetryControl.layer(RetryControl.make({ origins: { "https://a.example": { retries: "off" } } }))
      expect(reasonOf(yield* Effect.provide(awaited(retrying([503]).client.get("https://a.example/")), off))).toBe(
        "SwitchedOff"
      )
    }))

  it.effect("onRetry is told before the wait, when the response is out of the way", () =>
    Effect.gen(function* () {
      const seen: Array<unknown> = []
      const { client } = retrying([[503, {}, "why"], 200], undefined, {
        name: "stock",
        onRetry: ({ attempt, error, name }) =>
          Effect.sync(() => seen.push([name, attempt, error instanceof HttpRetry.ResponseError && error.excerpt]))
      })
      yield* awaited(client.get("https://a.example/"))
      expect(seen).toEqual([["stock", 1, "why"]])
    }))
})

describe("an answer whose end does not come", () => {
  const stalled: Reply = () =>
    Effect.sync(() =>
      new Response(
        new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode("busy")) }),
        {
          status: 503
        }
      )
    )

  it.effect("is waited for 50 ms, and its error shows what had come", () =>
    Effect.gen(function* () {
      const seen: Array<unknown> = []
      const { client, times } = retrying([stalled, 200], Policy.immediate(1), {
        onRetry: ({ error }) => Effect.sync(() => seen.push(error instanceof HttpRetry.ResponseError && error.excerpt))
      })
      yield* awaited(client.get("https://a.example/"), 10)
      expect(seen).toEqual(["busy"])
      expect(times[1]).toBeLessThanOrEqual(60)
    }))

  it.effect("is not waited for beyond the deadline", () =>
    Effect.gen(function* () {
      const { client, times } = retrying([stalled], Policy.delays(["1 millis", "1 millis"]))
      const exit = yield* awaited(client.get("https://a.example/").pipe(Deadline.within("70 millis")), 1)
      expect([reasonOf(exit), times, yield* Clock.currentTimeMillis]).toEqual(["Deadline", [0, 51], 70])
    }))
})

describe("withOptions", () => {
  it.effect("is for the requests inside, merged with what is around", () =>
    Effect.gen(function* () {
      const { client, sent } = retrying([503])
      const get = client.get("https://a.example/")
      const twice = HttpRetry.withOptions(get, { policy: Policy.immediate(1), name: "inner" })
      const exit = yield* awaited(
        HttpRetry.withOptions(twice, { name: "outer", policy: Policy.immediate(9), headers: false })
      )
      expect(sent.map(({ headers }) => headers["retry-attempt"])).toEqual([undefined, undefined])
      expect(String(Option.getOrUndefined(Exit.findErrorOption(exit)))).toContain("inner gave up after 2 attempts")
    }))

  it.effect("what is not given stays", () =>
    Effect.gen(function* () {
      const { client, times } = retrying([() => Effect.never], Policy.immediate(1), { attemptTimeout: "2 seconds" })
      yield* awaited(client.get("https://a.example/").pipe(HttpRetry.withOptions({ attemptTimeout: undefined })))
      expect(times).toEqual([0, 2000])
      yield* awaited(client.get("https://a.example/").pipe(HttpRetry.withOptions({ attemptTimeout: "3 seconds" })))
      expect(times[3]! - times[2]!).toBe(3000)
    }))

  it("refuses a bad option where it is given, with a request or without", () => {
    for (
      const [name, bad] of Object.entries({
        excerptBytes: -1,
        attemptTimeout: 0,
        redirects: 1.5,
        budget: {},
        profile: "githb",
        transience: {},
        keyed: { style: "x" },
        responseHeaders: [1],
        name: 1,
        onRetry: null,
        headers: "no",
        policy: Policy.constant("1 second")
      })
    ) {
      const options = { [name]: bad } as HttpRetry.RequestOptions // What is tested is that it is not.
      expect(() => HttpRetry.withOptions(options)).toThrow(`withOptions.${name}`)
      expect(() => HttpRetry.withOptions(Effect.void, options)).toThrow(`withOptions.${name}`)
    }
  })

  it.effect("reads its options once, and not for each request", () =>
    Effect.gen(function* () {
      let reads = 0
      const options = Object.defineProperty({ name: "x" }, "headers", {
        enumerable: true,
        get: () => {
          reads++
          return true
        }
      })
      const { client } = retrying([200])
      const get = client.get("https://a.example/").pipe(
        HttpRetry.withOptions(options),
        HttpRetry.withOptions({ name: "y" })
      )
      const before = reads
      for (let n = 0; n < 5; n++) yield* get
      expect(reads).toBe(before)
    }))

  it.effect("goes around clients that are not ours without effect", () =>
    Effect.gen(function* () {
      const { client } = script(503)
      expect((yield* client.get("https://a.example/").pipe(HttpRetry.withOptions({ name: "x" }))).status).toBe(503)
    }))
})

describe("the client", () => {
  it.effect("is data-first too", () =>
    Effect.gen(function* () {
      const { sent, ...made } = script(503, 200)
      expect(Exit.isSuccess(yield* awaited(HttpRetry.client(made.client).get("https://a.example/")))).toBe(true)
      const none = HttpRetry.client(made.client, Policy.none, { name: "x" })
      yield* awaited(none.get("https://a.example/"))
      expect(sent.length).toBe(3)
    }))

  it.effect("what comes before it is done once, or in each attempt", () =>
    Effect.gen(function* () {
      let prepared = 0
      let sends = 0
      const { client } = script(503, 503, 200)
      const retried = client.pipe(
        HttpClient.mapRequestEffect((request) => Effect.sync(() => (prepared++, request))),
        HttpClient.transform((send) => Effect.suspend(() => (sends++, send))),
        HttpRetry.client(undefined, { budget: "none" })
      )
      yield* awaited(retried.execute(HttpClientRequest.get("https://a.example/")))
      expect([prepared, sends]).toEqual([1, 3])
    }))
})
