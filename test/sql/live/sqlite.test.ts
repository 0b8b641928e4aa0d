// Several processes on one file of SQLite.
import { SqliteClient } from "@reprise/sqlite"
import * as Effect from "effect/Effect"
import { execFile } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { expect, it } from "vitest"
import type { Counted } from "./worker.ts"

const increment = async (...args: ReadonlyArray<string>): Promise<Counted> => {
  const { stdout } = await promisify(execFile)(process.execPath, [join(import.meta.dirname, "worker.ts"), ...args])
  return JSON.parse(stdout)
}

it("two processes that write one file lose no update", async ({ onTestFinished }) => {
  const directory = mkdtempSync(join(tmpdir(), "reprise-sql-"))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const filename = join(directory, "data.sqlite")
  const query = (...texts: ReadonlyArray<string>) =>
    Effect.runPromise(
      Effect.flatMap(SqliteClient.SqliteClient, (sql) => Effect.forEach(texts, (text) => sql.unsafe(text).values))
        .pipe(Effect.provide(SqliteClient.layer({ filename })))
    )
  await query("CREATE TABLE counter (n INTEGER)", "INSERT INTO counter VALUES (0)")
  const [one, other] = await Promise.all([increment(filename, "1500"), increment(filename, "1500")])
  expect(await query("SELECT n FROM counter")).toEqual([[[3_000]]])
  // They met: otherwise this has shown nothing.
  expect(one.retries + other.retries).toBeGreaterThan(0)
})
