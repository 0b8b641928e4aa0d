/**
 * An attempt of a program that did not end well.
 */
import * as Transience from "@reprise/core/Transience"
import type * as Cause from "effect/Cause"
import * as Data from "effect/Data"

interface Fields {
  /** The program's own, or 128 and the number of the signal that ended it. */
  readonly exitCode: number
  /** How it ended, in words. */
  readonly how: string
  readonly transient: boolean
  /** What the program wrote on descriptor 3. */
  readonly retryAfter: Transience.RetryAfter | undefined
}

// Named with its type because a declaration file cannot infer what a class extends.
const Base: new(fields: Fields) => Cause.YieldableError & { readonly _tag: "ProgramFailed" } & Fields = Data
  .TaggedError(
    "ProgramFailed"
  )

export class ProgramFailed extends Base {
  get [Transience.TypeId](): Transience.SelfDescription {
    return {
      transience: this.transient ? "transient" : "terminal",
      throttled: this.retryAfter !== undefined,
      retryAfter: this.retryAfter
    }
  }
}
