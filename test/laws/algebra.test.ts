import { describe, expect, it } from "@effect/vitest"
import { Policy } from "@reprise/core"
import * as fc from "fast-check"
import {
  Busy,
  classification,
  constantDraws,
  context,
  type Draws,
  draws,
  limit,
  member,
  policy,
  type Script,
  script,
  scriptWithTimeouts,
  silentPolicy,
  Timeout,
  wrapper
} from "./generators.ts"
import { forAll } from "./forAll.ts"
import { precedence } from "./oracle.ts"
import { byStepper } from "./virtualTime.ts"

const failing = (error: unknown, took = 0) => ({ error, hint: "none" as const, took, timedOut: false })
const timeout = failing(new Timeout({ level: 1 }))
const busy = failing(new Busy({ level: 1 }))
const timedOut = { ...timeout, timedOut: true }
const still: Draws = () => 0.5

describe("concat (R12)", () => {
  it("is associative, also under a limit, a cap or a classification", () => {
    forAll([member, member, member, context, scriptWithTimeouts, draws], (a, b, c, inside, script, draws) => {
      const left = inside(Policy.concat(Policy.concat(a, b), c))
      const right = inside(Policy.concat(a, Policy.concat(b, c)))
      expect(byStepper(left, script, draws)).toEqual(byStepper(right, script, draws))
    })
  })

  it("has none as its left identity, also under a limit, a cap or a classification", () => {
    forAll([policy, context, scriptWithTimeouts, draws], (policy, inside, script, draws) => {
      const after = inside(Policy.concat(Policy.none, policy))
      expect(byStepper(after, script, draws)).toEqual(byStepper(inside(policy), script, draws))
    })
  })

  it("has none as its right identity, also under a limit, a cap or a classification", () => {
    forAll([policy, context, scriptWithTimeouts, draws], (policy, inside, script, draws) => {
      const before = inside(Policy.concat(policy, Policy.none))
      expect(byStepper(before, script, draws)).toEqual(byStepper(inside(policy), script, draws))
    })
  })

  it("moves on at any stop, a rejected error included, and does not come back", () => {
    const waits = Policy.concat(
      Policy.constant(100).pipe(Policy.whileTag("Timeout")),
      Policy.constant(200).pipe(Policy.whileTag("Timeout", "Busy"))
    )
    expect(byStepper(waits, [timeout, busy, timeout], still).waits).toEqual([100, 200, 200])
  })

  it("exhausts on an error that only a member behind it would retry", () => {
    const policy = Policy.concat(
      Policy.constant(100).pipe(Policy.whileTag("Timeout")),
      Policy.constant(200).pipe(Policy.whileTag("Busy"))
    )
    expect(byStepper(policy, [busy, timeout], still)).toEqual({ attempts: 2, waits: [200], end: "End" })
  })
})

