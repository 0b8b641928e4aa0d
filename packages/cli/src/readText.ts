/**
 * Files that a command line names.
 */
import * as Effect from "effect/Effect"
import { createReadStream } from "node:fs"
import { type Ending, refuse } from "./Ending.ts"

/** The largest file that is read, in bytes. */
const most = 1_048_576

const read = async (path: string): Promise<Buffer> => {
  const chunks: Array<Buffer> = []
  // One byte more than allowed shows that there is more, also of a file without an end.
  for await (const chunk of createReadStream(path, { end: most })) chunks.push(chunk)
  return Buffer.concat(chunks)
}

const reason = (error: unknown): string =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : String(error)

/** The text of a file of at most 1 MiB. */
export const readText = (path: string): Effect.Effect<string, Ending> =>
  Effect.flatMap(
    Effect.tryPromise({ try: () => read(path), catch: (error) => refuse(`cannot read ${path}: ${reason(error)}`) }),
    (bytes) =>
      bytes.length > most ? Effect.fail(refuse(`${path} is larger than 1 MiB`)) : Effect.succeed(bytes.toString("utf8"))
  )
