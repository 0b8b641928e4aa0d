import { describe, expect, it } from "@effect/vitest"
import { Policy, Retry, RetryExhausted } from "@reprise/core"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import { exhaustion } from "./exits.ts"
import { recordWith } from "./Recording.ts"

class Busy extends Data.TaggedError("Busy")<{ readonly attempt?: number }> {}
class Log extends Context.Service<Log, { readonly add: (line: string) => void }>()("Log") {}

const second = Policy.constant("1 second")

describe("onRetry", () => {
  it("is told of every retry that is granted, and of nothing else", () => {
    const events: Array<Retry.RetryEvent> = []
    recordWith(
      (n, clock) => {
        clock.now += 100
        return Effect.fail(new Busy({ attempt: n }))
      },
      Retry.run(Policy.attempts(second, 3), {
        name: "charge",
        onRetry: (event) => Effect.sync(() => void events.push(event))
      })
    )
    expect(events).toEqual([
      {
        name: "charge",
        attempt: 1,
        error: new Busy({ attempt: 1 }),
        elapsed: Duration.millis(100),
        delay: Duration.seconds(1)
      },
      {
        name: "charge",
        attempt: 2,
        error: new Busy({ attempt: 2 }),
        elapsed: Duration.millis(1200),
        delay: Duration.seconds(1)
      }
    ])
  })

  it("a defect in it ends the run", () => {
    const { attempts, exit } = recordWith(
      () => Effect.fail(new Busy({})),
      Retry.run(Policy.attempts(second, 3), { onRetry: () => Effect.die("told too much") })
    )
    expect(attempts).toBe(1)
    expect(exit).toEqual(Exit.die("told too much"))
  })

  it("so does one that throws before it is an effect", () => {
    const { attempts, exit } = recordWith(
      () => Effect.fail(new Busy({})),
      Retry.run(Policy.attempts(second, 3), {
        onRetry: (): Effect.Effect<void> => {
          throw new Error("told too much")
        }
      })
    )
    expect(attempts).toBe(1)
    expect(Exit.hasDies(exit)).toBe(true)
  })

  it("has the services of the effect around it", () => {
    const lines: Array<string> = []
    recordWith(
      () => Effect.fail(new Busy({})),
      (operation) =>
        operation.pipe(
          Retry.run(Policy.attempts(second, 2), {
            onRetry: ({ attempt }) => Effect.map(Log, ({ add }) => add(`attempt ${attempt} failed`))
          }),
          Effect.provideService(Log, { add: (line) => void lines.push(line) })
        )
    )
    expect(lines).toEqual(["attempt 1 failed"])
  })
})

describe("when", () => {
  it("is asked anew at every failure, with its error", () => {
    const asked: Array<unknown> = []
    const { attempts } = recordWith(
      (n) => Effect.fail(new Busy({ attempt: n })),
      Retry.run(Policy.attempts(second, 9), {
        when: (error) => Effect.sync(() => asked.push((error as Busy).attempt) < 3)
      })
    )
    expect(asked).toEqual([1, 2, 3])
    expect(attempts).toBe(3)
  })

  it("its no leaves the error of that attempt, as a terminal one", () => {
    const { exit, waits } = recordWith(
      (n) => Effect.fail(new Busy({ attempt: n })),
      Retry.run(Policy.attempts(second, 9), { when: (error) => Effect.succeed((error as Busy).attempt !== 2) })
    )
    expect(exit).toEqual(Exit.fail(new Busy({ attempt: 2 })))
    expect(waits).toEqual([1000])
  })

  it("its no is no retry: onRetry is not told", () => {
    let told = 0
    recordWith(
      () => Effect.fail(new Busy({})),
      Retry.run(Policy.attempts(second, 9), {
        when: () => Effect.succeed(false),
        onRetry: () => Effect.sync(() => void told++)
      })
    )
    expect(told).toBe(0)
  })

  it("one that throws is a defect", () => {
    const { attempts, exit } = recordWith(
      () => Effect.fail(new Busy({})),
      Retry.run(Policy.attempts(second, 9), {
        when: (): Effect.Effect<boolean> => {
          throw new Error("no answer")
        }
      })
    )
    expect(attempts).toBe(1)
    expect(Exit.hasDies(exit)).toBe(true)
  })
})

describe("name", () => {
  it("is in the error", () => {
    const { exit } = recordWith(() => Effect.fail(new Busy({})), Retry.run(Policy.immediate(1), { name: "charge" }))
    expect(
      Exit.isFailure(exit) &&
        exit.cause.reasons.map((_) => _._tag === "Fail" && RetryExhausted.is(_.error) && _.error.operation)
    )
      .toEqual(["charge"])
  })
})

