/**
 * `reprise run`: a program under a policy.
 */
import * as Policy from "@reprise/core/Policy"
import * as Spec from "@reprise/core/Spec"
import * as Transience from "@reprise/core/Transience"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import { flag } from "../durations.ts"
import { refuse, withCode } from "../Ending.ts"
import { attemptTimeout } from "../flags.ts"
import { resolve } from "../policyArgument.ts"

type RetryOn = (exitCode: number) => boolean

const exitCodes = (text: string): RetryOn => {
  if (text === "any") return () => true
  const codes = new Set(text.split(",").map((code) => /^\s*\d{1,3}\s*$/.test(code) ? Number(code) : NaN))
  if ([...codes].every((code) => code >= 1 && code <= 255)) return (code) => codes.has(code)
  throw new Error("any, or exit codes from 1 to 255 with commas between them")
}

const readStdin = Effect.promise(async () => {
  const chunks: Array<Buffer> = []
  for await (const chunk of process.stdin) chunks.push(chunk)
  return Buffer.concat(chunks)
})

/** The policy of the run: of what is retried, only what `--retry-on` names, and only as long as `--within` says. */
const policyOf = (policy: Policy.Policy<unknown>, within: number | undefined): Policy.Policy<unknown> => {
  const classified = Policy.whileInput(policy, Transience.isTransient, "transient")
  return within === undefined ? classified : Policy.within(classified, within)
}

export const run = Command.make(
  "run",
  {
    policy: Flag.String("policy").pipe(
      Flag.withDescription("The notation, @FILE, preset:NAME or env:NAME")
    ),
    retryOn: Flag.String("retry-on").pipe(
      Flag.withMetavar("codes"),
      Flag.withDescription("Exit codes worth another attempt, such as 1,75 (default: any but 0)"),
      Flag.mapTryCatch(exitCodes, (error) => error instanceof Error ? error.message : String(error)),
      Flag.withDefault((): boolean => true)
    ),
    attemptTimeout,
    killAfter: flag("kill-after", "SIGKILL so long after the SIGTERM of an attempt whose time is up (default: 5s)")
      .pipe(
        Flag.withDefault(5_000)
      ),
    within: flag("within", "No attempt starts later than this after the first one").pipe(Flag.withDefault(undefined)),
    stdin: Flag.Literals("stdin", ["first", "buffer"]).pipe(
      Flag.withDescription("Who reads standard input: the first attempt, or all, from memory"),
      Flag.withDefault("first")
    ),
    seed: Flag.Int("seed").pipe(Flag.withDescription("Draw the same waits every time"), Flag.withDefault(undefined)),
    dryRun: Flag.Boolean("dry-run").pipe(
      Flag.withDescription("Start nothing: show when each attempt would start if all failed at once"),
      Flag.withDefault(false)
    ),
    program: Argument.String("command").pipe(
      Argument.withDescription("The program and its arguments, after --; no shell reads them"),
      Argument.atLeast(1)
    )
  },
  Effect.fnUntraced(function* (options) {
    const policy = policyOf(yield* resolve(options.policy), options.within)
    if (!Spec.isDeclared(policy.spec)) {
      return yield* refuse("this policy has no end: add attempts(n), recurs(n) or within(duration), or say unlimited")
    }
    const [command = "", ...args] = options.program
    const settings = {
      command,
      args,
      policy,
      retryOn: options.retryOn,
      attemptTimeout: options.attemptTimeout,
      killAfter: options.killAfter,
      stdin: options.stdin === "buffer" && !options.dryRun ? yield* readStdin : undefined
    }
    const seeded = <A, E, R>(self: Effect.Effect<A, E, R>) =>
      options.seed === undefined ? self : Random.withSeed(self, options.seed)
    if (options.dryRun) {
      const { rehearse } = yield* Effect.promise(() => import("../run/rehearse.ts"))
      return yield* seeded(rehearse(settings))
    }
    const { supervise } = yield* Effect.promise(() => import("../run/supervise.ts"))
    const exitCode = yield* seeded(supervise(settings))
    if (exitCode !== 0) return yield* withCode(exitCode)
  })
).pipe(
  Command.withShortDescription("Run a program under a policy"),
  Command.withDescription(
    "Runs a program, and runs it again when it fails, as the policy says. The exit code is the program's last; 124 " +
      "when its time was up, 127 when there is no such program, 128 and the number of a signal that ended the run. " +
      "The program finds RETRY_ATTEMPT and RETRY_IDEMPOTENCY_KEY in its environment, and may write " +
      "\"retry-after: 3\" to descriptor 3 for a policy that honours hints."
  ),
  Command.withExamples([
    {
      command:
        "reprise run --policy 'exponential(1s) | cap(30s) | jitter | attempts(5)' -- curl -fsS https://example.com",
      description: "Until it works, five times at most"
    },
    {
      command: "reprise run --policy preset:standard --retry-on 75 --attempt-timeout 10s -- ./sync.sh",
      description: "Only after exit code 75, and no attempt longer than ten seconds"
    },
    {
      command: "reprise run --policy @retry.policy --seed 1 --dry-run -- ./sync.sh",
      description: "What would be run, and when"
    }
  ])
)
