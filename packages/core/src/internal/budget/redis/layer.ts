import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redis from "effect/persistence/Redis"
import * as Random from "effect/Random"
import { log } from "../../observe/log.ts"
import { redisFallback } from "../../observe/metricNames.ts"
import * as names from "../../observe/names.ts"
import { series } from "../../observe/series.ts"
import * as redisError from "../../redisError.ts"
import * as time from "../../time.ts"
import * as resolve from "../resolve.ts"
import * as ledgerOf from "./ledger.ts"
import * as linkOf from "./link.ts"
import * as meterOf from "./meter.ts"
import type { Settings } from "./options.ts"
import * as script from "./script.ts"

/**
 * Who this process is. Chance alone may be a seed's, the same in every process; none has both its times in common with
 * another.
 */
const identity = Effect.gen(function* () {
  const clock = yield* Clock.Clock
  const numbers = [yield* Random.nextInt, yield* Random.nextInt, clock.currentTimeMillisUnsafe()]
  return [...numbers, clock.monotonicTimeNanosUnsafe()].map((number) => number.toString(36)).join(".")
})

export const make = (settings: Settings): Layer.Layer<never, never, Redis.Redis> =>
  Layer.effect(
    resolve.CurrentBudget,
    Effect.gen(function* () {
      const { name, whileAway, window } = settings
      const redis = yield* Redis.Redis
      const context = yield* Effect.context<never>()
      const clock = yield* Clock.Clock
      const id = yield* identity
      // Slices of other lengths would not fit together.
      const key = `reprise:budget:{${name}:${window}}`
      const fallbacks = series(redisFallback(name), context)
      const ledger = ledgerOf.make(window, time.now(clock))
      const does = whileAway === "share" ? "lives on its share" : "makes no retries"
      const evaluate = redis.eval(script.make())
      const link = linkOf.make(
        {
          // Some clients can be told to give numbers as something else.
          run: (parameters) => Effect.map(evaluate(parameters), script.numbers),
          keys: [`${key}:fleet`, `${key}:process:${id}`, `${key}:live`],
          id,
          context,
          clock,
          lost: (exit) =>
            log(
              context,
              "Warn",
              `Redis does not answer for the retry budget ${name} (${
                exit === undefined ? "no answer in time" : redisError.nameOf(exit)
              }); this process ${does} until it does`,
              { [names.budget]: name }
            ),
          found: () =>
            log(context, "Info", `Redis answers again for the retry budget ${name}`, { [names.budget]: name })
        },
        ledger,
        settings
      )
      const meter = meterOf.make(link, ledger, settings, () => fallbacks.update(1))
      yield* link.flush
      yield* Effect.forkScoped(link.loop)
      yield* Effect.addFinalizer(() => link.leave)
      return resolve.make({ at: () => meter, idle: meter.idle })
    })
  )
