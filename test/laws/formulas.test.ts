/** The arithmetic of published formulas, number by number. */
import { describe, expect, it } from "@effect/vitest"
import { Policy } from "@reprise/core"
import reference from "../fixtures/decorrelated.json" with { type: "json" }
import { seeded } from "./virtualTime.ts"

const waits = (policy: Policy.Any, draws: ReadonlyArray<number>): ReadonlyArray<number> => {
  const stepper = Policy.stepper(policy)
  const state = stepper.start()
  return draws.map((draw, index) =>
    stepper.step(state, { attempt: index + 1, elapsed: 0, now: 0, timedOut: false }, undefined, {
      nextDoubleUnsafe: () => draw
    })
  )
}

const undrawn = [Number.NaN, Number.NaN, Number.NaN, Number.NaN, Number.NaN, Number.NaN]

describe("growth", () => {
  it.each(
    [
      ["exponential(50ms)", Policy.exponential(50), [50, 100, 200, 400, 800, 1600]],
      ["exponential(50ms, 3)", Policy.exponential(50, 3), [50, 150, 450, 1350, 4050, 12_150]],
      ["exponential(50ms) | cap(300ms)", Policy.exponential(50).pipe(Policy.capped(300)), [
        50,
        100,
        200,
        300,
        300,
        300
      ]],
      ["linear(50ms)", Policy.linear(50), [50, 100, 150, 200, 250, 300]],
      ["linear(50ms, 20ms)", Policy.linear(50, 20), [50, 70, 90, 110, 130, 150]],
      ["fibonacci(50ms)", Policy.fibonacci(50), [50, 50, 100, 150, 250, 400]],
      ["polynomial(50ms)", Policy.polynomial(50), [50, 200, 450, 800, 1250, 1800]],
      ["polynomial(50ms, 0)", Policy.polynomial(50, 0), [50, 50, 50, 50, 50, 50]],
      ["polynomial(50ms, 1, offset: 7ms)", Policy.polynomial(50, 1, { offset: 7 }), [57, 107, 157, 207, 257, 307]],
      ["polynomial(50ms, 3, start: 0)", Policy.polynomial(50, 3, { start: 0 }), [0, 50, 400, 1350, 3200, 6250]],
      ["constant(50ms)", Policy.constant(50), [50, 50, 50, 50, 50, 50]]
    ] as const
  )("%s", (_, policy, expected) => {
    expect(waits(policy, undrawn)).toEqual(expected)
  })
})

// M. Brooker, "Exponential Backoff and Jitter", AWS Architecture Blog: base 100 ms, cap 1 s.
const backoff = Policy.exponential(100).pipe(Policy.capped(1000))
const draws = [0, 0.25, 0.5, 0.75, 0.5, 0.25]

describe("jitter as AWS published it", () => {
  it("full: random_between(0, min(cap, base * 2 ** attempt))", () => {
    expect(waits(backoff.pipe(Policy.jittered), draws)).toEqual([0, 50, 200, 600, 500, 250])
  })

  it("equal: half of it, and random_between(0, half)", () => {
    expect(waits(backoff.pipe(Policy.jitteredWith("equal")), draws)).toEqual([50, 125, 300, 700, 750, 625])
  })

  it("decorrelated: min(cap, random_between(base, sleep * 3))", () => {
    const policy = Policy.decorrelated({ base: 100, cap: 1000 })
    // [100, 300) at 0.5; [100, 600) at 0.5; [100, 1050) at 0; [100, 300) at 1/4; [100, 450) at 0.8; [100, 1140) at 0.9
    expect(waits(policy, [0.5, 0.5, 0, 0.25, 0.8, 0.9])).toEqual(
      [200, 350, 100, 150, 380, 1036].map((_) => Math.min(_, 1000))
    )
  })

  it("factors: 0.8 to 1.2, as Effect's own", () => {
    const policy = Policy.constant(1000).pipe(Policy.jitteredWith({ min: 0.8, max: 1.2 }))
    const [lowest, middle, highest] = waits(policy, [0, 0.5, 1 - 2 ** -53])
    expect([lowest, middle]).toEqual([800, 1000])
    expect(highest).toBeCloseTo(1200, 9)
    expect(highest).toBeLessThanOrEqual(1200)
  })
})

describe("polynomial with a spread", () => {
  it("adds a draw that grows with the retry", () => {
    const policy = Policy.polynomial(100, 1, { spread: 40 })
    expect(waits(policy, draws)).toEqual([100, 220, 360, 520, 600, 660])
  })

  it("draws nothing without one", () => {
    const policy = Policy.polynomial(100, 0).pipe(Policy.jittered)
    expect(waits(policy, draws)).toEqual([0, 25, 50, 75, 50, 25])
  })
})

describe("decorrelated jitter in distribution", () => {
  const chains = 40_000
  const { base, cap, rows } = reference
  const stepper = Policy.stepper(Policy.decorrelated({ base, cap }))
  const random = seeded(5)

  const simulate = (): ReadonlyArray<{ readonly mean: number; readonly atCap: number }> => {
    const sums = rows.map(() => 0)
    const atCap = rows.map(() => 0)
    for (let chain = 0; chain < chains; chain++) {
      const state = stepper.start()
      for (let index = 0; index < rows.length; index++) {
        const wait = stepper.step(state, { attempt: index + 1, elapsed: 0, now: 0, timedOut: false }, undefined, random)
        sums[index]! += wait
        if (wait === cap) atCap[index]!++
      }
    }
    return rows.map((_, index) => ({ mean: sums[index]! / chains, atCap: atCap[index]! / chains }))
  }

  it("the mean delay before each retry, and how often the cap holds, are the published ones (4 standard errors)", () => {
    const deviations = simulate().map(({ atCap, mean }, index) => {
      const { delaySd, numericMean, pAtCap } = rows[index]!
      return {
        n: rows[index]!.n,
        mean: Math.abs(mean - numericMean) / (delaySd / Math.sqrt(chains)),
        // One in as many chains where the probability is too small for a normal approximation.
        atCap: Math.abs(atCap - pAtCap) / Math.max(Math.sqrt(pAtCap * (1 - pAtCap) / chains), 1 / chains)
      }
    })
    expect(deviations.filter((_) => _.mean > 4 || _.atCap > 4)).toEqual([])
  })
})
