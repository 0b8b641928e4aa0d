// The middleware over real connections: servers that are processes, at one SQLite file.
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Policy } from "@reprise/core"
import { HttpRetry } from "@reprise/http"
import { HttpIdempotency } from "@reprise/idempotency"
import * as Effect from "effect/Effect"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { effects } from "./processes.ts"

const server = fileURLToPath(new URL("httpServer.ts", import.meta.url))

let folder: string
let log: string
let running: Array<ChildProcess>
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "reprise-http-"))
  log = join(folder, "log")
  writeFileSync(log, "")
  running = []
})
afterEach(async () => {
  for (const child of running) {
    if (child.exitCode !== null || child.signalCode !== null) continue
    child.kill("SIGKILL")
    await once(child, "exit")
  }
  rmSync(folder, { recursive: true })
})

/** Starts a server, and gives its address. */
const start = async (): Promise<{ readonly url: string; readonly child: ChildProcess }> => {
  const child = spawn(process.execPath, [server, join(folder, "db"), log], {
    stdio: ["ignore", "pipe", "inherit"]
  })
  running.push(child)
  const [said] = await once(child.stdout, "data")
  return { url: String(said).trim(), child }
}

const charge = (url: string, key: string, init: RequestInit = {}) =>
  fetch(`${url}/charges`, {
    method: "POST",
    body: "{}",
    ...init,
    headers: { "idempotency-key": `"${key}"`, ...(init.headers as Record<string, string>) }
  })

const isReplayed = ({ headers }: Response) => headers.has(HttpIdempotency.replayedHeader)

const megabytes = 1_048_576

describe("servers at one file", () => {
  it("run the handler once for 200 requests with one key, and give all the same answer", async () => {
    const servers = await Promise.all([start(), start()])
    const answers = await Promise.all(
      Array.from({ length: 200 }, async (_, i) => {
        const response = await charge(servers[i % 2]!.url, "order-1017")
        return { status: response.status, text: await response.text(), replayed: isReplayed(response) }
      })
    )
    expect(effects(log)).toHaveLength(1)
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
    expect(answers.filter(({ replayed }) => !replayed)).toHaveLength(1)
  })

  it("after one was killed in the handler, say that it is in doubt, and run nothing", async () => {
    const [one, other] = await Promise.all([start(), start()])
    const first = charge(one.url, "order-1017", { headers: { "x-takes": "60000" } }).catch(() => "lost")
    while (effects(log).length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
    one.child.kill("SIGKILL")
    expect(await first).toBe("lost")
    // It waits for the end of the lease.
    const second = await charge(other.url, "order-1017", { headers: { "x-takes": "60000" } })
    expect([second.status, ((await second.json()) as { code: string }).code]).toEqual([500, "idempotency_in_doubt"])
    expect(second.headers.get("x-should-retry")).toBe("false")
    expect(effects(log)).toHaveLength(1)
  })
})

describe("a client", () => {
  it("that retries gets the answer that was lost", async () => {
    const { url } = await start()
    const program = Effect.gen(function* () {
      const client = HttpRetry.client(yield* HttpClient.HttpClient, Policy.delays(["10 millis", "10 millis"]))
      const request = HttpClientRequest.post(`${url}/charges`, { headers: { "x-lose": "1", "x-takes": "10" } })
      return yield* client.execute(HttpRetry.keyed(request, "order-1017"))
    })
    const response = await Effect.runPromise(Effect.provide(program, NodeHttpClient.layerUndici))
    expect([response.status, response.headers[HttpIdempotency.replayedHeader]]).toEqual([201, "true"])
    expect(effects(log)).toHaveLength(1)
  })

  it("that hangs up finds the outcome when it comes back", async () => {
    const { url } = await start()
    const signal = AbortSignal.timeout(100)
    await expect(charge(url, "order-1017", { signal })).rejects.toThrow(/timeout/)
    const again = await charge(url, "order-1017")
    expect([again.status, isReplayed(again)]).toEqual([201, true])
    expect(effects(log)).toHaveLength(1)
  })

  it("that hangs up while it sends leaves the key as new", async () => {
    const { url } = await start()
    const socket = connect(Number(new URL(url).port), "127.0.0.1")
    socket.write(
      `POST /charges HTTP/1.1\r\nhost: a\r\nidempotency-key: "order-1017"\r\ncontent-length: 100\r\n\r\nhalf`
    )
    await once(socket, "connect")
    await new Promise((resolve) => setTimeout(resolve, 50))
    socket.destroy()
    const again = await charge(url, "order-1017", { headers: { "x-takes": "1" } })
    expect([again.status, isReplayed(again)]).toEqual([201, false])
    expect(effects(log)).toHaveLength(1)
  })
})

describe("a body of 100 MB", () => {
  const size = 100 * megabytes

  /** Sends it over a connection of its own, and gives what the server says before the end. */
  const send = async (url: string, head: string, chunk: (bytes: Buffer) => ReadonlyArray<Buffer | string>) => {
    const socket = connect(Number(new URL(url).port), "127.0.0.1")
    socket.on("error", () => {})
    let said = ""
    socket.on("data", (data) => said += String(data))
    const closed = new Promise<void>((resolve) => void socket.once("close", () => resolve()))
    socket.write(`POST /charges HTTP/1.1\r\nhost: a\r\nidempotency-key: "order-1017"\r\n${head}\r\n\r\n`)
    const piece = Buffer.alloc(megabytes, "x")
    let sent = 0
    while (sent < size && !socket.destroyed && socket.writable) {
      for (const part of chunk(piece)) {
        if (!socket.write(part)) await Promise.race([once(socket, "drain").catch(() => {}), closed])
      }
      sent += piece.length
    }
    socket.end()
    await closed
    return { status: /^HTTP\/1.1 (\d+)/.exec(said)?.[1], sent }
  }

  it.each([
    ["with its length", `content-length: ${size}`, (bytes: Buffer) => [bytes]],
    ["in chunks", "transfer-encoding: chunked", (bytes: Buffer) => [`${bytes.length.toString(16)}\r\n`, bytes, "\r\n"]]
  ])("%s is refused, and neither read to its end nor kept", async (_, head, chunk) => {
    const { url } = await start()
    const found = async (what: string) => Number(await (await fetch(`${url}/${what}`)).text())
    const rss = () => found("memory")
    await charge(url, "warm", { headers: { "x-takes": "1" } })
    const before = await rss()
    for (let i = 0; i < 3; i++) {
      const before = await found("read")
      const { sent, status } = await send(url, head, chunk)
      expect(status).toBe("413")
      // After its answer, what is on the way already.
      expect(await found("read") - before).toBeLessThan(16 * megabytes)
      expect(sent).toBeLessThan(24 * megabytes)
    }
    expect(await rss() - before).toBeLessThan(40 * megabytes)
    expect(effects(log)).toHaveLength(1)
    expect((await charge(url, "order-1017", { headers: { "x-takes": "1" } })).status).toBe(201)
  })
})
