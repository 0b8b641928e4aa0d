/**
 * What `effect/cli` asks of its platform. Its prompts are not used, and the terminal of `@effect/platform-node` opens
 * standard input as soon as it is built, which makes a pipe non-blocking for the program that inherits it.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Path from "effect/Path"
import * as ChildProcessSpawner from "effect/process/ChildProcessSpawner"
import * as Stdio from "effect/Stdio"
import * as Terminal from "effect/Terminal"
import * as CliConfig from "effect/cli/CliConfig"
import * as CliOutput from "effect/cli/CliOutput"
import type * as Command from "effect/cli/Command"
import * as GlobalFlag from "effect/cli/GlobalFlag"
import * as TerminalCapabilities from "effect/cli/TerminalCapabilities"
import { isatty } from "node:tty"
import * as Completions from "./completions.ts"
import { say, write } from "./Ending.ts"
import * as stdout from "./stdout.ts"

const unused = Effect.die(new Error("reprise asks nothing and starts nothing through effect/cli"))

const services: Layer.Layer<Command.Environment> = Layer.mergeAll(
  FileSystem.layerNoop({}),
  Path.layer,
  Layer.succeed(ChildProcessSpawner.ChildProcessSpawner, ChildProcessSpawner.make(() => unused)),
  Stdio.layerTest({}),
  Layer.succeed(
    Terminal.Terminal,
    Terminal.make({
      columns: Effect.succeed(80),
      rows: Effect.succeed(24),
      size: unused,
      readInput: unused,
      readLine: unused,
      display: () => unused
    })
  )
)

/** `NO_COLOR` (no-color.org) wins over `FORCE_COLOR`, and both over what the terminal can do. */
const canColor = (env: Readonly<Record<string, string | undefined>>): boolean => {
  if (env["NO_COLOR"] || env["TERM"] === "dumb") return false
  const forced = env["FORCE_COLOR"]
  return forced !== undefined && forced !== "" ? forced !== "0" && forced !== "false" : isatty(1)
}

const capabilities: Layer.Layer<never> = Layer.sync(TerminalCapabilities.TerminalCapabilities, () => ({
  canColor: canColor(process.env),
  canAnimate: false,
  canPrompt: false
}))

/** Only what was asked for goes to standard output. */
const presenter: Layer.Layer<never> = CliOutput.layerPresenter({
  present: (event) => {
    switch (event._tag) {
      case "Help":
        return event.reason === "Requested"
          ? CliOutput.defaultPresenter.present(event)
          : Effect.sync(() => write(CliOutput.defaultFormatter({ colors: false }).formatHelpDoc(event.helpDoc)))
      case "InvalidInvocation":
        return Effect.sync(() => {
          for (const { message } of event.errors) say(message)
          say(`see ${event.commandPath.join(" ")} --help`)
        })
      case "Version":
        return CliOutput.defaultPresenter.present(event)
    }
  }
})

const config: Layer.Layer<never> = CliConfig.layer({
  builtIns: [GlobalFlag.Help, GlobalFlag.Version, Completions.flag]
})

export const layer: Layer.Layer<Command.Environment> = Layer.mergeAll(
  services,
  capabilities,
  presenter,
  config,
  stdout.layer
)
