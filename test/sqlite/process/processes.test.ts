// Several processes on one file.
import { SqliteClient } from "@reprise/sqlite"
import * as Effect from "effect/Effect"
import { execFile } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { expect, it, type TestContext } from "vitest"
import type { Counted, Migrated } from "./worker.ts"

// Each task of the worker has an answer of its own.
const start = async <Answer>(...args: ReadonlyArray<string>): Promise<Answer> => {
  const { stdout } = await promisify(execFile)(process.execPath, [join(import.meta.dirname, "worker.ts"), ...args])
  return JSON.parse(stdout)
}

const freshFile = ({ onTestFinished }: TestContext): string => {
  const directory = mkdtempSync(join(tmpdir(), "reprise-sqlite-"))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  return join(directory, "data.sqlite")
}

const query = (filename: string, ...texts: ReadonlyArray<string>) =>
  Effect.runPromise(
    Effect.flatMap(SqliteClient.SqliteClient, (sql) => Effect.forEach(texts, (text) => sql.unsafe(text).values)).pipe(
      Effect.provide(SqliteClient.layer({ filename }))
    )
  )

it("two processes that write one file lose no update", async (context) => {
  const filename = freshFile(context)
  await query(filename, "CREATE TABLE counter (n INTEGER)", "INSERT INTO counter VALUES (0)")
  const count = () => start<Counted>(filename, "count", "1500")
  const [one, other] = await Promise.all([count(), count()])
  expect(await query(filename, "SELECT n FROM counter", "PRAGMA integrity_check")).toEqual([[[3_000]], [["ok"]]])
  // They met: otherwise this has shown nothing.
  expect(one.locked + other.locked).toBeGreaterThan(0)
})

it("three processes that migrate one new file run each migration once", async (context) => {
  for (let round = 0; round < 3; round++) {
    const filename = freshFile(context)
    const migrate = () => start<Migrated>(filename, "migrate")
    const all = await Promise.all([migrate(), migrate(), migrate()])
    expect(all.flatMap(({ ran }) => ran)).toEqual([1, 2])
    expect(await query(filename, "SELECT * FROM t")).toEqual([[[1]]])
  }
})