describe.each(
  [
    ["min", Policy.min],
    ["max", Policy.max]
  ] as const
)("%s (R12)", (_, combine) => {
  it("is associative, also under a limit, a cap or a classification", () => {
    forAll([member, member, member, context, scriptWithTimeouts, draws], (a, b, c, inside, script, draws) => {
      const flat = byStepper(inside(combine([a, b, c])), script, draws)
      expect(byStepper(inside(combine([combine([a, b]), c])), script, draws)).toEqual(flat)
      expect(byStepper(inside(combine([a, combine([b, c])])), script, draws)).toEqual(flat)
    })
  })

  it("is commutative for policies that draw nothing", () => {
    forAll([silentPolicy, silentPolicy, context, scriptWithTimeouts, draws], (a, b, inside, script, draws) => {
      const [one, other] = [inside(combine([a, b])), inside(combine([b, a]))]
      expect(byStepper(one, script, draws)).toEqual(byStepper(other, script, draws))
    })
  })

  it("is commutative where every draw is the same, so in distribution", () => {
    forAll([member, member, context, scriptWithTimeouts, constantDraws], (a, b, inside, script, draws) => {
      const [one, other] = [inside(combine([a, b])), inside(combine([b, a]))]
      expect(byStepper(one, script, draws)).toEqual(byStepper(other, script, draws))
    })
  })

  it("is idempotent for policies that draw nothing", () => {
    forAll([silentPolicy, context, scriptWithTimeouts, draws], (policy, inside, script, draws) => {
      const twice = inside(combine([policy, policy]))
      expect(byStepper(twice, script, draws)).toEqual(byStepper(inside(policy), script, draws))
    })
  })

  it("is idempotent where every draw is the same", () => {
    forAll([policy, context, scriptWithTimeouts, constantDraws], (policy, inside, script, draws) => {
      const twice = inside(combine([policy, policy]))
      expect(byStepper(twice, script, draws)).toEqual(byStepper(inside(policy), script, draws))
    })
  })

  it("of a single policy is that policy", () => {
    forAll([policy, context, scriptWithTimeouts, draws], (policy, inside, script, draws) => {
      expect(byStepper(inside(combine([policy])), script, draws)).toEqual(byStepper(inside(policy), script, draws))
    })
  })
})

describe("min (R12)", () => {
  it("offers each error again to a member that rejected one", () => {
    const policy = Policy.min([Policy.constant(100).pipe(Policy.whileTag("Busy")), Policy.constant(200)])
    expect(byStepper(policy, [timeout, busy, timeout, busy], still).waits).toEqual([200, 100, 200, 100])
  })

  it("is done with a member that reached a limit", () => {
    const policy = Policy.min([
      // The limit is reached by a long attempt at the second failure; the third would be in time.
      Policy.delays([100, 5000, 100]).pipe(Policy.within(2000)),
      Policy.constant(300)
    ])
    expect(byStepper(policy, [timeout, timeout, timeout], still).waits).toEqual([100, 300, 300])
  })

  it("inside a min is the same as a flat one: a limit is its member's, not the whole's", () => {
    const once = Policy.constant(100).pipe(Policy.recurs(1), Policy.whileTag("Timeout"))
    const busyOnly = Policy.constant(200).pipe(Policy.whileTag("Busy"))
    const policy = Policy.min([Policy.min([once, busyOnly]), Policy.constant(300)])
    expect(byStepper(policy, [timeout, timeout, busy], still).waits).toEqual([100, 300, 200])
  })
})

describe("max (R12)", () => {
  it("with none is none", () => {
    forAll([policy, script, draws], (policy, script, draws) => {
      expect(byStepper(Policy.max([policy, Policy.none]), script, draws)).toEqual(byStepper(Policy.none, script, draws))
      expect(byStepper(Policy.max([Policy.none, policy]), script, draws)).toEqual(byStepper(Policy.none, script, draws))
    })
  })

  it("with none retries no timeout of the run's own either", () => {
    const policy = Policy.max([Policy.constant(100), Policy.none])
    expect(byStepper(policy, [timedOut], still).waits).toEqual([])
  })

  it("does not hold the elapsed limit of one member against a concat in another", () => {
    const soon = Policy.constant(100).pipe(Policy.within(1000))
    const late = Policy.concat(Policy.none, Policy.constant(2000).pipe(Policy.within(5000)))
    const waits = [Policy.max([soon, late]), Policy.max([late, soon])].map((policy) =>
      byStepper(policy.pipe(Policy.jitteredWith({ min: 0.25, max: 0.25 })), [timeout], still).waits
    )
    expect(waits).toEqual([[500], [500]])
  })

  it("does not retry when a member has nothing left for the error", () => {
    const either = Policy.concat(
      Policy.constant(100).pipe(Policy.whileTag("Timeout")),
      Policy.constant(100).pipe(Policy.whileTag("Busy"))
    )
    const policy = Policy.max([either, Policy.constant(200)])
    // The busy one moves `either` on to its second member, which rejects the timeout.
    expect(byStepper(policy, [busy, timeout], still)).toEqual({ attempts: 2, waits: [200], end: "End" })
  })
})

