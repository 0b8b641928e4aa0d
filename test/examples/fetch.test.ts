import { spawn } from "node:child_process"
import { once } from "node:events"
import { text } from "node:stream/consumers"
import { fileURLToPath } from "node:url"
import { assert, beforeAll, describe, it } from "vitest"

const root = fileURLToPath(new URL("../..", import.meta.url))

describe("fetch", () => {
  let code: unknown
  let stderr: string
  let plain: string
  let safe: string
  beforeAll(async () => {
    const child = spawn(process.execPath, ["examples/fetch/main.ts"], { cwd: root, stdio: ["ignore", "pipe", "pipe"] })
    const [stdout, errors, [exit]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")])
    code = exit
    stderr = errors
    const [before = "", after = ""] = stdout.split("HttpRetry.fetch")
    plain = before
    safe = after
  })

  it("ends by itself with code 0 and nothing on stderr", () => {
    assert.deepEqual([code, stderr], [0, ""])
  })

  it("books orders twice in a loop", () => {
    assert.match(plain, /outcomes: 18 ordered, 1 failed with 503, 1 failed with 422\n/)
    assert.match(plain, /orders booked: 18\n {2}booked again: [1-9]/)
  })

  it("books every order once with HttpRetry.fetch", () => {
    assert.match(safe, /outcomes: 18 ordered, 1 given up after 3 attempts, 1 refused with 422\n/)
    assert.match(safe, /orders booked: 18\n {2}booked again: 0\n/)
  })
})
