import { describe, expect, it } from "@effect/vitest"
import { InvalidPolicy, Policy, Retry, Spec } from "@reprise/core"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import * as Hash from "effect/Hash"
import * as Schedule from "effect/Schedule"
import { inspect } from "node:util"
import { record, seeded } from "./Recording.ts"
import * as VirtualClock from "./VirtualClock.ts"

class Busy extends Data.TaggedError("Busy")<{}> {}

const build = (): Policy.Any =>
  Policy.exponential("500 millis").pipe(
    Policy.capped("30 seconds"),
    Policy.jittered,
    Policy.attempts(5),
    Policy.whileTag("Timeout", "Unavailable")
  )
const notation = "exponential(500ms) | cap(30s) | jitter | attempts(5) | whileTag(Timeout, Unavailable)"

describe("a policy as a value", () => {
  it("equals another one of the same spec, and hashes like it", () => {
    expect(Equal.equals(build(), build())).toBe(true)
    expect(Hash.hash(build())).toBe(Hash.hash(build()))
    expect(Equal.equals(build(), Policy.attempts(build(), 6))).toBe(false)
    expect(Equal.equals(build(), build().spec)).toBe(false)
    expect(Equal.equals(build(), Schedule.forever)).toBe(false)
  })

  it("knows predicates by their names", () => {
    const isBusy = () => true
    const named = (name: string) => Policy.whileInput(Policy.standard, isBusy, name)
    expect(Equal.equals(named("a"), named("a"))).toBe(true)
    expect(Equal.equals(named("a"), named("b"))).toBe(false)
    expect(Policy.format(Policy.whileInput(Policy.standard, isBusy))).toMatch(/while\(isBusy\)$/)
    expect(Policy.format(Policy.whileInput(Policy.standard, () => true))).toMatch(/while\(anonymous\)$/)
    expect(Policy.format(named("is it busy?"))).toMatch(/while\("is it busy\?"\)$/)
  })

  it("reads as its notation: String, template, JSON, inspect", () => {
    const policy = build()
    expect(Reflect.apply(String, undefined, [policy])).toBe(notation)
    expect(inspect(policy)).toBe(`Policy(${notation})`)
    expect(inspect({ nested: { policy } }, { depth: 1 })).toContain(notation)
    expect(JSON.parse(JSON.stringify(policy))).toEqual({ _id: "Policy", policy: notation, spec: policy.spec })
  })

  it("is a schedule and a policy; nothing else is a policy", () => {
    expect(Schedule.isSchedule(build())).toBe(true)
    expect(Policy.isPolicy(build())).toBe(true)
    for (const other of [Schedule.forever, null, undefined, {}, build().spec, notation]) {
      expect(Policy.isPolicy(other)).toBe(false)
    }
  })

  it("goes through pipe", () => {
    expect(Policy.format(Policy.constant(1).pipe(Policy.attempts(2), Policy.jittered))).toBe(
      "constant(1ms) | attempts(2) | jitter"
    )
  })

  it("is not changed by what is made of it", () => {
    const base = Policy.constant("1 second")
    const before = JSON.stringify(base)
    base.pipe(Policy.attempts(2), Policy.jittered, Policy.capped(5))
    Policy.max([base, Policy.concat(base, base)])
    expect(JSON.stringify(base)).toBe(before)
  })

  it("keeps nothing of the caller's lists", () => {
    const list = [1000, 2000]
    const members: [Policy.Unrestricted, Policy.Unrestricted] = [Policy.constant(5), Policy.constant(6)]
    const policies = [Policy.delays(list), Policy.attempts(Policy.max(members), 3)]
    list.push(3000)
    members.pop()
    expect(policies.map(String)).toEqual(["delays(1s, 2s)", "max(constant(5ms); constant(6ms)) | attempts(3)"])
    expect(record(() => Effect.fail(new Busy()), policies[0]!).waits).toEqual([1000, 2000])
  })
})

