/**
 * `reprise presets`: the policies that have a name.
 */
import * as Policy from "@reprise/core/Policy"
import * as Effect from "effect/Effect"
import * as Command from "effect/cli/Command"
import { json, print, printJson } from "../output.ts"

export const presets = Command.make(
  "presets",
  { json },
  Effect.fnUntraced(function* (options) {
    const { all } = yield* Effect.promise(() => import("@reprise/core/Presets"))
    const rows = Object.entries(all).map(([name, { note, policy, source }]) => ({
      name,
      policy: Policy.format(policy),
      note,
      source
    }))
    if (options.json) return yield* printJson(rows)
    const longest = Math.max(...rows.map(({ name }) => name.length))
    yield* print((paint) =>
      rows.map(({ name, note, policy, source }) =>
        `${paint("bold", name.padEnd(longest))}  ${policy}\n${" ".repeat(longest)}  ${
          paint("dim", `${note}. Source: ${source}`)
        }`
      ).join("\n")
    )
  })
).pipe(
  Command.withShortDescription("List the policies that have a name"),
  Command.withDescription("Lists the policies that preset:NAME knows, with the source of each."),
  Command.withExamples([{ command: "reprise presets --json", description: "For a program" }])
)
