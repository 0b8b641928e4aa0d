/** Starts workers, and reads what they say. */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { onTestFinished } from "vitest"
import type { Task } from "./worker.ts"

export interface Worker {
  readonly process: ChildProcess
  /** The next line that it says; `undefined` at its end. */
  readonly next: () => Promise<unknown>
  readonly go: () => void
  readonly ended: Promise<unknown>
}

/** Starts one, and waits until it is ready. The end of the test is its end too, whatever came of it. */
export const start = async (task: Task): Promise<Worker> => {
  const child = spawn(process.execPath, [join(import.meta.dirname, "worker.ts"), JSON.stringify(task)], {
    stdio: ["pipe", "pipe", "inherit"]
  })
  const ended = once(child, "exit")
  // A frozen one too.
  onTestFinished(async () => {
    child.kill("SIGKILL")
    await ended
  })
  const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]()
  const next = async (): Promise<unknown> => {
    const line = await lines.next()
    return line.done === true ? undefined : JSON.parse(line.value)
  }
  const first = await next()
  if (first !== "ready") throw new Error(`The worker said ${JSON.stringify(first)}`)
  return { process: child, next, ended, go: () => void child.stdin!.write("go\n") }
}

/** The keys of the effects that were done, in their order. */
export const effects = (log: string): ReadonlyArray<string> => readFileSync(log, "utf8").split("\n").filter(Boolean)
