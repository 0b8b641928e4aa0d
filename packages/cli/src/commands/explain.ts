/**
 * `reprise explain`: a policy in words.
 */
import * as Policy from "@reprise/core/Policy"
import * as Effect from "effect/Effect"
import * as Command from "effect/cli/Command"
import { json, print, printJson } from "../output.ts"
import { argument, resolve } from "../policyArgument.ts"

export const explain = Command.make(
  "explain",
  { policy: argument, json },
  Effect.fnUntraced(function* (options) {
    const policy = yield* resolve(options.policy)
    const { find } = yield* Effect.promise(() => import("../findings.ts"))
    const notation = Policy.format(policy)
    const description = Policy.describe(policy)
    const findings = find(policy)
    if (options.json) return yield* printJson({ policy: notation, description, findings })
    yield* print((paint) =>
      [
        paint("bold", notation),
        description,
        ...findings.map(({ finding, reason }) => `${paint("yellow", finding)}: ${reason}`)
      ].join("\n")
    )
  })
).pipe(
  Command.withShortDescription("Say a policy in one English sentence"),
  Command.withDescription("Says a policy in one English sentence, and what is worth a second look in it."),
  Command.withExamples([
    { command: "reprise explain 'exponential(500ms) | cap(30s) | jitter | attempts(5)'", description: "In words" }
  ])
)
