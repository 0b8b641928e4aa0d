/**
 * What goes to standard output.
 */
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Flag from "effect/cli/Flag"
import { TerminalCapabilities } from "effect/cli/TerminalCapabilities"

/** `--json`, which every reading command has. */
export const json: Flag.Flag<boolean> = Flag.Boolean("json").pipe(
  Flag.withDescription("Print JSON, for programs"),
  Flag.withDefault(false)
)

type Colour = "bold" | "dim" | "red" | "green" | "yellow" | "cyan"

const codes: Readonly<Record<Colour, readonly [on: number, off: number]>> = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39]
}

/** Colours a text; where nobody sees colours, leaves it. */
export type Paint = (colour: Colour, text: string) => string

const paint: Paint = (colour, text) => {
  const [on, off] = codes[colour]
  return `\u001b[${on}m${text}\u001b[${off}m`
}

/** Prints what a function makes of the colours at hand. */
export const print = (make: (paint: Paint) => string): Effect.Effect<void> =>
  Effect.flatMap(
    TerminalCapabilities,
    ({ canColor }) => Console.log(make(canColor ? paint : (_, text) => text))
  )

export const printJson = (value: unknown): Effect.Effect<void> => Console.log(JSON.stringify(value, undefined, 2))

/** Columns of the terminal, or of a page. */
export const width = (): number => Math.min(process.stdout.columns ?? 80, 120)
