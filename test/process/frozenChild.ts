// A program that retries, for a test that freezes it. It says on its output when each attempt starts and when a wait
// begins, with the time of the monotonic clock, which all processes of a machine share; and at the end what came of it.
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { Deadline, Policy, Retry, RetryControl, RetryExhausted } from "@reprise/core"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import { writeSync } from "node:fs"

/** A line of the program's output. */
export interface Line {
  readonly what: "attempt" | "waiting" | "end"
  /** Milliseconds. */
  readonly at: number
  /** How the run ended. */
  readonly reason?: string
}

const say = (what: Line["what"], reason?: string): void => {
  const line: Line = { what, at: Number(process.hrtime.bigint()) / 1e6, ...(reason === undefined ? {} : { reason }) }
  writeSync(1, `${JSON.stringify(line)}\n`)
}

const attempt = Effect.suspend(() => {
  say("attempt")
  return Effect.fail("unavailable")
})
const options: Retry.Options<string> = { onRetry: () => Effect.sync(() => say("waiting")) }

const waits = (millis: number) => Policy.constant(millis).pipe(Policy.attempts(5))

const [kind = "", file = "none"] = process.argv.slice(2)
const programs: Readonly<Record<string, Effect.Effect<never, unknown>>> = {
  deadline: attempt.pipe(Retry.run(waits(600), options), Deadline.within("1 second")),
  within: attempt.pipe(Retry.run(waits(600).pipe(Policy.within("1 second")), options)),
  free: attempt.pipe(Retry.run(waits(600), options), Deadline.within("1 minute")),
  switched: attempt.pipe(
    Retry.run(waits(2000), options),
    Effect.provide(Layer.provide(RetryControl.layerFile({ path: file, poll: "20 millis" }), NodeFileSystem.layer))
  )
}

const reasonOf = (exit: Exit.Exit<never, unknown>): string => {
  const error = Option.getOrUndefined(Exit.findErrorOption(exit))
  if (RetryExhausted.is(error)) return error.reason._tag
  return Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "success"
}

const program = programs[kind] ?? Effect.fail(`no such program: ${kind}`)
say("end", reasonOf(await Effect.runPromise(Effect.provide(Effect.exit(program), Logger.layer([])))))
