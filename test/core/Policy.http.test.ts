import { describe, expect, it } from "@effect/vitest"
import { Policy, Transience } from "@reprise/core"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

/** Runs with a server that answers the nth request by number; zero cuts the connection. */
const withServer = async <A>(
  answers: ReadonlyArray<number>,
  use: (url: string, requests: Array<string>) => Promise<A>
): Promise<A> => {
  const requests: Array<string> = []
  const server = createServer((request, response) => {
    const status = answers[Math.min(requests.push(request.method ?? ""), answers.length) - 1]!
    // Read to its end, so that the client is not cut off while it writes.
    request.resume().on("end", (): void => {
      if (status === 0) return void response.destroy()
      response.writeHead(status, { connection: "close" }).end("answer")
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  try {
    return await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests)
  } finally {
    await new Promise((resolve) => server.close(resolve))
  }
}

const policy = Policy.immediate(3).pipe(Policy.whileInput(Transience.isTransient))

const run = (request: HttpClientRequest.HttpClientRequest, transform = (client: HttpClient.HttpClient) => client) =>
  Effect.gen(function* () {
    const client = transform(yield* HttpClient.HttpClient).pipe(HttpClient.retry(policy))
    const response = yield* client.execute(request)
    return [response.status, yield* response.text]
  }).pipe(Effect.provide(FetchHttpClient.layer), Effect.runPromiseExit)

describe("a policy in HttpClient.retry", () => {
  it("retries a connection that is cut", () =>
    withServer([0, 0, 200], async (url, requests) => {
      expect(await run(HttpClientRequest.get(url))).toEqual(Exit.succeed([200, "answer"]))
      expect(requests).toEqual(["GET", "GET", "GET"])
    }))

  it("gives up when the policy does, with the client's own error", () =>
    withServer([0], async (url, requests) => {
      const exit = await run(HttpClientRequest.get(url))
      expect(Exit.isFailure(exit) && exit.cause.reasons.map((_) => _._tag === "Fail" && _.error._tag)).toEqual([
        "HttpClientError"
      ])
      expect(requests).toHaveLength(4)
    }))

  it("a 503 is a success there, and stays", () =>
    withServer([503, 200], async (url, requests) => {
      expect(await run(HttpClientRequest.get(url))).toEqual(Exit.succeed([503, "answer"]))
      expect(requests).toHaveLength(1)
    }))

  it("with filterStatusOk a 503 is retried and a 404 is not", async () => {
    await withServer([503, 200], async (url, requests) => {
      expect(await run(HttpClientRequest.get(url), HttpClient.filterStatusOk)).toEqual(Exit.succeed([200, "answer"]))
      expect(requests).toHaveLength(2)
    })
    await withServer([404, 200], async (url, requests) => {
      expect(Exit.isFailure(await run(HttpClientRequest.get(url), HttpClient.filterStatusOk))).toBe(true)
      expect(requests).toHaveLength(1)
    })
  })

  it("a POST is sent again, body and all, which is why @reprise/http is there", () =>
    withServer([0, 200], async (url, requests) => {
      const request = HttpClientRequest.post(url).pipe(HttpClientRequest.bodyText("charge"))
      expect(await run(request)).toEqual(Exit.succeed([200, "answer"]))
      expect(requests).toEqual(["POST", "POST"])
    }))
})
