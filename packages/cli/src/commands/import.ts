/**
 * `reprise import`: policies that a team already has, in the notation.
 */
import * as Effect from "effect/Effect"
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import { answeredNo, refuse, say } from "../Ending.ts"
import type { Imported, Importer } from "../importers/Imported.ts"
import { wholeFile } from "../importers/tree.ts"
import { json, type Paint, print, printJson } from "../output.ts"
import { readText } from "../readText.ts"
import { inLine } from "../visible.ts"

const kinds = ["grpc", "envoy", "temporal", "aws"] as const

const importers: Readonly<Record<typeof kinds[number], () => Promise<Importer>>> = {
  grpc: async () => (await import("../importers/grpc.ts")).grpc,
  envoy: async () => (await import("../importers/envoy.ts")).envoy,
  temporal: async () => (await import("../importers/temporal.ts")).temporal,
  aws: async () => (await import("../importers/aws.ts")).aws
}

const shown = (paint: Paint, { at, policy, unmapped }: Imported): string =>
  [
    `${paint("dim", `${inLine(at)}:`)} ${paint("bold", inLine(policy))}`,
    ...unmapped.map(({ field, reason, value }) => {
      const shown = value === undefined ? "" : ` = ${inLine(JSON.stringify(value))}`
      return `  ${paint("yellow", "not in it")}: ${inLine(field)}${shown} (${reason})`
    })
  ].join("\n")

export const importPolicy = Command.make(
  "import",
  {
    from: Flag.Literals("from", kinds).pipe(
      Flag.withDescription(
        "gRPC service config (JSON), Envoy retry_policy (JSON or YAML), Temporal RetryPolicy (JSON), AWS shared config"
      )
    ),
    file: Argument.Path("file", { pathType: "file" }).pipe(Argument.withDescription("The file to read")),
    json
  },
  Effect.fnUntraced(function* (options) {
    const text = yield* readText(options.file)
    const importer = yield* Effect.promise(importers[options.from])
    const found = yield* Effect.mapError(
      Effect.fromResult(importer(text)),
      (problem) => refuse(`${options.file}: ${problem}`)
    )
    const imported = found.filter((_) => "policy" in _)
    const unread = found.filter((_) => "problem" in _)
    for (const { at, problem } of unread) {
      say(inLine(at === wholeFile ? `${options.file}: ${problem}` : `${options.file}: ${at}: ${problem}`))
    }
    if (imported.length === 0) return yield* refuse("")
    yield* options.json
      ? printJson(imported)
      : print((paint) => imported.map((_) => shown(paint, _)).join("\n"))
    if (unread.length > 0) return yield* answeredNo
  })
).pipe(
  Command.withShortDescription("Read the retry policies of another system"),
  Command.withDescription(
    "Writes the retry policies of another system in the notation, and lists what has no equivalent there."
  ),
  Command.withExamples([
    { command: "reprise import --from envoy route.yaml", description: "From an Envoy route" },
    { command: "reprise import --from aws ~/.aws/config", description: "From an AWS shared config" }
  ])
)
