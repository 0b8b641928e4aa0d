/**
 * The command as a user starts it: a process of its own, with pipes or in a terminal.
 */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process"
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { onTestFinished } from "vitest"

const bin = fileURLToPath(new URL("../../node_modules/.bin", import.meta.url))
export const main = fileURLToPath(new URL("../../packages/cli/src/main.ts", import.meta.url))

export interface Outcome {
  readonly exitCode: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface Options {
  readonly stdin?: string | Buffer
  readonly env?: Readonly<Record<string, string>>
  /** The file that standard output is, instead of a pipe. */
  readonly stdout?: string
}

export interface Started {
  readonly child: ChildProcessWithoutNullStreams
  readonly outcome: Promise<Outcome>
  /** Resolves when standard output or error has shown the text. */
  readonly shown: (text: string) => Promise<void>
}

const environment = (env: Options["env"]) => {
  const { FORCE_COLOR: _force, NO_COLOR: _no, ...rest } = process.env
  return { ...rest, PATH: `${bin}:${process.env["PATH"]}`, TERM: "xterm", ...env }
}

const follow = (child: ChildProcessWithoutNullStreams): Started => {
  let stdout = ""
  let stderr = ""
  const waiting = new Set<() => void>()
  const outcome = new Promise<Outcome>((resolve) => {
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text
      for (const check of waiting) check()
    })
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text
      for (const check of waiting) check()
    })
    child.on("close", (exitCode) => resolve({ exitCode, stdout, stderr }))
  })
  const shown = (text: string) =>
    new Promise<void>((resolve, reject) => {
      const check = () => {
        if ((stdout + stderr).includes(text)) resolve()
      }
      waiting.add(check)
      check()
      void outcome.then(() => reject(new Error(`never shown: ${text}\n${stdout}${stderr}`)))
    })
  child.stdin.on("error", () => {})
  // What a test that failed has left behind.
  onTestFinished(() => void child.kill("SIGKILL"))
  return { child, outcome, shown }
}

/** Starts the command. */
export const start = (args: ReadonlyArray<string>, options: Options = {}): Started => {
  const command = [process.execPath, main, ...args]
  const [file = "", ...rest] = options.stdout === undefined
    ? command
    : ["sh", "-c", "out=$1; shift; exec \"$@\" > \"$out\"", "sh", options.stdout, ...command]
  const started = follow(spawn(file, rest, { env: environment(options.env) }))
  if (options.stdin !== undefined) started.child.stdin.end(options.stdin)
  return started
}

/** Runs the command to its end. */
export const reprise = (args: ReadonlyArray<string>, options: Options = {}): Promise<Outcome> =>
  start(args, { stdin: "", ...options }).outcome

/** Runs a line of bash, where `reprise` is the command, to its end. */
export const shell = (line: string): Promise<Outcome> => {
  const script = `reprise() { "${process.execPath}" "${main}" "$@"; }; ${line}`
  const started = follow(spawn("bash", ["-c", script], { env: environment({}) }))
  started.child.stdin.end()
  return started.outcome
}

/** Runs a line of shell in a pseudo-terminal, where `reprise` is the command. What is typed comes from the test. */
export const terminal = (line: string, env?: Options["env"]): Started =>
  follow(spawn("script", ["-qec", line, "/dev/null"], { env: environment(env) }))

/** A directory with files, gone at the end. */
export const workplace = (files: Readonly<Record<string, string>> = {}) => {
  const directory = mkdtempSync(join(tmpdir(), "reprise-cli-"))
  const path = (name: string) => join(directory, name)
  for (const [name, text] of Object.entries(files)) writeFileSync(path(name), text)
  return {
    path,
    append: (name: string, text: string) => appendFileSync(path(name), text),
    read: (name: string) => readFileSync(path(name), "utf8"),
    [Symbol.dispose]: () => rmSync(directory, { recursive: true })
  }
}

/** Whether a process is alive: there, and not only waiting to be collected. */
const isAlive = (pid: number): boolean => {
  try {
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, "utf8"))
  } catch {
    return false
  }
}

/** Resolves when a process is gone; rejects after two seconds. */
export const gone = async (pid: number): Promise<void> => {
  for (let tries = 0; isAlive(pid); tries++) {
    if (tries === 200) throw new Error(`process ${pid} is still there`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}
