/**
 * From a command line to an exit code.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Command from "effect/cli/Command"
import { check } from "./commands/check.ts"
import { compare } from "./commands/compare.ts"
import { explain } from "./commands/explain.ts"
import { importPolicy } from "./commands/import.ts"
import { plan } from "./commands/plan.ts"
import { presets } from "./commands/presets.ts"
import { run } from "./commands/run.ts"
import { Ending, refuse, say } from "./Ending.ts"
import { layer } from "./platform.ts"
import { version } from "./version.ts"

const reprise = Command.make("reprise").pipe(
  Command.withDescription(
    "Reads, checks and runs retry policies. A POLICY is the notation itself, such as \"exponential(500ms) | cap(30s) | jitter | attempts(5)\", or @FILE, " +
      "preset:NAME or env:NAME for where it is written. Exit codes: 0 yes, 1 the answer is no, 2 wrong use."
  ),
  Command.withExamples([
    { command: "reprise plan 'exponential(500ms) | jitter | attempts(5)'", description: "What a policy will do" },
    {
      command: "reprise check @retry.policy --within 5s --attempt-timeout 1s",
      description: "A latency contract in CI"
    },
    {
      command: "reprise run --policy preset:standard -- curl -fsS https://example.com",
      description: "A program, retried"
    }
  ]),
  Command.withSubcommands([plan, check, compare, explain, presets, importPolicy, run])
)

/** A defect is no answer: sysexits' EX_SOFTWARE, apart from "no" and from wrong use. */
const crashed = 70

const program = (args: ReadonlyArray<string>) =>
  Command.runWith(reprise, { version })(args).pipe(
    Effect.catchTag("ShowHelp", () => Effect.fail(refuse(""))),
    Effect.provide(layer)
  )

export const main = (args: ReadonlyArray<string>): void => {
  Effect.runFork(program(args)).addObserver((exit) => {
    if (Exit.isSuccess(exit)) return
    const error = Cause.squash(exit.cause)
    // Also thrown, by what writes to standard output.
    if (error instanceof Ending) {
      process.exitCode = error.exitCode
      if (error.text) say(error.text)
      return
    }
    process.exitCode = crashed
    say(`this is a defect of reprise: ${error instanceof Error ? error.stack : String(error)}`)
  })
}
