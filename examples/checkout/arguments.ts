/**
 * What the command line asks for.
 */
import { Data, Effect, Runtime, Stdio } from "effect"
import { parseArgs } from "node:util"

export const usage = `Usage: npm start -- [--naive] [--seed N | --at URL]
       npm start -- --provider [--seed N]

  --naive     retry everything at once and without a key, to see the harm
  --seed N    another script of faults, a whole number (default 1)
  --provider  run the provider alone, until Ctrl-C, and say where it is
  --at URL    charge the orders there, instead of at a provider of our own`

export class BadArguments extends Data.TaggedError("BadArguments")<{ readonly message: string }> {
  override readonly [Runtime.errorExitCode] = 2
  override readonly [Runtime.errorReported] = false
}

/** What may not stand together, and why. */
const contradictions = [
  ["provider", "naive", "it is the shop that is naive"],
  ["provider", "at", "there would be two providers"],
  ["at", "seed", "the faults are the provider's: give it the seed"]
] as const

export const readArguments = Effect.gen(function* () {
  const args = yield* (yield* Stdio.Stdio).args
  const { values } = yield* Effect.try({
    try: () =>
      parseArgs({
        args: [...args],
        options: {
          naive: { type: "boolean" },
          seed: { type: "string" },
          provider: { type: "boolean" },
          at: { type: "string" },
          help: { type: "boolean" }
        }
      }),
    catch: (error) => new BadArguments({ message: error instanceof Error ? error.message : String(error) })
  })
  for (const [one, other, reason] of contradictions) {
    if (values[one] === undefined || values[other] === undefined) continue
    return yield* new BadArguments({ message: `--${one} does not go with --${other}: ${reason}.` })
  }
  const { at, help = false, naive = false, provider = false, seed = "1" } = values
  if (!/^\d{1,9}$/.test(seed)) {
    return yield* new BadArguments({ message: `--seed wants a whole number of at most 9 digits, not "${seed}".` })
  }
  if (at !== undefined && !/^https?:$/.test(URL.parse(at)?.protocol ?? "")) {
    return yield* new BadArguments({
      message: `--at wants the URL of a provider, such as http://127.0.0.1:8080, not "${at}".`
    })
  }
  return { at: at?.replace(/\/+$/, ""), help, naive, provider, seed: Number(seed) }
})
