// A benchmark that nobody runs rots unseen. Here each is run with next to nothing to do: that it works is tested, and no
// figure. A side whose runs do not all succeed ends its measurement.
import { spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { text } from "node:stream/consumers"
import { fileURLToPath } from "node:url"
import { beforeAll, describe, expect, it } from "vitest"
import type { Section } from "../bench/table.ts"
import { hasRedis } from "../redis/server.ts"
import { hasPostgres } from "../sql/postgres.ts"

const main = fileURLToPath(new URL("../bench/main.ts", import.meta.url))
const readme = readFileSync(new URL("../bench/README.md", import.meta.url), "utf8")

/** Runs the measurements with next to nothing to do. */
const smoke = async (name: ReadonlyArray<string>, env: NodeJS.ProcessEnv) => {
  const child = spawn(process.execPath, [main, "--smoke", "--json", ...name], { env })
  const [stdout, stderr, [status]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")])
  const sections: ReadonlyArray<Section> = JSON.parse(stdout).sections
  return { sections, stderr, status }
}

/** The names that the README has, in its order. */
const names = [...readme.matchAll(/^\*\*(\S+)\*\*:/gm)].map(([, name]) => name!)

describe("npm run bench", () => {
  let all: Awaited<ReturnType<typeof smoke>>
  beforeAll(async () => {
    all = await smoke([], process.env)
  })
  const rowsOf = (name: string) => all.sections.find((section) => section.name === name)?.rows ?? []

  it("measures all that the README tells of", () => {
    expect(all.stderr).not.toContain("failed")
    expect(all.status).toBe(0)
    expect(all.sections.map(({ name }) => name).toSorted()).toEqual(names.toSorted())
  })

  it.each(names)("has rows, each with its figures: %s", (name) => {
    const rows = rowsOf(name)
    expect(rows.length > 0).toBe(name !== "redis" || hasRedis)
    for (const { other, ours, ratio, what } of rows) {
      expect([what, typeof ours, typeof ratio]).toEqual([what, "number", other === null ? "object" : "number"])
    }
  })

  it("asks every store that is there to run an operation once", () => {
    const rows = rowsOf("idempotency")
    const stores = ["memory", "SQLite", "SQLite with synchronous = NORMAL"]
    if (hasPostgres) stores.push("PostgreSQL, 10 at a time")
    if (hasRedis) stores.push("Redis, 50 at a time")
    const once = "once ÷ an insert and an update, "
    expect(rows.flatMap(({ what }) => what.startsWith(once) ? what.slice(once.length) : [])).toEqual(stores)
  })
})

it("a measurement that says something says it on standard error", async () => {
  const { sections, status, stderr } = await smoke(["redis"], { PATH: "/nowhere" })
  expect(stderr).toMatch(/\*\*\* SKIPPED: the tests of Redis, as there is no redis-server here/)
  expect([status, sections[0]?.rows]).toEqual([0, []])
})