describe("R10: one value, any number of runs", () => {
  it("1,000 concurrent fibres share one, each with a run of its own, and compile it once", async () => {
    const policy = Policy.exponential(100).pipe(Policy.attempts(4), Policy.whileTag("Busy"))
    let reads = 0
    const spec = policy.spec
    Object.defineProperty(policy, "spec", {
      get: () => {
        reads++
        return spec
      }
    })
    const clock = VirtualClock.instant()
    const operation = Effect.flatMap(
      Retry.Attempt,
      ({ number }) => number < 4 ? Effect.fail(new Busy()) : Effect.succeed(number)
    )
    const numbers = await Effect.runPromise(
      Effect.forEach(Array.from({ length: 1000 }), () => Retry.run(operation, policy), { concurrency: "unbounded" })
        .pipe(
          VirtualClock.provide(clock)
        )
    )
    expect(new Set(numbers)).toEqual(new Set([4]))
    expect(clock.sleeps.toSorted((a, b) => a - b)).toEqual([
      ...Array.from({ length: 1000 }, () => 100),
      ...Array.from({ length: 1000 }, () => 200),
      ...Array.from({ length: 1000 }, () => 400)
    ])
    expect(reads).toBeLessThanOrEqual(3)
  })

  it("as a schedule too", async () => {
    const policy = Policy.exponential(100).pipe(Policy.attempts(3))
    let reads = 0
    const spec = policy.spec
    Object.defineProperty(policy, "spec", {
      get: () => {
        reads++
        return spec
      }
    })
    const clock = VirtualClock.instant()
    const run = Effect.fail(new Busy()).pipe(Effect.retry(policy), Effect.ignore)
    await Effect.runPromise(
      Effect.forEach(Array.from({ length: 1000 }), () => run, { concurrency: "unbounded" }).pipe(
        VirtualClock.provide(clock)
      )
    )
    expect(clock.sleeps.filter((millis) => millis === 100)).toHaveLength(1000)
    expect(clock.sleeps.filter((millis) => millis === 200)).toHaveLength(1000)
    expect(reads).toBe(1)
  })
})

describe("R11: same seed and script, same delays", () => {
  const policies: ReadonlyArray<readonly [notation: string, policy: Policy.Unrestricted]> = [
    Policy.exponential(100).pipe(Policy.jittered, Policy.attempts(20)),
    Policy.decorrelated({ base: 100, cap: 10_000 }).pipe(Policy.attempts(20)),
    Policy.min([Policy.jittered(Policy.constant(500)), Policy.jittered(Policy.linear(100))]).pipe(Policy.attempts(20)),
    Policy.jittered(Policy.constant(500)).pipe(Policy.honoringRetryAfter(), Policy.attempts(20))
  ].map((policy) => [Policy.format(policy), policy])

  const waits = (policy: Policy.Unrestricted, seed: number) =>
    record((n) => Effect.fail({ retryAfter: n * 10 }), policy, { random: seeded(seed) }).waits

  it.each(policies)("%s", (_, policy) => {
    expect(waits(policy, 1)).toHaveLength(19)
    expect(waits(policy, 1)).toEqual(waits(policy, 1))
    expect(waits(policy, 1)).not.toEqual(waits(policy, 2))
  })

  it("a limit that stops before a jitter draws nothing", () => {
    let drawn = 0
    const random = { nextDoubleUnsafe: () => ++drawn && 0.5, nextIntUnsafe: () => 0 }
    record(() => Effect.fail(new Busy()), Policy.constant(5).pipe(Policy.jittered, Policy.attempts(3)), { random })
    expect(drawn).toBe(2)
  })

  it("the order of draws: the hint's spread, then the pipe from the inside, members left to right", () => {
    const order = [0, 0.25, 0.5, 0.75]
    let next = 0
    const random = { nextDoubleUnsafe: () => order[next++]!, nextIntUnsafe: () => 0 }
    const member = (millis: number) => Policy.jittered(Policy.constant(millis))
    const policy = Policy.max([member(1000), member(10_000)]).pipe(
      Policy.jittered,
      Policy.honoringRetryAfter(),
      Policy.attempts(2)
    )
    // Spread 0, members 250 and 5000, and three quarters of the longer.
    expect(record(() => Effect.fail({ retryAfter: 10_000 }), policy, { random }).waits).toEqual([10_000 + 3750])
  })
})

describe("R5: a wait is finite, not negative, and within its cap", () => {
  it.each<[order: string, policy: Policy.Unrestricted]>([
    ["cap | jitter", Policy.constant(1000).pipe(Policy.capped(400), Policy.jittered)],
    ["jitter | cap", Policy.constant(1000).pipe(Policy.jittered, Policy.capped(400))]
  ])("%s: at the cap full jitter still spreads", (_, policy) => {
    const at = (draw: number) =>
      record(() => Effect.fail(new Busy()), Policy.attempts(policy, 2), {
        random: { nextDoubleUnsafe: () => draw, nextIntUnsafe: () => 0 }
      }).starts[1]
    expect([0, 0.25, 0.5, 0.75].map(at)).toEqual([0, 100, 200, 300])
  })

  it("jitter beyond 1 does not pass the cap", () => {
    const policy = Policy.constant(1000).pipe(Policy.capped(1200), Policy.jitteredWith({ min: 1, max: 3 }))
    for (const draw of [0, 0.05, 0.5, 0.999]) {
      const { waits } = record(() => Effect.fail(new Busy()), Policy.attempts(policy, 2), {
        random: { nextDoubleUnsafe: () => draw, nextIntUnsafe: () => 0 }
      })
      expect(waits[0]).toBeLessThanOrEqual(1200)
    }
  })
})

