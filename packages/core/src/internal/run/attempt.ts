import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { Attempt as AttemptInfo } from "../../Retry.ts"
import type { AnyEffect } from "./settings.ts"

export const firstAttempt: AttemptInfo = { number: 1, previous: undefined, elapsed: Duration.zero }

/** See `Retry.Attempt`. */
export const Attempt: Context.Reference<AttemptInfo> = /* @__PURE__ */ Context.Reference(
  "@reprise/core/Retry/Attempt",
  {
    defaultValue: () => firstAttempt
  }
)

/** Stands for one run of an effect that has an attempt timeout. */
export interface Owner {
  readonly timeout: Duration.Duration
}

/** The timeout of one attempt. It knows its run, so that no other run takes it for its own. */
class AttemptTimeout extends Cause.TimeoutError {
  readonly owner: Owner

  constructor(owner: Owner, duration: Duration.Duration) {
    super(`An attempt took longer than ${Duration.format(duration)}`)
    this.owner = owner
    // It is nothing to print.
    Object.defineProperty(this, "owner", { enumerable: false })
  }
}

export const isTimeoutOf = (owner: Owner, error: unknown): boolean => {
  try {
    return error instanceof AttemptTimeout && error.owner === owner
  } catch {
    // A Proxy that does not let its prototype be seen.
    return false
  }
}

/** An attempt that ends after the run's attempt timeout, or after what the deadline leaves of it. */
export const limited = (self: AnyEffect, owner: Owner, left: number): AnyEffect => {
  // Whole milliseconds, as clocks count and people read.
  const duration = left < Duration.toMillis(owner.timeout)
    ? Duration.millis(Math.max(0, Math.ceil(left)))
    : owner.timeout
  return Effect.timeoutOrElse(self, {
    duration,
    orElse: () => Effect.fail(new AttemptTimeout(owner, duration))
  })
}
