/**
 * What an importer makes of a foreign configuration.
 */
import type * as Result from "effect/Result"

/** A setting without an equivalent in a policy: it is said, not dropped. */
export interface Unmapped {
  readonly field: string
  /** Left out where it is not for showing. */
  readonly value?: unknown
  /** Why, and what does its work in Reprise, if something does. */
  readonly reason: string
}

export interface Imported {
  /** Where in the file it stood. */
  readonly at: string
  /** The notation. */
  readonly policy: string
  readonly unmapped: ReadonlyArray<Unmapped>
}

/** One that cannot be read, while others can. */
export interface Unread {
  /** Where in the file it stands, and its name if it has one. */
  readonly at: string
  /** What is wrong, as a sentence without its full stop. */
  readonly problem: string
}

/** Reads the text of a file. Fails with what is wrong with all of it, as a sentence without its full stop. */
export type Importer = (text: string) => Result.Result<ReadonlyArray<Imported | Unread>, string>
