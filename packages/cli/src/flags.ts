/**
 * Flags that several commands have.
 */
import * as Flag from "effect/cli/Flag"
import { flag } from "./durations.ts"

export const attemptTimeout: Flag.Flag<number | undefined> = flag(
  "attempt-timeout",
  "The longest that one attempt may take"
).pipe(Flag.withDefault(undefined))
