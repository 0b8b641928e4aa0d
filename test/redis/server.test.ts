import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readdirSync, rmSync } from "node:fs"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { expect, it } from "vitest"
import { until } from "../core/until.ts"
import { hasOwnRedis } from "./server.ts"

const isListening = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => resolve(true)).on("error", () => resolve(false))
    socket.on("connect", () => socket.destroy())
  })

it.skipIf(!hasOwnRedis)("a run of tests that is killed leaves neither its server nor the server's folder", async () => {
  const folder = mkdtempSync(join(tmpdir(), "reprise-server-"))
  const code = `const { startOwnRedis } = await import(${JSON.stringify(import.meta.resolve("./server.ts"))})
    console.log((await startOwnRedis()).url)`
  const tests = spawn(process.execPath, ["--input-type=module", "--eval", code], {
    env: { ...process.env, TMPDIR: folder },
    stdio: ["ignore", "pipe", "inherit"]
  })
  try {
    const [url] = await once(tests.stdout.setEncoding("utf8"), "data")
    const port = Number(new URL(url).port)
    expect([await isListening(port), readdirSync(folder).length]).toEqual([true, 1])
    tests.kill("SIGKILL")
    await until(() => readdirSync(folder).length === 0)
    // The system takes its time to end what was killed.
    while (await isListening(port)) await setTimeout(5)
    expect(readdirSync(folder)).toEqual([])
  } finally {
    tests.kill("SIGKILL")
    rmSync(folder, { recursive: true })
  }
})
