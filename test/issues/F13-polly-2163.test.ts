// App-vNext/Polly#2163 and #1866, cb372/cats-retry#644: delays overflowed to NaN, negative or endless, and a cap erased
// "stop". Rule R5: retry 10,000 of any policy has a sane delay or is a stop.
import { describe, expect, it } from "@effect/vitest"
import { Policy, Retry, type Stepper } from "@reprise/core"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { draws, record, recordWith, seeded } from "../core/Recording.ts"

const huge = Number.MAX_VALUE
const century = Duration.weeks(5218)

const growing: ReadonlyArray<readonly [what: string, policy: Policy.Unrestricted]> = [
  ["exponential", Policy.exponential(1)],
  ["exponential by a huge factor", Policy.exponential(1, huge)],
  ["exponential from a huge base", Policy.exponential(huge)],
  ["linear", Policy.linear(1)],
  ["linear by a huge step", Policy.linear(1, huge)],
  ["linear from a huge base", Policy.linear(huge, 0)],
  ["fibonacci", Policy.fibonacci(1)],
  ["fibonacci from a huge base", Policy.fibonacci(huge)],
  ["constant, huge", Policy.constant(huge)],
  ["decorrelated", Policy.decorrelated({ base: 1, cap: huge })],
  ["decorrelated, all huge", Policy.decorrelated({ base: huge, cap: huge })],
  ["delays, huge", Policy.delays(Array.from({ length: 10_001 }, () => huge))]
]

const shapes: ReadonlyArray<readonly [what: string, shape: (policy: Policy.Unrestricted) => Policy.Unrestricted]> = [
  ["as it is", (policy) => policy],
  ["jittered", Policy.jittered],
  ["jittered far beyond", Policy.jitteredWith({ min: 0, max: huge })],
  ["capped by a huge cap", Policy.capped(huge)],
  [
    "jittered thrice",
    (policy) => policy.pipe(Policy.jitteredWith({ min: 1, max: huge }), Policy.jittered, Policy.jittered)
  ],
  ["in max", (policy) => Policy.max([policy, Policy.exponential(1)])],
  ["in concat", (policy) => Policy.concat(Policy.none, policy)]
]

describe("F13: retry 10,000 has a sane delay", () => {
  it.each(growing.flatMap(([name, policy]) => shapes.map(([how, shape]) => [name, how, shape(policy)] as const)))(
    "%s, %s",
    (_, __, policy) => {
      const { start, step } = Policy.stepper(policy)
      const state = start()
      const failure = { elapsed: 0, now: 0, timedOut: false }
      const random = seeded(3)
      let wrong: string | undefined
      for (let attempt = 1; attempt <= 10_000; attempt++) {
        const wait = step(state, { ...failure, attempt }, "busy", random)
        if (!(wait >= 0 && wait <= Number.MAX_SAFE_INTEGER)) wrong ??= `retry ${attempt}: ${wait}`
        if (!(Math.abs(Duration.toMillis(Duration.millis(wait)) - wait) < 1)) {
          wrong ??= `retry ${attempt}: ${wait} is no Duration`
        }
      }
      expect(wrong).toBeUndefined()
    }
  )

  it("the waits of a run add up to a finite sum", () => {
    const { exit } = record(() => Effect.fail("busy"), Policy.exponential(1).pipe(Policy.attempts(2000)))
    expect(String(exit)).not.toMatch(/NaN|Infinity/)
  })

  it("a hint on top of it stays finite", () => {
    const policy = Policy.constant(huge).pipe(Policy.honoringRetryAfter({ max: huge }), Policy.attempts(2))
    const { waits } = record(() => Effect.fail({ retryAfter: 1e15 }), policy, { random: draws(0.999) })
    expect(Number.isFinite(waits[0])).toBe(true)
  })
})

describe("F13: a stop stays a stop", () => {
  const stops: ReadonlyArray<readonly [what: string, policy: Policy.Unrestricted, attempts: number]> = [
    ["attempts", Policy.exponential(1).pipe(Policy.attempts(3)), 3],
    ["recurs", Policy.exponential(1).pipe(Policy.recurs(2)), 3],
    ["the end of a list", Policy.delays([1, 2]), 3],
    ["immediate", Policy.immediate(2), 3],
    ["within", Policy.constant(10).pipe(Policy.within(25)), 3]
  ]
  it.each(stops.flatMap(([what, policy, attempts]) =>
    ([
      ["cap", Policy.capped(1_000_000)],
      ["jitter", Policy.jittered],
      ["much jitter", Policy.jitteredWith({ min: 1, max: 1 })],
      ["hints", Policy.honoringRetryAfter()],
      ["unlimited", Policy.unlimited],
      ["cap and jitter", (policy) => policy.pipe(Policy.capped(1_000_000), Policy.jittered, Policy.capped(1_000_000))]
    ] as ReadonlyArray<readonly [string, (policy: Policy.Unrestricted) => Policy.Unrestricted]>).map(
      ([around, wrap]) => [what, around, wrap(policy), attempts] as const
    )
  ))("%s under %s", (what, _, policy, attempts) => {
    // A draw of zero waits less, so that a limit on time allows more.
    const drawn = what === "within" ? [0.999_999] : [0, 0.5, 0.999_999]
    const made = drawn.flatMap((draw) =>
      [Retry.run(policy), Effect.retry(policy)].map((drive) =>
        recordWith(() => Effect.fail("busy"), drive, { random: draws(draw) }).attempts
      )
    )
    expect(new Set(made)).toEqual(new Set([attempts]))
  })

  it("once it is one, also 10,000 failures later", () => {
    const { start, step } = Policy.stepper(Policy.concat(Policy.delays([5]), Policy.recurs(Policy.constant(5), 1)))
    const state = start()
    const decisions: Array<Stepper.Decision> = []
    for (let attempt = 1; attempt <= 10_000; attempt++) {
      decisions.push(step(state, { attempt, elapsed: 0, now: 0, timedOut: false }, "busy", draws(0)))
    }
    expect(decisions.slice(0, 2)).toEqual([5, 5])
    expect(decisions.slice(2).every((decision) => decision < 0)).toBe(true)
  })
})

describe("F13: what is worth a century", () => {
  it("is a wait like another to the run", () => {
    const { waits } = record(
      (n) => n < 3 ? Effect.fail("busy") : Effect.void,
      Policy.attempts(Policy.constant(century), 3)
    )
    expect(waits).toEqual([Duration.toMillis(century), Duration.toMillis(century)])
  })
})
