import { describe, expect, it } from "vitest"
import { alone, atLeast, atMost, compare, speedAtLeast } from "./Row.ts"
import { quantile, ratios, summarize } from "./statistics.ts"
import { render } from "./table.ts"

describe("statistics", () => {
  it("interpolates between the two nearest samples, in any order", () => {
    expect(summarize([4, 1, 3, 2])).toEqual({ median: 2.5, lower: 1.75, upper: 3.25 })
  })

  it("takes one sample for all quantiles", () => {
    expect(summarize([7])).toEqual({ median: 7, lower: 7, upper: 7 })
  })

  it("has no quantile of nothing", () => {
    expect(() => quantile([], 0.5)).toThrow("No samples")
  })

  it("compares sample with sample of the same round", () => {
    expect(ratios([1, 20], [2, 10])).toEqual([0.5, 2])
    expect(() => ratios([1], [1, 2])).toThrow("1 samples against 2")
  })
})

describe("a row", () => {
  it("takes the median of the ratios, not the ratio of the medians", () => {
    const row = compare("run", "ns", [1, 2, 30], [1, 4, 10], atMost(1))
    expect(row).toMatchObject({ ours: 2, other: 4, ratio: 1, spread: [0.75, 2], rounds: 3, met: true })
  })

  it("misses a target by a hair", () => {
    expect(compare("run", "ns", [3.51], [1], atMost(3.5)).met).toBe(false)
    expect(alone("steps", "M/s", [19.99], atLeast(20, "ours")).met).toBe(false)
  })

  it("holds a promise of speed against the time", () => {
    expect(compare("insert", "ns", [5], [4], speedAtLeast(0.8)).met).toBe(true)
    expect(compare("insert", "ns", [5.01], [4], speedAtLeast(0.8)).met).toBe(false)
  })

  it("promises nothing without a target", () => {
    expect(alone("steps", "M/s", [1])).toMatchObject({ other: null, ratio: null, target: null, met: null })
  })
})

describe("the table", () => {
  it("says a promise of speed as time, and as it was made", () => {
    const rows = [compare("insert", "ns", [5], [4], speedAtLeast(0.8))]
    expect(render([{ name: "one", title: "One", rows }])).toContain("≤ 1.25 (speed ≥ 0.8)  met")
  })

  it("aligns columns over all sections", () => {
    const rows = [
      compare("run ÷ a long name of another", "ns", [1_234], [2_468], atMost(0.5)),
      alone("size", "kB", [9.5])
    ]
    expect(render([{ name: "one", title: "One", rows }, { name: "two", title: "Two", rows: [] }])).toBe([
      "                                    ours     other  ratio  quartiles  target",
      "",
      "One",
      "  run ÷ a long name of another  1,234 ns  2,468 ns   0.50              ≤ 0.5  met",
      "  size                           9.50 kB",
      "",
      "Two",
      ""
    ].join("\n"))
  })
})
