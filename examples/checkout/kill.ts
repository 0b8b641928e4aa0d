/**
 * A provider that is a process of its own, is killed in the middle of its work, and is started again on the same book.
 */
import { Data, Deferred, Effect, FileSystem, Path, Runtime, Schedule, Stream } from "effect"
import { ChildProcess } from "effect/process"
import { fileURLToPath } from "node:url"
import { ProviderUrl } from "./client.ts"
import { statement } from "./ledger.ts"

const main = fileURLToPath(new URL("main.ts", import.meta.url))

/** When it is killed: far from the first order, and from the last. */
const charges = 20

/** A provider that did not start; what was wrong it has said itself. */
class NoProvider extends Data.TaggedError("NoProvider")<{ readonly message: string }> {
  override readonly [Runtime.errorReported] = false
}

/** Starts a provider, and waits until it says where it is. It lives no longer than the scope. */
const start = Effect.fn("start")(function* (seed: number, ledger: string, port: string) {
  const flags = ["--provider", "--seed", `${seed}`, "--ledger", ledger, "--port", port]
  const provider = yield* ChildProcess.make(process.execPath, [main, ...flags], { stderr: "inherit" })
  const url = yield* Deferred.make<string>()
  yield* provider.stdout.pipe(
    Stream.decodeText,
    Stream.splitLines,
    Stream.runForEach((line) => {
      const [found] = /http:[^\s,]+/.exec(line) ?? []
      return found === undefined ? Effect.void : Deferred.succeed(url, found)
    }),
    Effect.forkScoped
  )
  const ended = Effect.flatMap(
    provider.exitCode,
    (code) => new NoProvider({ message: `The provider has ended (${code}) before it said where it is.` })
  )
  return { provider, url: yield* Effect.raceFirst(Deferred.await(url), ended) }
})

/** Runs a shop whose provider is killed, and tells after how many charges. */
export const during = Effect.fn("during")(function* <A, E, R>(seed: number, shop: Effect.Effect<A, E, R>) {
  const folder = yield* (yield* FileSystem.FileSystem).makeTempDirectoryScoped()
  const ledger = (yield* Path.Path).join(folder, "ledger.db")
  const { provider, url } = yield* start(seed, ledger, "0")

  const killing = statement.pipe(
    Effect.repeat({ until: ({ charged }) => charged >= charges, schedule: Schedule.spaced("2 millis") }),
    Effect.tap(provider.kill({ killSignal: "SIGKILL" })),
    Effect.tap(start(seed, ledger, new URL(url).port)),
    Effect.map(({ charged }) => charged)
  )
  // Where no other provider starts, there is no use in a shop.
  const watched = Effect.all([killing, shop], { concurrency: "unbounded" })
  const [killedAt] = yield* Effect.provideService(watched, ProviderUrl, url)
  return { killedAt, book: yield* Effect.provideService(statement, ProviderUrl, url) }
})
