/**
 * `reprise check`: whether a policy keeps a latency contract, and whether it is one to ship.
 */
import type * as Policy from "@reprise/core/Policy"
import * as Spec from "@reprise/core/Spec"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import { flag, spell } from "../durations.ts"
import { answeredNo } from "../Ending.ts"
import type { Finding, Kind } from "../findings.ts"
import { attemptTimeout } from "../flags.ts"
import { json, type Paint, print, printJson } from "../output.ts"
import { argument, refuseNaming, resolve } from "../policyArgument.ts"

/** What `--json` prints. Durations are milliseconds. */
interface Answer {
  readonly fits: boolean
  /** Null when the policy has no end. */
  readonly worstCase: number | null
  readonly within: number
  readonly breaksAtAttempt: number | null
  /** The largest values that would fit, each on its own; null where none does. */
  readonly suggestion: { readonly attempts: number | null; readonly cap: number | null } | null
  readonly findings: ReadonlyArray<Finding>
}

type Contract = { readonly policy: string; readonly within: number; readonly attemptTimeout: number | undefined }

const allow = (kind: Kind, what: string) =>
  Flag.Boolean(`allow-${kind}`).pipe(Flag.withDescription(`Do not answer no for ${what}`), Flag.withDefault(false))

/** The answer, and the sentence about what does not fit. */
const ask = Effect.fnUntraced(function* (
  policy: Policy.Any,
  contract: Contract,
  allowed: ReadonlySet<Kind>
) {
  const Plan = yield* Effect.promise(() => import("@reprise/core/Plan"))
  const { find } = yield* Effect.promise(() => import("../findings.ts"))
  const findings = find(policy).filter(({ finding }) => !allowed.has(finding))
  if (allowed.has("no-end") && !Spec.hasEnd(policy.spec)) {
    const answer: Answer = {
      fits: true,
      worstCase: null,
      within: contract.within,
      breaksAtAttempt: null,
      suggestion: null,
      findings
    }
    return { answer, sentence: "it has no end, as --allow-no-end allows, and so nothing is said of its time." }
  }
  const fits = Plan.fits(policy, contract)
  if (Result.isFailure(fits)) {
    const misfit = fits.failure
    if (misfit._tag !== "DoesNotFit") return yield* Effect.fail(refuseNaming(contract.policy, policy, misfit))
    const { attempts, cap } = misfit.suggestion
    const answer: Answer = {
      fits: false,
      worstCase: misfit.worstCase ?? null,
      within: contract.within,
      breaksAtAttempt: misfit.breaksAtAttempt ?? null,
      suggestion: attempts === undefined && cap === undefined
        ? null
        : { attempts: attempts ?? null, cap: cap ?? null },
      findings
    }
    return { answer, sentence: misfit.message }
  }
  // What fits says nothing of its worst case; what cannot fit does, counted in the same way.
  const tight = Plan.fits(policy, { ...contract, within: 1 })
  const worstCase = Result.isFailure(tight) && tight.failure._tag === "DoesNotFit" ? tight.failure.worstCase ?? null : 0
  const answer: Answer = {
    fits: true,
    worstCase,
    within: contract.within,
    breaksAtAttempt: null,
    suggestion: null,
    findings
  }
  const counted = contract.attemptTimeout === undefined
    ? " in waits alone (attempts take time too: see --attempt-timeout)"
    : ""
  return {
    answer,
    sentence: `At most ${spell(worstCase ?? 0)} of the ${spell(contract.within)} allowed${counted}.`
  }
})

const report = (paint: Paint, { fits, findings }: Answer, sentence: string): string =>
  [
    `${fits ? paint("green", "fits") : paint("red", "does not fit")}: ${sentence}`,
    ...findings.map(({ allow, finding, reason }) =>
      `${paint("yellow", finding)}: ${reason} ${paint("dim", `(${allow} if it is meant)`)}`
    )
  ].join("\n")

export const check = Command.make(
  "check",
  {
    policy: argument,
    within: flag("within", "The longest that a run may take in all"),
    attemptTimeout,
    json,
    noEnd: allow("no-end", "a policy without an end, and leave its time out"),
    noJitter: allow("no-jitter", "waits that are the same in every client"),
    noCap: allow("no-cap", "an exponential that passes an hour"),
    immediate: allow("immediate", "more than one retry without a wait")
  },
  Effect.fnUntraced(function* (options) {
    const policy = yield* resolve(options.policy)
    const allowed = new Set<Kind>()
    if (options.noEnd) allowed.add("no-end")
    if (options.noJitter) allowed.add("no-jitter")
    if (options.noCap) allowed.add("no-cap")
    if (options.immediate) allowed.add("immediate")
    const { answer, sentence } = yield* ask(policy, options, allowed)
    yield* options.json ? printJson(answer) : print((paint) => report(paint, answer, sentence))
    if (!answer.fits || answer.findings.length > 0) return yield* answeredNo
  })
).pipe(
  Command.withShortDescription("Check that a policy ends in time and has no known mistake"),
  Command.withDescription(
    "Checks that a policy ends in time, with every wait at its longest and every attempt at its timeout, and that " +
      "nothing in it is a known mistake. Exit code 0: yes. 1: no."
  ),
  Command.withExamples([
    { command: "reprise check @retry.policy --within 5s --attempt-timeout 1s", description: "In CI" },
    {
      command: "reprise check env:RETRY --within 1m --allow-no-jitter --json",
      description: "A single client, for a program"
    }
  ])
)
