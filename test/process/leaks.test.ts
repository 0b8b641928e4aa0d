// R9 on a real clock: 100,000 runs of each kind, with and without a budget, a deadline and observers, leave nothing. In
// a process of its own, as its heap must be nobody else's.
import { execFile } from "node:child_process"
import { join } from "node:path"
import { promisify } from "node:util"
import { beforeAll, describe, expect, it } from "vitest"
import type { Left } from "./leaksChild.ts"

/** The line of the log that tells of what was suppressed waits for its second, with a timer and its fibres. */
const few = 4
const megabyte = 1_000_000

describe("R9: 100,000 runs", () => {
  let lines: ReadonlyArray<Left> = []
  beforeAll(async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [
      "--expose-gc",
      join(import.meta.dirname, "leaksChild.ts")
    ])
    lines = stdout.trim().split("\n").map((line): Left => JSON.parse(line))
  })

  it.each([
    "success",
    "retried",
    "exhausted",
    "timed out",
    "interrupted in a wait",
    "interrupted in an attempt"
  ])("leave no timer, fibre or memory: %s", (kind) => {
    const left = lines.find((line) => line.kind === kind)!
    expect(left).toMatchObject({ waiting: 0, slots: 0 })
    expect(left.timers).toBeLessThan(few)
    expect(left.fibers).toBeLessThan(few)
    expect(left.heapBytes).toBeLessThan(5 * megabyte)
  })
})
