/** The stores that a test file tries, each on a server or a file of its own. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll } from "vitest"
import { hasRedis, startRedis } from "../../redis/server.ts"
import { hasPostgres, startPostgres } from "../../sql/postgres.ts"
import type { Kind, Place } from "./stores.ts"

export const kinds: ReadonlyArray<readonly [kind: Kind, isThere: boolean]> = [
  ["sqlite", true],
  ["postgres", hasPostgres],
  ["redis", hasRedis]
]

export interface Servers {
  /** A place that nobody has used. */
  readonly place: (kind: Kind) => Place
  /** An empty log. */
  readonly log: () => string
}

export const servers = (): Servers => {
  let folder = ""
  const at: Partial<Record<Kind, string>> = {}
  const stops: Array<() => Promise<void>> = []
  let count = 0
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "reprise-idempotency-"))
    if (hasPostgres) {
      const server = await startPostgres()
      stops.push(server.stop)
      at.postgres = server.url
    }
    if (hasRedis) {
      const server = await startRedis()
      stops.push(server.stop)
      at.redis = server.url
    }
  })
  afterAll(async () => {
    for (const stop of stops) await stop()
    rmSync(folder, { recursive: true, force: true })
  })
  return {
    place: (kind) => {
      const name = `test_${process.pid}_${Date.now()}_${++count}`
      return { kind, at: at[kind] ?? join(folder, `${name}.sqlite`), name }
    },
    log: () => {
      const file = join(folder, `${++count}.log`)
      writeFileSync(file, "")
      return file
    }
  }
}