describe("classification (R12)", () => {
  it("before or after a limit is the same", () => {
    forAll([policy, classification, limit, scriptWithTimeouts, draws], (policy, classify, limit, script, draws) => {
      expect(byStepper(limit(classify(policy)), script, draws)).toEqual(
        byStepper(classify(limit(policy)), script, draws)
      )
    })
  })

  it("before or after any other combinator is the same", () => {
    forAll([policy, classification, wrapper, scriptWithTimeouts, draws], (policy, classify, wrap, script, draws) => {
      expect(byStepper(wrap(classify(policy)), script, draws)).toEqual(byStepper(classify(wrap(policy)), script, draws))
    })
  })

  it("is stateless: what was rejected before does not count", () => {
    forAll([policy, script, script, draws], (policy, before, script, draws) => {
      const rejected = before.filter((_) => byStepper(policy, [_], draws).end === "Terminal")
      const stepper = Policy.stepper(policy)
      const step = (failures: Script) => {
        const state = stepper.start()
        let index = 0
        const random = { nextDoubleUnsafe: () => draws(index++) }
        return failures.map(({ error }) =>
          stepper.step(state, { attempt: 1, elapsed: 0, now: 0, timedOut: false }, error, random)
        )
      }
      const first = script.slice(0, 1)
      expect(step([...rejected, ...first]).at(-1)).toEqual(step(first)[0])
    })
  })
})

describe("reasons of places that stop at once join by a fixed precedence (R12)", () => {
  // Each goes on at the first failure and stops at the second, which comes after a second.
  const places = [
    ["Attempts", Policy.constant(100).pipe(Policy.attempts(2))],
    ["End", Policy.delays([100])],
    ["Elapsed", Policy.constant(1000).pipe(Policy.within(1500))]
  ] as const
  const hints = [
    ["Pushback", "do not retry"],
    ["RetryAfterTooLong", 90_000]
  ] as const
  const endOf = (policy: Policy.Any, retryAfter?: unknown) =>
    byStepper(policy, [timeout, failing(new Timeout({ level: 1, retryAfter }), 1000)], still).end
  const first = (...reasons: ReadonlyArray<string>) => precedence.find((_) => reasons.includes(_))

  it.each(places.flatMap((one) => places.map((other) => [one[0], other[0], one[1], other[1]] as const)))(
    "%s and %s, in either order, in min and max",
    (one, other, policy, that) => {
      expect(endOf(Policy.min([policy, that]))).toBe(first(one, other))
      expect(endOf(Policy.max([policy, that]))).toBe(first(one, other))
    }
  )

  it.each(places.flatMap((place) => hints.map((hint) => [place[0], hint[0], place[1], hint[1]] as const)))(
    "%s and a hint that is not waited for: %s",
    (one, other, policy, retryAfter) => {
      expect(endOf(Policy.honoringRetryAfter(policy), retryAfter)).toBe(first(one, other))
    }
  )

  it("a concat stops for the reasons of all its members, the one left long ago included", () => {
    const policy = Policy.concat(Policy.constant(100).pipe(Policy.recurs(1)), Policy.delays([200]))
    expect(byStepper(policy, [timeout, timeout, timeout], still)).toEqual({
      attempts: 3,
      waits: [100, 200],
      end: "Attempts"
    })
  })

  it("an error that is rejected has no other reason", () => {
    forAll([policy, wrapper, fc.constant(still)], (policy, wrap, draws) => {
      const rejecting = wrap(Policy.whileTag("Other")(policy))
      expect(byStepper(rejecting, [timeout], draws)).toEqual({ attempts: 1, waits: [], end: "Terminal" })
    })
  })
})
