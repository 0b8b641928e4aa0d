// R2: a process that was frozen makes no late attempt. Here it is a real one, stopped and continued by signals, as a
// laptop's lid, a debugger or a container's freezer does.
import { spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { describe, expect, it, type TestContext } from "vitest"
import { sayThatSkipped } from "../../scripts/ci-programs.ts"
import type { Line } from "./frozenChild.ts"

const now = (): number => Number(process.hrtime.bigint()) / 1e6

const stateOf = (pid: number): string | undefined =>
  /^\d+ \(.*\) (\w)/.exec(readFileSync(`/proc/${pid}/stat`, "utf8"))?.[1]

/** Starts the program, stops it in its first wait, and lets it go on after so many milliseconds. */
const freeze = async (
  { onTestFinished }: TestContext,
  args: ReadonlyArray<string>,
  millis: number,
  meanwhile: () => void = () => {}
) => {
  const child = spawn(process.execPath, [join(import.meta.dirname, "frozenChild.ts"), ...args], {
    stdio: ["ignore", "pipe", "inherit"]
  })
  onTestFinished(() => void child.kill("SIGKILL"))
  const lines: Array<Line> = []
  let rest = ""
  let stopped: (() => void) | undefined
  const waiting = new Promise<void>((resolve) => stopped = resolve)
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    const parts = (rest + text).split("\n")
    rest = parts.pop() ?? ""
    for (const part of parts) {
      const line: Line = JSON.parse(part)
      lines.push(line)
      // At once, while the wait has only begun.
      if (line.what === "waiting" && stopped !== undefined) {
        child.kill("SIGSTOP")
        stopped()
        stopped = undefined
      }
    }
  })
  const closed = new Promise<void>((resolve) => child.on("close", () => resolve()))
  await Promise.race([waiting, closed])
  await sleep(100)
  expect(stateOf(child.pid!)).toBe("T")
  meanwhile()
  await sleep(millis - 100)
  const continuedAt = now()
  child.kill("SIGCONT")
  await closed
  return {
    reason: lines.find(({ what }) => what === "end")?.reason,
    late: lines.filter(({ at, what }) => what === "attempt" && at >= continuedAt).length
  }
}

const isLinux = process.platform === "linux"
if (!isLinux) sayThatSkipped("the tests of a frozen process", "its state is read from Linux's /proc")

describe.skipIf(!isLinux)("R2: a process that is stopped in a wait, and continued", () => {
  it.concurrent("past its deadline makes no late attempt", async (context) => {
    const { late, reason } = await freeze(context, ["deadline"], 1500)
    expect([reason, late]).toEqual(["Deadline", 0])
  })

  it.concurrent("past the elapsed limit of its policy makes no late attempt", async (context) => {
    const { late, reason } = await freeze(context, ["within"], 1500)
    expect([reason, late]).toEqual(["Elapsed", 0])
  })

  it.concurrent("within its deadline goes on where it was", async (context) => {
    const { late, reason } = await freeze(context, ["free"], 1500)
    expect([reason, late]).toEqual(["Attempts", 4])
  })

  it.concurrent("makes no attempt when retries were switched off in the file meanwhile", async (context) => {
    const directory = mkdtempSync(join(tmpdir(), "reprise-frozen-"))
    context.onTestFinished(() => rmSync(directory, { recursive: true }))
    const file = join(directory, "retries.json")
    const off = () => writeFileSync(file, JSON.stringify({ retries: "off" }))
    const { late, reason } = await freeze(context, ["switched", file], 500, off)
    expect([reason, late]).toEqual(["SwitchedOff", 0])
  })
})
