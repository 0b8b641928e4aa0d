import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type { RetryEvent as Granted } from "../../Retry.ts"
import type { RetryBudget } from "../../RetryBudget.ts"
import type { RetryEvent } from "../../RetryEvents.ts"
import type * as Stepper from "../../Stepper.ts"
import type { Frame } from "../ambient.ts"
import type { Any } from "../policy.ts"
import type { Inside, Site } from "./site.ts"

export type AnyEffect = Effect.Effect<unknown, unknown, unknown>

/** What all runs of one configuration share. */
export interface Settings {
  readonly policy: Any
  readonly stepper: Stepper.Stepper
  readonly name: string | undefined
  /** What is called, for the switch. */
  readonly origin: string | undefined
  readonly attemptTimeout: Duration.Duration | undefined
  readonly attemptSpans: boolean
  readonly budget: RetryBudget | undefined
  /** An error that it rejects is terminal, whatever the policy says. */
  readonly allows: ((error: unknown) => boolean) | undefined
  /** An error that it rejects ends the run with reason `Unsafe`. */
  readonly repeatable: ((error: never) => boolean) | undefined
  readonly when: ((error: never) => Effect.Effect<boolean, never, unknown>) | undefined
  readonly onRetry: ((event: Granted<never>) => Effect.Effect<void, never, unknown>) | undefined
  readonly onEvent: ((event: RetryEvent) => Effect.Effect<void, never, unknown>) | undefined
  /** The most executions of the policy, as those inside are told. */
  readonly most: number
  /** Each run has an idempotency key of its own. */
  readonly keyed: boolean
  /** The name, or the policy, in one line; filled when it is asked for. */
  label: string | undefined
  /** The layer in which the run was last warned of. */
  warned: Frame | undefined
  /** What is inside of the last surroundings. */
  inside: Inside | undefined
  /** The site of a fibre that runs it again and again. */
  site: WeakRef<Site> | undefined
  /** The fibre of the last run, and how many runs in a row were in it. */
  fiber: number
  repeated: number
}
