import * as ByteSize from "effect/ByteSize"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { FileSystem } from "effect/FileSystem"
import * as Option from "effect/Option"
import type { PlatformError } from "effect/PlatformError"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { errorCode } from "../observe/errorType.ts"
import * as ask from "./ask.ts"
import { follow, type Look } from "./follow.ts"
import type { Memory } from "./memory.ts"
import { mostCharacters, tooLong } from "./state.ts"

// No character is longer in UTF-8.
const mostBytes = BigInt(mostCharacters * 4)

/** Reads the file. Of another kind it is not opened: the end of a pipe is never read. */
const read = (files: FileSystem, path: string): Effect.Effect<Look, PlatformError> =>
  Effect.flatMap(files.stat(path), (info): Effect.Effect<Look, PlatformError> => {
    if (info.type !== "File") return Effect.succeed({ _tag: "Away", why: `it is no file but a ${info.type}` })
    const bytes = ByteSize.toBigInt(info.size)
    return bytes > mostBytes
      ? Effect.succeed({ _tag: "Refused", error: tooLong(`${bytes} bytes`) })
      : Effect.map(files.readFileString(path), (text): Look => ({ _tag: "Text", text }))
  })

const look = (answer: Exit.Exit<Look, PlatformError>): Look => {
  if (Exit.isSuccess(answer)) return answer.value
  const error = Exit.findErrorOption(answer)
  if (Option.isNone(error)) return { _tag: "Away", why: "a defect of its file system" }
  const { reason } = error.value
  return reason._tag === "NotFound" ? { _tag: "Gone" } : { _tag: "Away", why: errorCode(reason.cause) ?? reason._tag }
}

/** Where the name of a file begins in its path. */
const nameAt = (path: string): number => Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")) + 1

/**
 * Follows a file. Its folder is watched, as an editor puts another file in the place of the one that was; where there
 * are no events, as on a network's file system, or where the name is a link, the poll finds it.
 */
export const followFile = (
  control: Memory,
  files: FileSystem,
  path: string,
  pollMillis: number
): Effect.Effect<void, never, Scope.Scope> => {
  const start = nameAt(path)
  const name = path.slice(start)
  const folder = start === 0 ? "." : path.slice(0, start)
  const listen = (signal: () => void) =>
    // What was written before it listened.
    files.watch(folder, { onReady: signal }).pipe(
      Stream.runForEach((event) => Effect.sync(() => event.path.slice(nameAt(event.path)) === name && signal())),
      // No folder yet, or no events here: the poll goes on, and the next round tries once more.
      Effect.ignoreCause,
      Effect.andThen(Effect.sleep(pollMillis)),
      Effect.forever,
      Effect.forkScoped,
      Effect.asVoid
    )
  // A read that is under way keeps its thread, whatever becomes of the fiber: it is never lost.
  return Effect.flatMap(ask.make(read(files, path), Infinity, look), (look) => {
    const source = { name: `file ${path}`, look, goneIsOn: true, settleMillis: pollMillis / 2 }
    return follow(control, source, pollMillis, listen)
  })
}
