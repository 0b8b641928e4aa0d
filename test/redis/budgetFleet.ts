/** Several processes that share a budget; see `budgetMember.ts`. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import { onTestFinished } from "vitest"
import type { Load, Result } from "./budgetMember.ts"

const program = fileURLToPath(new URL("./budgetMember.ts", import.meta.url))

export interface Fleet {
  /** Requests that have started so far. */
  readonly started: () => number
  /** Resolves when so many requests have started. */
  readonly until: (requests: number) => Promise<void>
  /** What came of each, when all have ended. */
  readonly results: Promise<ReadonlyArray<Result>>
}

/** Starts a process for each load. All begin when the last of them has joined the budget, and end with the test. */
export const startFleet = async (loads: ReadonlyArray<Load>): Promise<Fleet> => {
  const started = loads.map(() => 0)
  const results: Array<Result> = []
  const waiting = new Set<() => void>()
  const sum = () => started.reduce((a, b) => a + b, 0)
  const members = loads.map((load) =>
    spawn(process.execPath, [program, JSON.stringify(load)], { stdio: ["ignore", "inherit", "inherit", "ipc"] })
  )
  onTestFinished(() => members.forEach((member) => member.kill("SIGKILL")))
  const ready = members.map((member, index) =>
    new Promise<void>((resolve, reject) => {
      member.on("exit", (code) => reject(new Error(`A process of the fleet ended with ${code}`)))
      member.on("message", (message: "ready" | number | Result) => {
        if (message === "ready") return resolve()
        if (typeof message === "number") {
          started[index] = message
          for (const check of waiting) check()
        } else {
          results[index] = message
        }
      })
    })
  )
  const ends = Promise.all(members.map((member) => once(member, "exit")))
  await Promise.all(ready)
  for (const member of members) member.send("go")
  return {
    started: sum,
    until: (requests) =>
      new Promise((resolve) => {
        const check = () => {
          if (sum() < requests) return
          waiting.delete(check)
          resolve()
        }
        waiting.add(check)
        check()
      }),
    results: ends.then(() => results)
  }
}
