/**
 * A run in which no program is started, every attempt fails at once, and no wait takes time.
 */
import * as Retry from "@reprise/core/Retry"
import * as Clock from "effect/Clock"
import * as Console from "effect/Console"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { spell } from "../durations.ts"
import { inLine } from "../visible.ts"
import { ProgramFailed } from "./ProgramFailed.ts"
import type { Options } from "./supervise.ts"
import * as virtualClock from "./virtualClock.ts"

/** The most attempts that are shown. */
const most = 20

const quoted = (word: string): string => /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`

export const rehearse = (options: Options): Effect.Effect<void> => {
  const line = inLine([options.command, ...options.args].map(quoted).join(" "))
  const once = Effect.gen(function* () {
    const { elapsed, number } = yield* Retry.Attempt
    if (number > most) return yield* Console.log(`and so on: the first ${most} attempts are shown`)
    yield* Console.log(`attempt ${number} at ${spell(Duration.toMillis(elapsed))}: ${line}`)
    return yield* new ProgramFailed({ exitCode: 1, how: "", transient: true, retryAfter: undefined })
  })
  return Effect.ignore(once.pipe(Retry.run(options.policy, { name: options.command }))).pipe(
    Effect.provideService(Clock.Clock, virtualClock.make())
  )
}
