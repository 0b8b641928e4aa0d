/**
 * What the command line asks for.
 */
import { Data, Effect, Runtime, Stdio } from "effect"
import { parseArgs } from "node:util"

export const usage = `Usage: npm start -- [--naive] [--seed N | --at URL]
       npm start -- --kill [--seed N]
       npm start -- --provider [--seed N] [--port N] [--ledger FILE]

  --naive        retry everything at once and without a key, to see the harm
  --kill         kill the provider in the middle (SIGKILL), and start it again
  --seed N       another script of faults, a whole number (default 1)
  --provider     run the provider alone, until Ctrl-C, and say where it is
  --port N       its port (default a free one)
  --ledger FILE  its book, which the next provider goes on with (default in memory)
  --at URL       charge the orders there, instead of at a provider of our own`

export class BadArguments extends Data.TaggedError("BadArguments")<{ readonly message: string }> {
  override readonly [Runtime.errorExitCode] = 2
  override readonly [Runtime.errorReported] = false
}

/** What may not stand together, and why. */
const contradictions = [
  ["provider", "naive", "it is the shop that is naive"],
  ["provider", "at", "there would be two providers"],
  ["at", "seed", "the faults are the provider's: give it the seed"],
  ["kill", "naive", "without keys there is nothing to settle"],
  ["kill", "at", "it kills a provider of its own"],
  ["kill", "provider", "it starts a provider itself"]
] as const

/** What says nothing by itself. */
const ofProvider = ["port", "ledger"] as const

const whole = Effect.fnUntraced(function* (name: string, text: string) {
  if (/^\d{1,9}$/.test(text)) return Number(text)
  return yield* new BadArguments({ message: `--${name} wants a whole number of at most 9 digits, not "${text}".` })
})

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
          kill: { type: "boolean" },
          port: { type: "string" },
          ledger: { type: "string" },
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
  const { at, help = false, kill = false, ledger = ":memory:", naive = false, provider = false } = values
  for (const name of ofProvider) {
    if (values[name] === undefined || provider) continue
    return yield* new BadArguments({ message: `--${name} is the provider's: it goes with --provider only.` })
  }
  const seed = yield* whole("seed", values.seed ?? "1")
  const port = yield* whole("port", values.port ?? "0")
  if (port > 65_535) return yield* new BadArguments({ message: `--port wants at most 65535, not "${port}".` })
  if (at !== undefined && !/^https?:$/.test(URL.parse(at)?.protocol ?? "")) {
    return yield* new BadArguments({
      message: `--at wants the URL of a provider, such as http://127.0.0.1:8080, not "${at}".`
    })
  }
  return { at: at?.replace(/\/+$/, ""), help, kill, ledger, naive, port, provider, seed }
})
