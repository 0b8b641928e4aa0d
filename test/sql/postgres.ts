/**
 * A real PostgreSQL for tests: a throw-away cluster of their own, which they may stop and restart, or the one that
 * `REPRISE_TEST_PG_URL` names.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { chownSync, existsSync, globSync, mkdtempSync, rmSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { findServer } from "../../scripts/ci-programs.ts"

const names = ["postgres", "initdb"]

/** The folder of the server's programs: Debian keeps them off the PATH, as several versions may be there. */
const findPrograms = (): string | undefined => {
  const newestFirst = globSync("/usr/lib/postgresql/*/bin").toSorted((a, b) =>
    b.localeCompare(a, "en", { numeric: true })
  )
  return [...(process.env["PATH"] ?? "").split(":"), ...newestFirst].find((folder) =>
    names.every((name) => existsSync(join(folder, name)))
  )
}
const { given, isInstalled } = findServer("PostgreSQL", names, "REPRISE_TEST_PG_URL")

/** Whether there is a PostgreSQL: `describe.skipIf(!hasPostgres)`. */
export const hasPostgres: boolean = given !== undefined || isInstalled
/** Whether there is one that may be stopped and restarted, {@link startOwnPostgres}. */
export const hasOwnPostgres: boolean = isInstalled

export interface PostgresServer {
  /** Of the database `postgres`, for a superuser where the server is the tests' own. */
  readonly url: string
  /** Starts it where it does not run, on the port and with the data that it had before. */
  readonly start: () => Promise<void>
  /** Ends it for good. */
  readonly stop: () => Promise<void>
  /** Ends it at once, as a crash does: SIGQUIT, which spares no backend. */
  readonly kill: () => Promise<void>
  /** Ends it as an operator does: SIGINT, so that backends say goodbye (57P01) and roll back. */
  readonly shutDown: () => Promise<void>
  /** {@link shutDown} and {@link start}. */
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

/** PostgreSQL refuses to run as root: then it runs as the user that Debian made for it, or as nobody. */
const unprivileged = (): { readonly uid: number; readonly gid: number } | undefined => {
  if (process.getuid?.() !== 0) return undefined
  const id = (flag: string): number => {
    const { status, stdout } = spawnSync("id", [flag, "postgres"], { encoding: "utf8" })
    return status === 0 ? Number(stdout) : 65_534
  }
  return { uid: id("-u"), gid: id("-g") }
}

const environment = { PATH: process.env["PATH"], LC_ALL: "C", TZ: "UTC" }

/** Resolves when the server takes connections, and rejects when it has ended before. */
const ready = (child: ChildProcess): Promise<void> =>
  new Promise((resolve, reject) => {
    let said = ""
    child.stderr!.setEncoding("utf8").on("data", (text: string) => {
      said = (said + text).slice(-10_000)
      if (said.includes("ready to accept connections")) resolve()
    })
    child.on("error", reject)
    child.on("exit", () => reject(new Error(`postgres ended before it was ready:\n${said}`)))
  })

/**
 * Sees to it that a server does not outlive a run of tests that is killed: whatever ends this process ends the pipe that
 * the guard waits for.
 */
const guard = (server: ChildProcess, folder: string): void => {
  const script = "read -r _; kill -QUIT \"$1\"; while kill -0 \"$1\" 2> /dev/null; do sleep 0.1; done; rm -rf \"$2\""
  const guard = spawn("sh", ["-c", script, "sh", String(server.pid), folder], {
    stdio: ["pipe", "ignore", "ignore"],
    // Not for the interrupt that a terminal sends to all.
    detached: true
  })
  server.on("exit", () => guard.kill("SIGKILL"))
  // Nobody waits for it.
  guard.unref()
}

// A deadlock is found as soon as the server looks, and it looks after a second by default.
const defaults = { fsync: "off", full_page_writes: "off", deadlock_timeout: "20ms", unix_socket_directories: "" }

/**
 * The PostgreSQL that is given, and where there is none, one that is started. Whoever asks for one stops it.
 *
 * - `settings`: of `postgresql.conf`. One that is given has its own
 */
export const startPostgres = async (settings: Readonly<Record<string, string>> = {}): Promise<PostgresServer> => {
  if (given === undefined) return startOwnPostgres(settings)
  const not = () => {
    throw new Error("This PostgreSQL is not the tests' own")
  }
  const idle = () => Promise.resolve()
  return { url: given, start: idle, stop: idle, kill: not, shutDown: not, restart: not }
}

/** Starts a server on a free port of the loopback, for tests that stop and restart it. Whoever starts one stops it. */
export const startOwnPostgres = async (settings: Readonly<Record<string, string>> = {}): Promise<PostgresServer> => {
  const programs = findPrograms()
  if (programs === undefined) throw new Error(`There is no folder that has ${names.join(" and ")}`)
  const user = unprivileged()
  const folder = mkdtempSync(join(tmpdir(), "reprise-postgres-"))
  if (user !== undefined) chownSync(folder, user.uid, user.gid)
  const data = join(folder, "data")
  const made = spawnSync(
    join(programs, "initdb"),
    ["--pgdata", data, "--username", "postgres", "--auth", "trust", "--encoding", "UTF8", "--no-sync"],
    { ...user, cwd: folder, env: environment, encoding: "utf8" }
  )
  if (made.status !== 0) throw new Error(`initdb failed:\n${made.error ?? made.stderr}`)

  let child: ChildProcess | undefined
  const launch = async (port: number) => {
    const options = Object.entries({ ...defaults, ...settings, listen_addresses: "127.0.0.1", port: String(port) })
      .flatMap(([name, value]) => ["-c", `${name}=${value}`])
    child = spawn(join(programs, "postgres"), ["-D", data, ...options], {
      ...user,
      cwd: folder,
      env: environment,
      stdio: ["ignore", "ignore", "pipe"]
    })
    guard(child, folder)
    await ready(child)
  }
  const isRunning = (child: ChildProcess | undefined): child is ChildProcess =>
    child !== undefined && child.exitCode === null && child.signalCode === null
  const end = (signal: NodeJS.Signals) => async () => {
    if (!isRunning(child)) return
    const exit = once(child, "exit")
    child.kill(signal)
    await exit
  }
  const shutDown = end("SIGINT")
  const kill = end("SIGQUIT")

  let port = await freePort()
  // Somebody else may have taken it since.
  await launch(port).catch(async () => launch(port = await freePort()))
  const start = async () => {
    if (!isRunning(child)) await launch(port)
  }
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    start,
    stop: async () => {
      await kill()
      rmSync(folder, { recursive: true, force: true })
    },
    kill,
    shutDown,
    restart: async () => {
      await shutDown()
      await start()
    }
  }
}
