import { describe, expect, it } from "@effect/vitest"
import { Policy, Spec } from "@reprise/core"
import * as fc from "fast-check"
import { type Draws, draws, millis, policy, scriptWithTimeouts, Timeout } from "./generators.ts"
import { forAll, samples } from "./forAll.ts"
import { byStepper } from "./virtualTime.ts"

const error = new Timeout({ level: 0 })

/** The policy's own waits before retries 1 to `most`, fewer when it stops. */
const ownWaits = (policy: Policy.Any, most: number, draws: Draws): ReadonlyArray<number> => {
  const stepper = Policy.stepper(policy)
  const state = stepper.start()
  let drawn = 0
  const random = { nextDoubleUnsafe: () => draws(drawn++) }
  const waits: Array<number> = []
  for (let attempt = 1; attempt <= most; attempt++) {
    const wait = stepper.step(state, { attempt, elapsed: 0, now: 0, timedOut: false }, error, random)
    if (wait < 0) break
    waits.push(wait)
  }
  return waits
}

const most = 10_000
const highest: Draws = () => 1 - 2 ** -53

/** The waits that are not from 0 to a bound; NaN is not. */
const outside = (waits: ReadonlyArray<number>, most: number) => waits.filter((_) => !(_ >= 0 && _ <= most))

describe("a delay of the policy's own (R5)", () => {
  it("is finite and at least 0 up to retry 10,000, with and without a cap", () => {
    forAll([policy, draws], (policy, draws) => {
      expect(outside(ownWaits(policy, most, draws), Number.MAX_SAFE_INTEGER)).toEqual([])
    }, 100)
  })

  it("is at most the cap around it up to retry 10,000", () => {
    forAll([policy, millis(50, 5000), draws], (policy, max, draws) => {
      expect(outside(ownWaits(Policy.capped(policy, max), most, draws), max)).toEqual([])
    }, 100)
  })

  it("is at most the cap that the spec tells", () => {
    forAll([policy, draws], (policy, draws) => {
      expect(outside(ownWaits(policy, 100, draws), Spec.cap(policy.spec))).toEqual([])
    })
  })

  it("is at most the largest delay that the spec tells", () => {
    forAll([policy, draws], (policy, draws) => {
      expect(outside(ownWaits(policy, 100, draws), Spec.largestDelay(policy.spec))).toEqual([])
    })
  })

  it("many of the policies above do reach retry 10,000", () => {
    const reached = samples(policy, 100).filter((policy) => ownWaits(policy, most, highest).length === most)
    expect(reached.length).toBeGreaterThan(15)
  })

  it.each(
    [
      ["exponential", Policy.exponential(1000, 10)],
      ["linear", Policy.linear(1000, 1e12)],
      ["fibonacci", Policy.fibonacci(1000)],
      ["polynomial", Policy.polynomial(1000, 20)],
      ["polynomial past the largest number", Policy.polynomial(1e308, 1e308, { offset: 1e308, spread: 1e308 })],
      ["jitter above 1", Policy.exponential(1000).pipe(Policy.jitteredWith({ min: 5, max: 1e300 }))],
      ["decorrelated", Policy.decorrelated({ base: 1e300, cap: 1e305 })]
    ] as const
  )("%s saturates at the largest safe integer", (_, policy) => {
    expect(ownWaits(policy, most, highest).at(-1)).toBe(Number.MAX_SAFE_INTEGER)
  })
})

describe("cap and jitter (R5)", () => {
  it("cap and full jitter commute, draw by draw", () => {
    forAll([policy, millis(50, 3000), scriptWithTimeouts, draws], (policy, max, script, draws) => {
      const before = policy.pipe(Policy.capped(max), Policy.jittered)
      const after = policy.pipe(Policy.jittered, Policy.capped(max))
      expect(byStepper(before, script, draws)).toEqual(byStepper(after, script, draws))
    })
  })

  it("a cap commutes with jitter of any kind", () => {
    forAll([policy, millis(50, 3000), scriptWithTimeouts, draws], (policy, max, script, draws) => {
      const kind = { min: 0.5, max: 1.7 }
      const before = policy.pipe(Policy.capped(max), Policy.jitteredWith(kind))
      const after = policy.pipe(Policy.jitteredWith(kind), Policy.capped(max))
      expect(byStepper(before, script, draws)).toEqual(byStepper(after, script, draws))
    })
  })

  it("at the cap full jitter still spreads", () => {
    forAll([fc.double({ min: 0, max: 0.999, noNaN: true })], (draw) => {
      const policy = Policy.exponential(50).pipe(Policy.jittered, Policy.capped(2000))
      expect(ownWaits(policy, 30, () => draw).at(-1)).toBe(2000 * draw)
    })
  })

  it.each(
    [
      ["none", Policy.none, [1000, 1000]],
      ["immediate", Policy.immediate(1), [0, 1000]]
    ] as const
  )("%s before a capped policy lifts no cap from a jitter around both", (_, first, expected) => {
    const capped = Policy.constant(1000).pipe(Policy.capped(1000))
    const policy = Policy.concat(first, capped).pipe(Policy.jitteredWith({ min: 2, max: 2 }))
    expect(ownWaits(policy, 2, highest)).toEqual(expected)
  })

  it("decorrelated under a cap is decorrelated with the smaller cap", () => {
    forAll([millis(50, 3000), millis(0, 3000), millis(50, 3000), draws], (base, more, max, draws) => {
      const capped = Policy.decorrelated({ base, cap: base + more }).pipe(Policy.capped(max))
      const cap = Math.min(base + more, max)
      const smaller = Policy.decorrelated({ base: Math.min(base, cap), cap })
      expect(ownWaits(capped, 20, draws)).toEqual(ownWaits(smaller, 20, draws))
    })
  })
})
