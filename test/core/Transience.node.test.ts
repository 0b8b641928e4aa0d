import { describe, expect, it } from "@effect/vitest"
import * as Transience from "@reprise/core/Transience"
import { once } from "node:events"
import * as http from "node:http"
import * as net from "node:net"
import { setTimeout as sleep } from "node:timers/promises"

const failure = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(() => expect.unreachable("should have failed"), (error: unknown) => error)

const emitted = (emitter: net.Socket | http.ClientRequest): Promise<unknown> =>
  new Promise((resolve) => emitter.once("error", resolve))

const listening = async <A>(server: net.Server, use: (port: number) => Promise<A>): Promise<A> => {
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  try {
    return await use(typeof address === "object" && address !== null ? address.port : 0)
  } finally {
    server.close()
  }
}

// A port that was just free: nobody listens there.
const closedPort = (): Promise<number> => listening(net.createServer(), (port) => Promise.resolve(port))

const refused = { transience: "transient", applied: "no", reader: "node", code: "ECONNREFUSED" }
const cutOff = { transience: "transient", applied: "maybe", reader: "node" }

describe("errors of the running Node.js", () => {
  it("fetch of a closed port", async () => {
    expect(Transience.classify(await failure(fetch(`http://127.0.0.1:${await closedPort()}`)))).toMatchObject(refused)
  })

  it("http.get of a closed port", async () => {
    const port = await closedPort()
    expect(Transience.classify(await emitted(http.get({ host: "127.0.0.1", port })))).toMatchObject(refused)
  })

  it("net.connect to a closed port, by address and by name", async () => {
    const port = await closedPort()
    expect(Transience.classify(await emitted(net.connect(port, "127.0.0.1")))).toMatchObject(refused)
    expect(Transience.classify(await emitted(net.connect(port, "localhost")))).toMatchObject(refused)
  })

  it("fetch of a name that does not exist", async () => {
    // Off the net, getaddrinfo says EAI_AGAIN.
    const verdict = Transience.classify(await failure(fetch("http://reprise.invalid")))
    expect(verdict).toMatchObject({ transience: "transient", applied: "no", reader: "node" })
    expect(["ENOTFOUND", "EAI_AGAIN"]).toContain(verdict.code)
  })

  it("a peer that closes without an answer", async () => {
    const server = net.createServer((socket) => socket.once("data", () => socket.end()))
    await listening(server, async (port) => {
      expect(Transience.classify(await failure(fetch(`http://127.0.0.1:${port}`)))).toMatchObject(cutOff)
      expect(Transience.classify(await emitted(http.get({ host: "127.0.0.1", port })))).toMatchObject(cutOff)
    })
  })

  it("a peer that closes within the body", async () => {
    const server = net.createServer((socket) =>
      socket.once("data", () => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\nhalf"))
    )
    await listening(server, async (port) => {
      const response = await fetch(`http://127.0.0.1:${port}`)
      expect(Transience.classify(await failure(response.text()))).toMatchObject(cutOff)
    })
  })

  it("a peer that does not speak HTTP", async () => {
    const server = net.createServer((socket) => socket.once("data", () => socket.end("SSH-2.0-OpenSSH\r\n")))
    await listening(server, async (port) => {
      const error = await emitted(http.get({ host: "127.0.0.1", port }))
      expect(Transience.classify(error)).toMatchObject({ transience: "terminal", code: "HPE_INVALID_CONSTANT" })
    })
  })

  it("a port that is taken", async () => {
    const error = await listening(net.createServer(), (port) => {
      const second = net.createServer()
      return new Promise((resolve) => second.once("error", resolve).listen(port, "127.0.0.1"))
    })
    expect(Transience.classify(error)).toMatchObject({ transience: "terminal", code: "EADDRINUSE" })
  })

  it("a signal that timed out, in fetch and in Node's own functions", async () => {
    await listening(net.createServer(), async (port) => {
      const timeout = { transience: "transient", applied: "maybe", code: "TimeoutError" }
      const error = await failure(fetch(`http://127.0.0.1:${port}`, { signal: AbortSignal.timeout(1) }))
      expect(Transience.classify(error)).toMatchObject(timeout)
    })
    const error = await failure(sleep(60_000, undefined, { signal: AbortSignal.timeout(1) }))
    expect(Transience.classify(error)).toMatchObject({ transience: "transient", applied: "maybe" })
  })

  it("an answer to fetch that is no HTTP, and to Node's own client", async () => {
    const answering = net.createServer((socket) => {
      socket.on("error", () => {}).end("SSH-2.0-OpenSSH_9.6\r\n\r\n")
    })
    await listening(answering, async (port) => {
      const terminal = { transience: "terminal", applied: "maybe", reader: "node" }
      const error = await failure(fetch(`http://127.0.0.1:${port}`))
      expect(Transience.classify(error)).toMatchObject({ ...terminal, code: "HTTPParserError" })
      const own = new Promise((_, reject) => http.get({ port, host: "127.0.0.1" }).once("error", reject))
      expect(Transience.classify(await failure(own))).toMatchObject({ ...terminal, code: "HPE_INVALID_CONSTANT" })
    })
  })

  it("a signal that was aborted", async () => {
    const error = await failure(fetch("http://127.0.0.1:9", { signal: AbortSignal.abort() }))
    expect(Transience.classify(error)).toMatchObject({ transience: "terminal", code: "AbortError" })
  })
})
