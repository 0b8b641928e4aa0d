// apache/curator#346, google/nomulus#1974, failsafe-lib/failsafe#379: retry loops around retry loops multiplied.
// Rule R8: exhaustion inside is terminal outside; the total is known and reported.
import { describe, expect, it } from "@effect/vitest"
import { Policy, Retry, RetryExhausted } from "@reprise/core"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { recordWith } from "../core/Recording.ts"

class Busy extends Data.TaggedError("Busy")<{}> {}
class Failed extends Data.TaggedError("Failed")<{ readonly cause: unknown }> {}

const inner = Policy.immediate(2)
const outer = Policy.immediate(4)

type Layer = (self: Effect.Effect<never, unknown>) => Effect.Effect<unknown, unknown>

const layers: ReadonlyArray<readonly [name: string, layer: Layer]> = [
  ["Retry.run", Retry.run(outer)],
  ["Retry.run of a larger policy", Retry.run(Policy.concat(Policy.max([outer, outer]), Policy.min([outer, outer])))],
  ["Retry.runKeyed", (self) => Retry.runKeyed(outer, () => self)],
  ["Retry.make", Retry.make({ name: "outer", policy: outer, idempotency: "idempotent" })],
  ["Retry.run that is asked", Retry.run(outer, { when: () => Effect.succeed(true) })],
  ["Effect.retry", Effect.retry(outer)],
  ["Effect.retry with options", Effect.retry({ schedule: outer })],
  ["Effect.retryOrElse", Effect.retryOrElse(outer, (error) => Effect.fail(error))],
  ["Stream.retry", (self) => Stream.fromEffect(self).pipe(Stream.retry(outer), Stream.runDrain)]
]

const maps: ReadonlyArray<readonly [how: string, map: (error: unknown) => unknown]> = [
  ["as it is", (error) => error],
  ["mapped", (cause) => new Failed({ cause })],
  ["mapped twice", (cause) => new Failed({ cause: new Error("again", { cause }) })]
]

describe("F6: layers do not multiply", () => {
  it.each(layers.flatMap(([name, layer]) => maps.map(([how, map]) => [name, how, layer, map] as const)))(
    "%s around an exhausted run, its error %s",
    (_, __, layer, map) => {
      const { attempts } = recordWith(
        (): Effect.Effect<never, unknown> => Effect.fail(new Busy()),
        (operation) => operation.pipe(Retry.run(inner), Effect.mapError(map), layer)
      )
      expect(attempts).toBe(3)
    }
  )

  it("four layers, mapped between all of them, are one", () => {
    const { attempts } = recordWith(
      (): Effect.Effect<never, unknown> => Effect.fail(new Busy()),
      (operation) => {
        let layered = operation
        for (let layer = 0; layer < 4; layer++) {
          layered = layered.pipe(Retry.run(inner), Effect.mapError((cause) => new Failed({ cause })))
        }
        return layered
      }
    )
    expect(attempts).toBe(3)
  })

  it("the total is reported, also when it is wrapped", () => {
    const { exit } = recordWith(
      () => Effect.fail(new Busy()),
      (operation) =>
        operation.pipe(Retry.run(inner), Effect.mapError((cause) => new Failed({ cause })), Retry.run(outer))
    )
    const error = Option.getOrThrow(Exit.findErrorOption(exit)) as RetryExhausted.RetryExhausted<Failed>
    expect(error.reason._tag).toBe("Layer")
    const inside = error.lastError.cause
    expect(RetryExhausted.is(inside) && inside.attempts).toBe(3)
  })

  it("success inside a later outer attempt is not taken for exhaustion", () => {
    const { attempts } = recordWith(
      (n) => n < 3 ? Effect.fail(new Busy()) : Effect.succeed(n),
      (operation) => operation.pipe(Retry.run(Policy.none), Retry.run(outer))
    )
    expect(attempts).toBe(3)
  })
})
