// octokit/plugin-retry.js#576, ydb-platform/ydb-js-sdk#586: errors that no retry could cure were retried all the same.
// Rule R8: terminal is terminal on every path.
import { describe, expect, it } from "@effect/vitest"
import { Policy, Retry, Transience } from "@reprise/core"
import * as Cause from "effect/Cause"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Stream from "effect/Stream"
import { recordWith } from "../core/Recording.ts"

class Busy extends Data.TaggedError("Busy")<{ readonly retryAfter?: number }> {}
class Declined extends Data.TaggedError("Declined")<{ readonly retryAfter?: number }> {}

type Failure = Busy | Declined
const isBusy = (error: Failure): boolean => error._tag === "Busy"
const isDeclined = (error: Failure): boolean => error._tag === "Declined"
const base = Policy.delays(Array.from({ length: 9 }, () => 5))

const policies: ReadonlyArray<readonly [notation: string, policy: Policy.Policy<Failure>]> = ([
  base.pipe(Policy.whileTag("Busy")),
  base.pipe(Policy.whileInput(isBusy)),
  base.pipe(Policy.untilInput(isDeclined)),
  base.pipe(Policy.whileTag("Busy"), Policy.jittered, Policy.capped(5), Policy.attempts(9)),
  base.pipe(Policy.attempts(9), Policy.whileTag("Busy")),
  base.pipe(Policy.whileTag("Busy"), Policy.honoringRetryAfter()),
  base.pipe(Policy.whileTag("Busy", "Declined"), Policy.whileTag("Busy")),
  Policy.max([base, base.pipe(Policy.whileTag("Busy"))]),
  Policy.max([base.pipe(Policy.whileTag("Busy")), base]),
  Policy.min([base.pipe(Policy.whileTag("Busy")), base.pipe(Policy.untilInput(isDeclined))]),
  Policy.concat(base.pipe(Policy.whileTag("Busy")), base.pipe(Policy.whileInput(isBusy))),
  Policy.concat(Policy.none, base.pipe(Policy.whileTag("Busy"))),
  Policy.byInput([["declined", isDeclined, Policy.none]], base),
  Policy.byInput([["declined", isDeclined, base.pipe(Policy.whileTag("Busy"))]], base)
] as ReadonlyArray<Policy.Policy<Failure>>).map((policy) => [Policy.format(policy), policy])

type Drive = (policy: Policy.Policy<Failure>) => (self: Effect.Effect<void, Failure>) => Effect.Effect<unknown, unknown>

const drivers: ReadonlyArray<readonly [name: string, drive: Drive]> = [
  ["Retry.run", (policy) => Retry.run(policy)],
  ["Retry.run that is asked", (policy) => (self) => Retry.run(self, policy, { when: () => Effect.succeed(true) })],
  ["Retry.runKeyed", (policy) => (self) => Retry.runKeyed(policy, () => self)],
  ["Retry.make", (policy) => Retry.make({ name: "it", policy, idempotency: "transactional" })],
  ["Effect.retry", (policy) => Effect.retry(policy)],
  ["Effect.retryOrElse", (policy) => Effect.retryOrElse(policy, (error) => Effect.fail(error))],
  ["Stream.retry", (policy) => (self) => Stream.fromEffect(self).pipe(Stream.retry(policy), Stream.runDrain)]
]

describe.each(drivers)("F20: terminal is terminal: %s", (_, drive) => {
  it.each(policies)("%s: in the first attempt, and after failures that were worth a retry", (_, policy) => {
    for (const at of [1, 2, 4]) {
      const last = new Declined({ retryAfter: 5 })
      const { attempts, exit } = recordWith(
        (n): Effect.Effect<void, Failure> => Effect.fail(n === at ? last : new Busy({})),
        drive(policy)
      )
      expect(attempts).toBe(at)
      expect(Exit.isFailure(exit) && Cause.squash(exit.cause)).toBe(last)
    }
  })
})

describe("F20: what classifies nothing as worth a retry", () => {
  it.each<[what: string, error: unknown]>([
    ["a plain Error", new Error("bug")],
    ["a TypeError", new TypeError("x is not a function")],
    ["undefined", undefined],
    ["400", { status: 400 }],
    ["401", { status: 401 }],
    ["404", { status: 404 }],
    ["an error that says so", Transience.annotate(new Error("503"), "terminal")]
  ])("%s is not retried by whileInput(isTransient)", (_, error) => {
    const policy = base.pipe(Policy.whileInput(Transience.isTransient))
    expect(recordWith(() => Effect.fail(error), Retry.run(policy)).attempts).toBe(1)
  })
})
