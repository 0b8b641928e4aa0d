/**
 * A program under a policy, from its first attempt to an exit code.
 */
import type * as IdempotencyKey from "@reprise/core/IdempotencyKey"
import type * as Policy from "@reprise/core/Policy"
import * as Retry from "@reprise/core/Retry"
import * as RetryExhausted from "@reprise/core/RetryExhausted"
import type { TimeoutError } from "effect/Cause"
import * as Effect from "effect/Effect"
import { attempt } from "./attempt.ts"
import * as Guard from "./Guard.ts"
import type { ProgramFailed } from "./ProgramFailed.ts"
import * as report from "./report.ts"
import * as Signals from "./Signals.ts"

export interface Options {
  readonly command: string
  readonly args: ReadonlyArray<string>
  readonly policy: Policy.Policy<unknown>
  readonly retryOn: (exitCode: number) => boolean
  readonly attemptTimeout: number | undefined
  /** How long a program whose time is up may take to end, in milliseconds. */
  readonly killAfter: number
  /** What every attempt reads. Default: this process's standard input for the first one, nothing for the others. */
  readonly stdin: Buffer | undefined
}

/** As `timeout` of the GNU coreutils has it. */
const timedOut = 124

const exitCodeOf = (error: ProgramFailed | TimeoutError): number =>
  error._tag === "ProgramFailed" ? error.exitCode : timedOut

/** Where a run is. */
interface Progress {
  attempt: number
  waiting: boolean
}

const attempts = (options: Options, signals: Signals.Signals, guard: Guard.Guard, progress: Progress) => {
  const program = { ...options, guard, signals }
  const once = (key: IdempotencyKey.IdempotencyKey) =>
    Effect.flatMap(Retry.Attempt, ({ number }) => {
      progress.attempt = number
      progress.waiting = false
      return attempt(program, {
        env: { RETRY_ATTEMPT: String(number), RETRY_IDEMPOTENCY_KEY: key },
        stdin: options.stdin ?? (number === 1 ? "inherit" : "ignore")
      })
    })
  return Retry.runKeyed(options.policy, once, {
    name: options.command,
    attemptTimeout: options.attemptTimeout,
    onRetry: (event: Retry.RetryEvent<ProgramFailed | TimeoutError>) =>
      Effect.sync(() => {
        progress.waiting = true
        report.retrying(event)
      })
  })
}

/** Runs the program, and gives the exit code that the command ends with. */
export const supervise = (options: Options): Effect.Effect<number> =>
  Effect.scoped(Effect.gen(function* () {
    const signals = yield* Signals.make
    const guard = yield* Guard.make
    const progress: Progress = { attempt: 1, waiting: false }
    const run = attempts(options, signals, guard, progress).pipe(
      Effect.match({
        onSuccess: () => {
          report.succeeded(progress.attempt)
          return 0
        },
        onFailure: (error) => {
          if (RetryExhausted.is(error)) {
            report.gaveUp(error)
            return exitCodeOf(error.lastError)
          }
          report.refused(progress.attempt, error)
          return error.exitCode
        }
      })
    )
    const signalled = Effect.map(signals.first, (signal) => {
      report.interrupted(progress.attempt, progress.waiting, signal)
      return Signals.exitCode(signal)
    })
    return yield* Effect.raceFirst(run, signalled)
  }))
