// @effect-diagnostics missingEffectError:off - one test is about an effect that is refused
import { Policy, Retry, type RetryExhausted } from "@reprise/core"
import { Script, Timeline } from "@reprise/testing"
import { type Cause, Context, Data, Effect, type Exit } from "effect"
import { expectTypeOf, it } from "vitest"

class Timeout extends Data.TaggedError("Timeout")<{ readonly after: number }> {}
class Declined extends Data.TaggedError("Declined")<{ readonly code: string }> {}
class Log extends Context.Service<Log, { readonly write: Effect.Effect<void> }>()("Log") {}

const script = Script.make([
  Script.fail(new Timeout({ after: 1 })),
  Script.after("3 seconds", Script.fail(new Declined({ code: "51" }))),
  Script.hang,
  Script.die("boom"),
  Script.succeed(1),
  Script.succeed("ok")
])
const policy = Policy.standard.pipe(Policy.whileTag("Timeout"))

type Exhausted<E> = RetryExhausted.RetryExhausted<E>
type Exited<T extends Effect.Effect<Timeline.Timeline>> = Effect.Success<T>["exit"]

it("a script succeeds and fails with what its outcomes do", () => {
  expectTypeOf(script).toEqualTypeOf<Effect.Effect<string | number, Timeout | Declined>>()
})

it("a script needs what its outcomes need", () => {
  const needing = Script.make([Script.hang, Effect.flatMap(Log, (log) => log.write)])
  expectTypeOf(needing).toEqualTypeOf<Effect.Effect<void, never, Log>>()
})

it("a timeline ends as Retry.run does", () => {
  const recording = Timeline.record(script, policy)
  const run = Retry.run(script, policy)
  expectTypeOf<Exited<typeof recording>>().toEqualTypeOf<Exit.Exit<string | number, Declined | Exhausted<Timeout>>>()
  expectTypeOf<Exited<typeof recording>>().toEqualTypeOf<
    Exit.Exit<Effect.Success<typeof run>, Effect.Error<typeof run>>
  >()
})

it("conditions change no type", () => {
  const recording = Timeline.record(script, policy, { seed: 1, interruptAfter: "1 minute" })
  expectTypeOf<Exited<typeof recording>>().toEqualTypeOf<Exit.Exit<string | number, Declined | Exhausted<Timeout>>>()
})

it("an attempt timeout adds its error", () => {
  const recording = Timeline.record(script, policy, { attemptTimeout: "1 second" })
  expectTypeOf<Exited<typeof recording>>().toEqualTypeOf<
    Exit.Exit<string | number, Declined | Exhausted<Timeout | Cause.TimeoutError>>
  >()
})

it("attempts end as the operation does", () => {
  const recording = Timeline.record(script, policy)
  expectTypeOf<Effect.Success<typeof recording>["attempts"][number]["exit"]>().toEqualTypeOf<
    Exit.Exit<string | number, Timeout | Declined>
  >()
})

it("a recording needs what the operation and the options need, and never fails", () => {
  const recording = Timeline.record(script, policy, { onRetry: () => Effect.flatMap(Log, (log) => log.write) })
  expectTypeOf<Effect.Services<typeof recording>>().toEqualTypeOf<Log>()
  expectTypeOf<Effect.Error<typeof recording>>().toEqualTypeOf<never>()
})

it("`when` reads the errors of the operation", () => {
  const recording = Timeline.record(script, policy, { when: (error) => Effect.succeed(error._tag === "Timeout") })
  expectTypeOf<Exited<typeof recording>>().toEqualTypeOf<
    Exit.Exit<string | number, Timeout | Declined | Exhausted<Timeout>>
  >()
})

it("a policy that reads other errors is refused", () => {
  const numbers = Policy.standard.pipe(Policy.whileInput((error: number) => error > 0, "positive"))
  // @ts-expect-error a Timeout is no number
  expectTypeOf(() => Timeline.record(script, numbers)).toBeFunction()
})

it("a timeline of anything can be drawn", () => {
  expectTypeOf(Timeline.render).parameter(0).toEqualTypeOf<Timeline.Timeline>()
  expectTypeOf<Timeline.Timeline<string, Timeout, number, Declined>>().toExtend<Timeline.Timeline>()
})