describe("R6: what attempts, within and recurs count", () => {
  const failing = () => Effect.fail(new Busy())
  const slow = Policy.constant(50)

  it("attempts(n) reads the run's attempt, also inside concat", () => {
    const policy = Policy.concat(Policy.immediate(3), Policy.attempts(slow, 5))
    expect(record(failing, policy).attempts).toBe(5)
  })

  it("recurs(n) counts the retries granted through its own place", () => {
    const policy = Policy.concat(Policy.immediate(3), Policy.recurs(slow, 5))
    expect(record(failing, policy).attempts).toBe(9)
  })

  it("alone, recurs(n) is attempts(n + 1)", () => {
    expect(record(failing, Policy.recurs(slow, 4)).starts).toEqual(record(failing, Policy.attempts(slow, 5)).starts)
  })
})

describe("what is read of a policy", () => {
  it("a mark alone makes no policy", () => {
    for (const marked of [1, null, undefined, "spec", {}]) {
      expect(Policy.isPolicy({ "~@reprise/core/Policy": marked, spec: { _tag: "None" } })).toBe(false)
      expect(Policy.isPolicy({ "~@reprise/core/Policy": marked })).toBe(false)
    }
  })

  it("cannot be changed behind what runs", () => {
    const frozen = (spec: Spec.Spec): boolean =>
      Object.isFrozen(spec) && Object.values(spec).every((value) =>
        !Array.isArray(value) || (Object.isFrozen(value) && value.every(Object.isFrozen))
      ) && Spec.children(spec).every(frozen)
    const policy = Policy.byInput(
      [["busy", () => true, Policy.delays([1, 2]).pipe(Policy.whileTag("Busy"))]],
      Policy.min([Policy.standard, Policy.concat(Policy.immediate(1), Policy.none)])
    )
    expect(frozen(policy.spec)).toBe(true)
  })
})

describe("limits of size", () => {
  const invalid = (grow: () => unknown): InvalidPolicy.InvalidPolicy => {
    try {
      grow()
    } catch (error) {
      if (InvalidPolicy.is(error)) return error
      throw error
    }
    throw new Error("The policy was built")
  }

  it("a policy of 10,000 parts runs; one more is refused", () => {
    const members = Array.from({ length: 9_998 }, () => Policy.constant(5)) as unknown as [Policy.Unrestricted]
    const policy = Policy.attempts(Policy.max(members), 2)
    expect(record(() => Effect.fail(new Busy()), policy).waits).toEqual([5])
    const error = invalid(() => Policy.jittered(policy))
    expect([error.value, error.rule]).toEqual([10_001, "made of at most 10000 parts"])
  })

  type Wrap = (policy: Policy.Policy) => Policy.Policy

  const nested = (depth: number, wrap: Wrap): Policy.Policy => {
    let policy: Policy.Policy = Policy.attempts(Policy.constant(5), 3)
    for (let level = 2; level < depth; level++) policy = wrap(policy)
    return policy
  }

  it.each<[what: string, wrap: Wrap]>([
    ["combinators", (policy) => Policy.capped(policy, 100)],
    ["jitters", (policy) => Policy.jitteredWith(policy, { min: 1, max: 1 })],
    ["concat on the left", (policy) => Policy.concat(policy, Policy.none)],
    ["concat on the right", (policy) => Policy.concat(Policy.none, policy)],
    ["max", (policy) => Policy.max([policy])],
    ["min", (policy) => Policy.min([policy])],
    ["byInput", (policy) => Policy.byInput([["other", () => false, Policy.none]], policy)]
  ])("nested 1,000 deep it runs and prints, one deeper is refused: %s", (_, wrap) => {
    const policy = nested(1000, wrap)
    expect(record(() => Effect.fail(new Busy()), policy).waits).toEqual([5, 5])
    expect(Policy.format(policy).length).toBeGreaterThan(1000)
    expect(Policy.describe(policy)).toMatch(/\.$/)
    expect(Equal.equals(policy, nested(1000, wrap))).toBe(true)
    expect(invalid(() => wrap(policy)).rule).toBe("nested at most 1000 deep")
  })

  it("an endless one is built as fast", () => {
    let policy: Policy.Unrestricted = Policy.constant(5)
    for (let level = 1; level < 1000; level++) policy = Policy.jitteredWith(policy, { min: 1, max: 1 })
    expect(Policy.format(policy)).toMatch(/^constant\(5ms\)/)
  })

  it("64 policies inside each other are one policy", () => {
    let policy: Policy.Policy<unknown, unknown, unknown> = Policy.immediate(1)
    for (let level = 0; level < 63; level++) policy = Policy.concat(policy, Policy.attempts(Policy.immediate(1), 65))
    expect(record((): Effect.Effect<never, unknown> => Effect.fail(new Busy()), policy).attempts).toBe(65)
  })
})
