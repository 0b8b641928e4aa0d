/**
 * `reprise compare`: policies side by side.
 */
import * as Effect from "effect/Effect"
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import { attemptTimeout } from "../flags.ts"
import { json, type Paint, print, printJson } from "../output.ts"
import { nameOf, refuseNaming, resolve } from "../policyArgument.ts"

const painted = (paint: Paint, table: string): string => {
  const [head = "", ...rows] = table.split("\n")
  return [paint("bold", head), ...rows].join("\n")
}

export const compare = Command.make(
  "compare",
  {
    policies: Argument.String("policy").pipe(
      Argument.withDescription("Two policies or more: the notation, @FILE, preset:NAME or env:NAME"),
      Argument.atLeast(2)
    ),
    attemptTimeout,
    json
  },
  Effect.fnUntraced(function* (options) {
    const entries = yield* Effect.forEach(
      new Set(options.policies),
      (text) => Effect.map(resolve(text), (policy) => [text, policy] as const)
    )
    const Plan = yield* Effect.promise(() => import("@reprise/core/Plan"))
    const plans = Object.fromEntries(
      yield* Effect.forEach(
        entries,
        ([text, policy]) =>
          Effect.fromResult(Plan.of(policy, { attemptTimeout: options.attemptTimeout })).pipe(
            Effect.mapBoth({
              onFailure: (error) => refuseNaming(text, policy, error),
              onSuccess: (plan) => [nameOf(text, policy), plan] as const
            })
          )
      )
    )
    yield* options.json
      ? printJson(Object.values(plans).map(Plan.toJson))
      : print((paint) => painted(paint, Plan.table(plans)))
  })
).pipe(
  Command.withShortDescription("Show policies side by side"),
  Command.withDescription("Shows policies side by side: attempts, waits, worst case and load."),
  Command.withExamples([
    {
      command: "reprise compare preset:standard 'constant(200ms) | jitter | attempts(3)' --attempt-timeout 1s",
      description: "Two policies"
    }
  ])
)
