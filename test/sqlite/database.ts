/** Databases of the tests: real files in a directory that goes when the scope does. */
import { SqliteClient } from "@reprise/sqlite"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Scope } from "effect/Scope"
import type { SqlError, SqlErrorReason } from "effect/sql/SqlError"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** The path of a file that does not exist yet, in a directory of its own. */
export const file: Effect.Effect<string, never, Scope> = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "reprise-sqlite-"))),
    (directory) => Effect.sync(() => rmSync(directory, { recursive: true, force: true }))
  ),
  (directory) => join(directory, "data.sqlite")
)

/** A client on that file; two of them stand for two processes as far as locks go. */
export const connect = (
  filename: string,
  config: Omit<SqliteClient.SqliteClientConfig, "filename"> = {}
): Effect.Effect<SqliteClient.SqliteClient, SqlError, Scope> =>
  Effect.map(
    Layer.build(Layer.fresh(SqliteClient.layer({ filename, ...config }))),
    Context.get(SqliteClient.SqliteClient)
  )

/** A client on a file of its own. */
export const onFile = (
  config: Omit<SqliteClient.SqliteClientConfig, "filename"> = {}
): Effect.Effect<SqliteClient.SqliteClient, SqlError, Scope> =>
  Effect.flatMap(file, (filename) => connect(filename, config))

/** A client in memory. */
export const inMemory = (
  config: Omit<SqliteClient.SqliteClientConfig, "filename"> = {}
): Effect.Effect<SqliteClient.SqliteClient, SqlError, Scope> => connect(":memory:", config)

/** Why it failed; a success is a failure here. */
export const reason = <A, R>(self: Effect.Effect<A, SqlError, R>): Effect.Effect<SqlErrorReason, A, R> =>
  Effect.map(Effect.flip(self), (error) => error.reason)
