import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Policy } from "@reprise/core"
import { HttpRetry } from "@reprise/http"
import axios from "axios"
import axiosRetry from "axios-retry"
import { Context, Effect, Exit, Layer, Scope } from "effect"
import { FetchHttpClient, HttpClient, HttpClientResponse } from "effect/http"
import got from "got"
import ky from "ky"
import { fork } from "node:child_process"
import { once } from "node:events"
import { Agent, createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { performance } from "node:perf_hooks"
import { setTimeout } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import * as undici from "undici"
import type { Many, Measurement } from "./Measurement.ts"
import { atMost, compare, type Row, type Target } from "./Row.ts"
import { type Side, takeTurns } from "./rounds.ts"
import { quantile } from "./statistics.ts"

// ---------------------------------------------------------------------------------------------------------------------
// The server: this file again, as a process of its own
// ---------------------------------------------------------------------------------------------------------------------

const seed = 1
const failing = 0.2
const attempts = 3

/** From 0 to 1, and the same for the same attempt of the same request, whoever sends it and when. */
const chance = (request: number, attempt: number): number => {
  let bits = Math.imul(seed ^ Math.imul(request + 1, 0x9e3779b1), 0x85ebca6b) ^ Math.imul(attempt, 0xc2b2ae35)
  bits = Math.imul(bits ^ (bits >>> 15), 0x2c1b3c6d)
  bits = Math.imul(bits ^ (bits >>> 12), 0x297a2d39)
  return ((bits ^ (bits >>> 15)) >>> 0) / 2 ** 32
}

/** Answers `/well/…` always, and `/<who>/<number>` with a 503 in a fifth of all cases. The last attempt is let through. */
const serve = (): void => {
  const sent = new Map<string, number>()
  const tries = new Map<string, number>()
  const server = createServer({ keepAliveTimeout: 600_000 }, (incoming, outgoing) => {
    const url = incoming.url!
    const [, who, number] = url.split("/")
    const attempt = (tries.get(url) ?? 0) + 1
    const fails = who !== "well" && attempt < attempts && chance(Number(number), attempt) < failing
    if (fails) tries.set(url, attempt)
    else tries.delete(url)
    sent.set(who!, (sent.get(who!) ?? 0) + 1)
    const body = fails ? "{\"error\":\"overloaded\"}" : "{\"stock\":17}"
    outgoing.writeHead(fails ? 503 : 200, { "content-type": "application/json", "content-length": body.length })
    outgoing.end(body)
  })
  server.listen(0, "127.0.0.1", () => process.send!((server.address() as AddressInfo).port)) // It listens on a port.
  process.on("message", () => process.send!(Object.fromEntries(sent)))
  process.on("disconnect", () => process.exit())
}

interface Server {
  readonly url: string
  /** Requests until now, by who sent them. */
  readonly sent: () => Promise<Readonly<Record<string, number>>>
  readonly stop: () => void
}

const startServer = async (): Promise<Server> => {
  const server = fork(fileURLToPath(import.meta.url), { execArgv: [] })
  const [port] = await once(server, "message")
  return {
    url: `http://127.0.0.1:${port}`,
    sent: async () => {
      const answer = once(server, "message")
      server.send("sent")
      return (await answer)[0]
    },
    stop: () => server.disconnect()
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// The sides
// ---------------------------------------------------------------------------------------------------------------------

/** Sends a request, and reads what it is answered. */
type Get<A> = (url: string) => A

const concurrency = 16

// What all are given to do: three attempts, 1 ms and 2 ms apart, ten seconds for each.
const policy = Policy.exponential("1 millis").pipe(Policy.attempts(attempts))
const timeout = 10_000
// A fifth is more than any budget lets through, and none of the others has one.
const options = { budget: "none", attemptTimeout: timeout } as const

const asText = <E>(client: HttpClient.HttpClient.With<E>): Get<Effect.Effect<string, unknown>> => (url) =>
  Effect.flatMap(client.get(url), (response) => response.text)

const fetched = (run: typeof fetch): Get<Promise<string>> => async (url) => (await run(url)).text()

/** As their documentation shows it. All keep their connections; what is made once is. */
const peers = (): Readonly<Record<string, Get<Promise<string>>>> => {
  const httpAgent = new Agent({ keepAlive: true })
  const gotten = got.extend({
    agent: { http: httpAgent },
    retry: { limit: attempts - 1, calculateDelay: ({ attemptCount }) => attemptCount },
    timeout: { response: timeout }
  })
  const kyed = ky.create({ retry: { limit: attempts - 1, delay: (attempt) => attempt }, timeout })
  const axioned = axios.create({ httpAgent, timeout, responseType: "text" })
  axiosRetry(axioned, { retries: attempts - 1, retryDelay: (attempt) => attempt, shouldResetTimeout: true })
  const dispatcher = new undici.RetryAgent(new undici.Agent({ headersTimeout: timeout }), {
    maxRetries: attempts - 1,
    minTimeout: 1,
    timeoutFactor: 2
  })
  const byHand: Get<Promise<string>> = async (url) => {
    for (let attempt = 1;; attempt++) {
      const response = await fetch(url, { signal: AbortSignal.timeout(timeout) })
      const text = await response.text()
      if (response.ok || attempt === attempts) return text
      await setTimeout(attempt)
    }
  }
  return {
    "got": (url) => gotten(url).text(),
    "ky": (url) => kyed(url).text(),
    "axios-retry": async (url) => (await axioned.get<string>(url)).data,
    "undici RetryAgent": async (url) => (await undici.request(url, { dispatcher })).body.text(),
    "a loop around fetch": byHand
  }
}

/** One request after the other, in one fibre. */
const inFibre = (get: Get<Effect.Effect<string, unknown>>, url: string): Side => async (iterations) => {
  let done = 0
  await Effect.runPromise(Effect.whileLoop({
    while: () => done < iterations,
    body: () => get(url),
    step: () => void done++
  }))
  return done
}

const oneByOne = (get: Get<Promise<string>>, url: string): Side => async (iterations) => {
  let done = 0
  for (; done < iterations; done++) await get(url)
  return done
}

/** A side that sends so many at a time, and notes how long the slowest hundredth took, round by round. */
interface Clocked {
  readonly side: Side
  readonly slowest: Array<number>
}

const clocked = (work: (next: () => number | undefined, took: (millis: number) => void) => Promise<void>): Clocked => {
  const slowest: Array<number> = []
  const side: Side = async (iterations) => {
    const times: Array<number> = []
    let given = 0
    await work(() => given < iterations ? given++ : undefined, (millis) => times.push(millis))
    slowest.push(quantile(times, 0.99))
    return times.length
  }
  return { side, slowest }
}

const promises = (get: Get<Promise<string>>, url: string): Clocked =>
  clocked(async (next, took) => {
    const worker = async () => {
      for (let number = next(); number !== undefined; number = next()) {
        const start = performance.now()
        await get(`${url}/${number}`)
        took(performance.now() - start)
      }
    }
    await Promise.all(Array.from({ length: concurrency }, worker))
  })

const fibres = (get: Get<Effect.Effect<string, unknown>>, url: string): Clocked =>
  clocked(async (next, took) => {
    const worker = Effect.suspend(() => {
      let number = next()
      let start = 0
      return Effect.whileLoop({
        while: () => number !== undefined,
        body: () => {
          start = performance.now()
          return get(`${url}/${number}`)
        },
        step: () => {
          took(performance.now() - start)
          number = next()
        }
      })
    })
    await Effect.runPromise(Effect.replicateEffect(worker, concurrency, { concurrency, discard: true }))
  })

// ---------------------------------------------------------------------------------------------------------------------
// The measurement
// ---------------------------------------------------------------------------------------------------------------------

const connect = (scope: Scope.Scope, layer: Layer.Layer<HttpClient.HttpClient>): Promise<HttpClient.HttpClient> =>
  Effect.runPromise(Layer.buildWithScope(Layer.fresh(layer), scope)).then(Context.get(HttpClient.HttpClient))

const fivePercent = atMost(1.05)

interface Clients {
  readonly undici: HttpClient.HttpClient
  readonly node: HttpClient.HttpClient
  readonly fetch: HttpClient.HttpClient
}

/** An answer that nobody has to wait for: what is left is the client's own. */
const memory = HttpClient.make((request) =>
  Effect.map(
    Effect.promise(() => Promise.resolve("{\"stock\":17}")),
    (body) => HttpClientResponse.fromWeb(request, new Response(body))
  )
)

const memoryFetch: typeof fetch = () => Promise.resolve(new Response("{\"stock\":17}"))

/** Nothing fails, one at a time: what a client costs that has nothing to do. */
const success = async (clients: Clients, server: Server, many: Many): Promise<ReadonlyArray<Row>> => {
  const url = `${server.url}/well`
  // Two at a time: what a third leaves behind, timers and open responses, would be paid for by the first.
  const pair = async (what: string, ours: Side, plain: Side, target?: Target): Promise<Row> => {
    const all = await takeTurns({ ours, plain }, { rounds: many(31, 7), iterations: many(500, 150) })
    return compare(`success: ${what}`, "ns", all.ours, all.plain, target)
  }
  const client = (what: string, plain: HttpClient.HttpClient, target?: Target) =>
    pair(what, inFibre(asText(HttpRetry.client(plain)), url), inFibre(asText(plain), url), target)
  // Over the client that costs least itself: what there is to be saved, and how far two equal sides lie apart.
  const part = (what: string, get: Get<Effect.Effect<string, unknown>>) =>
    pair(`${what} ÷ the plain client, undici`, inFibre(get, url), inFibre(asText(clients.undici), url))
  const memoryRetry = HttpRetry.fetch(undefined, { fetch: memoryFetch })
  return [
    await client("HttpRetry.client ÷ the plain client, undici", clients.undici, fivePercent),
    await client("HttpRetry.client ÷ the plain client, node:http", clients.node, fivePercent),
    await client("HttpRetry.client ÷ the plain client, fetch", clients.fetch, fivePercent),
    await pair(
      "HttpRetry.fetch ÷ fetch",
      oneByOne(fetched(HttpRetry.fetch()), url),
      oneByOne(fetched(fetch), url),
      fivePercent
    ),
    await part(
      "HttpRetry.client without attempt timeout",
      asText(HttpRetry.client(clients.undici, undefined, { attemptTimeout: "none" }))
    ),
    await part("Effect.timeout", (url) => Effect.timeout(asText(clients.undici)(url), timeout)),
    await part("retryTransient", asText(HttpClient.retryTransient(clients.undici, { times: attempts - 1 }))),
    await part("the plain client", asText(clients.undici)),
    await client("HttpRetry.client ÷ the plain client, an answer from memory", memory),
    await pair(
      "HttpRetry.fetch ÷ fetch, an answer from memory",
      oneByOne(fetched(memoryRetry), url),
      oneByOne(fetched(memoryFetch), url)
    )
  ]
}

/** A fifth of all answers is a 503, many at a time. */
const flaky = async (clients: Clients, server: Server, many: Many): Promise<ReadonlyArray<Row>> => {
  const rounds = many(15, 7)
  const iterations = many(1_000, 150)
  const urlOf = (who: string) => `${server.url}/${encodeURIComponent(who)}`
  const effects = (who: string, client: HttpClient.HttpClient) =>
    fibres(asText(HttpRetry.client(client, policy, options)), urlOf(who))
  const ours: Readonly<Record<string, Clocked>> = {
    "HttpRetry.client, undici": effects("HttpRetry.client, undici", clients.undici),
    "HttpRetry.client, node:http": effects("HttpRetry.client, node:http", clients.node),
    "HttpRetry.fetch": promises(fetched(HttpRetry.fetch(policy, options)), urlOf("HttpRetry.fetch"))
  }
  const others = Object.fromEntries(Object.entries(peers()).map(([who, get]) => [who, promises(get, urlOf(who))]))
  const all = { ...ours, ...others }
  const times = await takeTurns(
    Object.fromEntries(Object.entries(all).map(([who, { side }]) => [who, side])),
    { rounds, iterations }
  )
  const sent = await server.sent()
  // Every side was run as often, rounds that do not count included.
  const sends = (who: string) => (sent[encodeURIComponent(who)]! / (all[who]!.slowest.length * iterations)).toFixed(2)
  const slowest = (who: string) => all[who]!.slowest.slice(-rounds)
  const [undici, node, fetch] = Object.keys(ours) as [string, string, string] // The three above.
  const pairs = [
    ...Object.keys(others).map((other) => [fetch, other] as const),
    ...Object.keys(others).map((other) => [undici, other] as const),
    // The two that are over node:http, too.
    [node, "got"] as const,
    [node, "axios-retry"] as const
  ]
  return [
    ...pairs.map(([our, other]) =>
      compare(`flaky: ${our} ÷ ${other}; sends ${sends(our)} ÷ ${sends(other)}`, "ns", times[our]!, times[other]!)
    ),
    ...pairs.map(([our, other]) =>
      compare(`flaky, 99th percentile: ${our} ÷ ${other}`, "ms", slowest(our), slowest(other))
    )
  ]
}

export const http: Measurement = {
  title: "HTTP on the loopback, a server in a process of its own",
  async measure({ many }) {
    const server = await startServer()
    const scope = Scope.makeUnsafe()
    try {
      const clients = {
        undici: await connect(scope, NodeHttpClient.layerUndici),
        // As the others have it: by default Effect's opens a connection for each request.
        node: await connect(scope, NodeHttpClient.layerNodeHttpOptions({ keepAlive: true })),
        fetch: await connect(scope, FetchHttpClient.layer)
      }
      return [...await success(clients, server, many), ...await flaky(clients, server, many)]
    } finally {
      await Effect.runPromise(Scope.close(scope, Exit.void))
      server.stop()
    }
  }
}

if (import.meta.main) serve()
