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
type Exited<T extends Effect.Effect<Timeline.Timeline, never, Log>> = Effect.Success<T>["exit"]

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

it("`when` may read only what the policy retries, as in Retry.run", () => {
  const when = (error: Timeout) => Effect.succeed(error.after > 1)
  const run = Retry.run(script, policy, { when })
  const recording = Timeline.record(script, policy, { when, seed: 1 })
  expectTypeOf<Exited<typeof recording>>().toEqualTypeOf<
    Exit.Exit<Effect.Success<typeof run>, Effect.Error<typeof run>>
  >()
})

it("`onRetry` may read only what is announced, as in Retry.run", () => {
  const onRetry = (event: Retry.RetryEvent<Timeout | Cause.TimeoutError>) =>
    Effect.flatMap(Log, (log) => event.error._tag === "Timeout" ? log.write : Effect.void)
  const run = Retry.run(script, policy, { onRetry, attemptTimeout: 1 })
  const recording = Timeline.record(script, policy, { onRetry, attemptTimeout: 1 })
  expectTypeOf<Effect.Services<typeof recording>>().toEqualTypeOf<Effect.Services<typeof run>>()
  expectTypeOf<Exited<typeof recording>>().toEqualTypeOf<
    Exit.Exit<Effect.Success<typeof run>, Effect.Error<typeof run>>
  >()
})

it("`when` must read all that the policy retries", () => {
  const when = (error: { readonly _tag: "Declined" }) => Effect.succeed(error._tag === "Declined")
  // @ts-expect-error a Timeout is no Declined
  expectTypeOf(() => Timeline.record(script, policy, { when })).toBeFunction()
})

it("a misspelt option is refused", () => {
  // @ts-expect-error it is `seed`
  expectTypeOf(() => Timeline.record(script, policy, { sed: 1 })).toBeFunction()
  const stored = { attemptTimeout: 1, interuptAfter: 1 } as const
  // @ts-expect-error it is `interruptAfter`
  expectTypeOf(() => Timeline.record(script, policy, stored)).toBeFunction()
})

it("a misspelt condition of any other run is refused", () => {
  // @ts-expect-error it is `seed`
  expectTypeOf(() => Timeline.recordWith(script, Effect.retry({ times: 1 }), { sed: 1 })).toBeFunction()
  const stored = { seed: 1, attemptTimeout: 1 } as const
  // @ts-expect-error an attempt timeout is for `run` to give
  expectTypeOf(() => Timeline.recordWith(script, Effect.retry({ times: 1 }), stored)).toBeFunction()
})

it("conditions and options that are stored keep their types", () => {
  const conditions: Timeline.Conditions = { random: [0.5] }
  const options: Timeline.Options = { ...conditions, name: "charge" }
  expectTypeOf(() => Timeline.record(script, policy, conditions)).toBeFunction()
  expectTypeOf(() => Timeline.record(script, policy, options)).toBeFunction()
  const recording = Timeline.recordWith(script, Retry.run(policy), conditions)
  expectTypeOf<Exited<typeof recording>>().toEqualTypeOf<Exit.Exit<string | number, Declined | Exhausted<Timeout>>>()
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
