/**
 * A real Redis for tests: one of their own, which they may kill and freeze, or the one that `REPRISE_TEST_REDIS_URL`
 * names.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { findServer } from "../../scripts/ci-programs.ts"

const program = "redis-server"
const { given, isInstalled } = findServer("Redis", [program], "REPRISE_TEST_REDIS_URL")

/** Whether there is a Redis: `describe.skipIf(!hasRedis)`. */
export const hasRedis: boolean = given !== undefined || isInstalled
/** Whether there is one that may be killed and frozen, {@link startOwnRedis}. */
export const hasOwnRedis: boolean = isInstalled

export interface RedisServer {
  readonly url: string
  /** Starts it where it does not run, on the port that it had before; what it knew is lost. */
  readonly start: () => Promise<void>
  /** Ends it for good. */
  readonly stop: () => Promise<void>
  /** SIGKILL. */
  readonly kill: () => Promise<void>
  /** SIGSTOP: connections stay, and nothing is answered. */
  readonly freeze: () => void
  /** SIGCONT. */
  readonly thaw: () => void
  readonly restart: () => Promise<void>
}

const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  server.close()
  await once(server, "close")
  if (address === null || typeof address === "string") throw new Error("There is no port")
  return address.port
}

/** Resolves when the process takes connections, and rejects when it has ended before. */
const ready = (child: ChildProcess): Promise<void> =>
  new Promise((resolve, reject) => {
    let said = ""
    child.stdout!.setEncoding("utf8").on("data", (text: string) => {
      said += text
      if (said.includes("Ready to accept connections")) resolve()
    })
    child.on("error", reject)
    child.on("exit", () => reject(new Error(`${program} ended before it was ready:\n${said}`)))
  })

/**
 * Sees to it that a server does not outlive a run of tests that is killed: whatever ends this process ends the pipe that
 * the guard waits for.
 */
const guard = (server: ChildProcess, folder: string): void => {
  const script = "read -r _; kill -KILL \"$1\"; rm -rf \"$2\""
  const guard = spawn("sh", ["-c", script, "sh", String(server.pid), folder], {
    stdio: ["pipe", "ignore", "ignore"],
    // Not for the interrupt that a terminal sends to all.
    detached: true
  })
  server.on("exit", () => guard.kill("SIGKILL"))
  // Nobody waits for it.
  guard.unref()
}

/** The Redis that is given, and where there is none, one that is started. Whoever asks for one stops it. */
export const startRedis = async (): Promise<RedisServer> => {
  if (given === undefined) return startOwnRedis()
  const not = () => {
    throw new Error("This Redis is not the tests' own")
  }
  const idle = () => Promise.resolve()
  return { url: given, start: idle, stop: idle, kill: not, freeze: not, thaw: () => {}, restart: not }
}

/** Starts a server on a free port of the loopback, for tests that kill and freeze it. Whoever starts one stops it. */
export const startOwnRedis = async (): Promise<RedisServer> => {
  const folder = mkdtempSync(join(tmpdir(), "reprise-redis-"))
  let child: ChildProcess | undefined
  const launch = async (port: number) => {
    const options = ["--port", String(port), "--bind", "127.0.0.1", "--dir", folder, "--save", "", "--appendonly", "no"]
    child = spawn(program, options, { stdio: ["ignore", "pipe", "ignore"] })
    guard(child, folder)
    await ready(child)
  }
  const isRunning = (child: ChildProcess | undefined): child is ChildProcess =>
    child !== undefined && child.exitCode === null && child.signalCode === null
  const kill = async () => {
    if (!isRunning(child)) return
    const exit = once(child, "exit")
    child.kill("SIGKILL")
    await exit
  }

  let port = await freePort()
  // Somebody else may have taken it since.
  await launch(port).catch(async () => launch(port = await freePort()))
  return {
    url: `redis://127.0.0.1:${port}`,
    start: async () => {
      if (!isRunning(child)) await launch(port)
    },
    stop: async () => {
      await kill()
      rmSync(folder, { recursive: true, force: true })
    },
    kill,
    freeze: () => void child?.kill("SIGSTOP"),
    thaw: () => void child?.kill("SIGCONT"),
    restart: async () => {
      await kill()
      await launch(port)
    }
  }
}
