// A context holds all that a request has: what outlives the request must not hold the context.
import { execFile } from "node:child_process"
import { join } from "node:path"
import { promisify } from "node:util"
import { expect, it } from "vitest"
import type { Kept } from "./retentionChild.ts"

it("a configuration keeps nothing of the requests that it ran in, one run or a loop of them", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [
    "--expose-gc",
    join(import.meta.dirname, "retentionChild.ts")
  ])
  const kept: Kept = JSON.parse(stdout)
  expect(kept).toEqual([false, false])
})
