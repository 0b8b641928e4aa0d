/**
 * The commands of this process, by number. A retry that Redis granted is only told as granted when the outcome of all
 * commands before it is known as well; see the script.
 */
import type { Ledger } from "./ledger.ts"

export interface Command {
  readonly number: number
  /** The slice in which it was sent. */
  readonly slice: number
  outcome: "out" | "granted" | "over"
}

export interface Commands {
  readonly next: (slice: number) => Command
  /** The first whose outcome is not known. */
  readonly first: () => number
  readonly settle: (command: Command, outcome: "granted" | "over") => void
}

export const make = (ledger: Ledger): Commands => {
  const open: Array<Command> = []
  let number = 0
  return {
    next: (slice) => {
      const command: Command = { number: ++number, slice, outcome: "out" }
      open.push(command)
      return command
    },
    first: () => open[0]?.number ?? number + 1,
    settle: (command, outcome) => {
      command.outcome = outcome
      while (open[0] !== undefined && open[0].outcome !== "out") {
        const { outcome, slice } = open.shift()!
        if (outcome === "granted") ledger.granted(slice)
      }
    }
  }
}
