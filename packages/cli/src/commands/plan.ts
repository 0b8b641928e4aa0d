/**
 * `reprise plan`: what a policy will do, before it runs.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import { refuse, write } from "../Ending.ts"
import { attemptTimeout } from "../flags.ts"
import { json, type Paint, print, printJson, width } from "../output.ts"
import { argument, refuseNaming, resolve } from "../policyArgument.ts"

const painted = (paint: Paint, chart: string): string => {
  const [policy = "", ...rest] = chart.split("\n")
  return [
    paint("bold", policy),
    ...rest.map((line) => line.replaceAll(/█+/g, (_) => paint("cyan", _)).replaceAll(/[░●]+/g, (_) => paint("dim", _)))
  ].join("\n")
}

export const plan = Command.make(
  "plan",
  {
    policy: argument,
    attemptTimeout,
    json,
    svg: Flag.Path("svg", { pathType: "file" }).pipe(
      Flag.withMetavar("file"),
      Flag.withDescription("Also write the charts as SVG to this file"),
      Flag.optional
    )
  },
  Effect.fnUntraced(function* (options) {
    const policy = yield* resolve(options.policy)
    const Plan = yield* Effect.promise(() => import("@reprise/core/Plan"))
    const plan = yield* Effect.fromResult(Plan.of(policy, { attemptTimeout: options.attemptTimeout })).pipe(
      Effect.mapError((error) => refuseNaming(options.policy, policy, error))
    )
    if (Option.isSome(options.svg)) {
      const path = options.svg.value
      const { writeFile } = yield* Effect.promise(() => import("node:fs/promises"))
      yield* Effect.tryPromise({
        try: () => writeFile(path, Plan.toSvg(plan)),
        catch: (error) => refuse(`cannot write ${path}: ${error instanceof Error ? error.message : String(error)}`)
      })
    }
    if (options.json) return yield* printJson(Plan.toJson(plan))
    yield* print((paint) => painted(paint, Plan.toAscii(plan, { width: width() })))
    if (Option.isSome(options.svg)) write(`Charts written to ${options.svg.value}`)
  })
).pipe(
  Command.withShortDescription("Show what a policy will do"),
  Command.withDescription(
    "Shows what a policy will do: the bounds of every wait, when each retry starts, and what it comes to."
  ),
  Command.withExamples([
    { command: "reprise plan 'exponential(500ms) | jitter | attempts(5)'", description: "A policy, inline" },
    {
      command: "reprise plan @retry.policy --attempt-timeout 2s --svg plan.svg",
      description: "A policy in a file, as a chart"
    },
    { command: "reprise plan preset:standard --json", description: "For a program; durations are milliseconds" }
  ])
)
