/**
 * How a command ends other than well: with an exit code, and a word about it where one is due.
 */
import type * as Cause from "effect/Cause"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import { writeSync } from "node:fs"
import { inLines } from "./visible.ts"

/** What the command was asked about is not so. */
const no = 1
/** The command was not called as it can be. */
const wrongUse = 2

interface Fields {
  readonly exitCode: number
  /** For standard error; `undefined` when everything is said. */
  readonly text: string | undefined
}

// Named with its type because a declaration file cannot infer what a class extends.
const Base: new(fields: Fields) => Cause.YieldableError & { readonly _tag: "Ending" } & Fields = Data.TaggedError(
  "Ending"
)

export class Ending extends Base {}

/** The answer has been printed, and it is no. */
export const answeredNo: Effect.Effect<never, Ending> = Effect.fail(new Ending({ exitCode: no, text: undefined }))

/** The command line, or what it names, cannot be used. */
export const refuse = (text: string): Ending => new Ending({ exitCode: wrongUse, text })

/** Ends with the exit code of something else. */
export const withCode = (exitCode: number): Ending => new Ending({ exitCode, text: undefined })

/**
 * Lines on standard error, written at once. Not by way of `process.stderr`: that makes a pipe non-blocking for
 * everybody who shares it, and a program that `reprise run` has started does.
 */
export const write = (text: string): void => {
  try {
    writeSync(2, `${inLines(text)}\n`)
  } catch {
    // Nobody listens.
  }
}

/** Lines on standard error that say whose they are. */
export const say = (text: string): void => write(`reprise: ${text}`)
