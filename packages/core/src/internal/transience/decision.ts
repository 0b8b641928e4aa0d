/**
 * What a reader makes of one error of a chain.
 */
import type { Hint, Reader } from "../../Transience.ts"
import type { Outcome } from "./outcomes.ts"

export interface Decision {
  readonly outcome: Outcome
  readonly reader: Reader
  readonly code: string | undefined
  /** Stands only when nothing that the error wraps decides. */
  readonly tentative: boolean
  /** What a rule says of the wait, for an error that says nothing. */
  readonly hint?: Hint | undefined
}

export const decision = (outcome: Outcome, reader: Reader, code: string | undefined, tentative = false): Decision => ({
  outcome,
  reader,
  code,
  tentative
})