describe("what would be ignored in silence is refused", () => {
  const operation = Effect.fail(new Busy({}))
  const policy = Policy.immediate(1)
  const config = { name: "charge", policy, idempotency: "idempotent" } as const

  it.each<[argument: string, call: () => unknown]>([
    // @ts-expect-error -- misspelt
    ["run.attemptTimeOut", () => Retry.run(policy, { name: "charge", attemptTimeOut: "1 second" })],
    // @ts-expect-error -- another library's name
    ["run.timeout", () => Retry.run(operation, policy, { name: "charge", timeout: "1 second" })],
    // @ts-expect-error -- it is called key
    ["runKeyed.idempotencyKey", () => Retry.runKeyed(policy, () => operation, { name: "a", idempotencyKey: "b" })],
    // @ts-expect-error -- misspelt
    ["make.attempttimeout", () => Retry.make({ ...config, attempttimeout: "1 second" })],
    // @ts-expect-error -- no text
    ["run.name", () => Retry.run(policy, { name: 5 })],
    // @ts-expect-error -- no function
    ["run.when", () => Retry.run(operation, policy, { when: true })],
    // @ts-expect-error -- nothing
    ["make.config", () => Retry.make()]
  ])("%s", (argument, call) => {
    expect(call).toThrow(expect.objectContaining({ _tag: "InvalidPolicy", argument }))
  })

  it.each(["when", "onRetry"] as const)("a `%s` that returns no effect is a defect that says so", (option) => {
    const { exit } = recordWith(
      () => Effect.fail(new Busy({})),
      (self) => Retry.run(self, policy, { name: "charge", [option]: () => true as never })
    )
    expect(String(exit)).toContain(`The option "${option}" of charge must return an Effect, got boolean`)
  })

  it.each<[what: string, key: never]>([
    ["a line break", "a\nb" as never],
    ["a number", 17 as never],
    ["nothing", "" as never]
  ])("%s is no key", (_, key) => {
    expect(() => Retry.runKeyed(policy, () => operation, { key })).toThrow(
      expect.objectContaining({ _tag: "InvalidIdempotencyKey" })
    )
  })
})

describe("data-first and data-last are one", () => {
  it.each<[form: string, run: (self: Effect.Effect<never, Busy>) => Effect.Effect<never, unknown>]>([
    ["data-first", (self) => Retry.run(self, Policy.immediate(2))],
    ["data-last", (self) => self.pipe(Retry.run(Policy.immediate(2)))],
    ["data-first with options", (self) => Retry.run(self, Policy.immediate(2), { name: "it" })],
    ["data-last with options", (self) => self.pipe(Retry.run(Policy.immediate(2), { name: "it" }))],
    ["data-first with no options", (self) => Retry.run(self, Policy.immediate(2), undefined as never)],
    ["data-last with no options", (self) => self.pipe(Retry.run(Policy.immediate(2), undefined as never))]
  ])("%s", (_, run) => {
    expect(recordWith(() => Effect.fail(new Busy({})), run).attempts).toBe(3)
  })

  it("a run may be run again, and starts anew", () => {
    let attempts = 0
    const run = Retry.run(
      Effect.suspend(() => {
        attempts++
        return Effect.fail(new Busy({}))
      }),
      Policy.immediate(2)
    )
    Effect.runSync(Effect.andThen(Effect.flip(run), Effect.flip(run)))
    expect(attempts).toBe(6)
  })
})

describe("repeatable", () => {
  it("false gives up with reason Unsafe, and no layer around retries", () => {
    const { attempts, exit } = recordWith(
      () => Effect.fail(new Busy({})),
      (operation) =>
        operation.pipe(Retry.run(Policy.immediate(3), { repeatable: () => false }), Retry.run(Policy.immediate(3)))
    )
    expect(attempts).toBe(1)
    const error = exhaustion(exit)
    expect(error.reason._tag).toBe("Unsafe")
    expect(error.message).toContain("not safe to repeat")
  })

  it("is asked about what the policy retries only", () => {
    const asked: Array<unknown> = []
    const { exit } = recordWith(
      () => Effect.fail(new Busy({})),
      Retry.run(Policy.immediate(3).pipe(Policy.whileTag("Other")), {
        repeatable: (error) => {
          asked.push(error)
          return false
        }
      })
    )
    expect(asked).toEqual([])
    expect(Option.getOrThrow(Exit.findErrorOption(exit))).toEqual(new Busy({}))
  })
})
