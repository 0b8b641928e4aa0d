import { describe, expect, it } from "@effect/vitest"
import { Plan, Policy } from "@reprise/core"
import { Result } from "effect"

const of = (policy: Policy.Any, options?: Plan.Options): Plan.Plan => Result.getOrThrow(Plan.of(policy, options))

const patient = Policy.exponential("500 millis").pipe(Policy.jittered, Policy.attempts(5))
const endless = Policy.fibonacci("1 second").pipe(Policy.unlimited)
const long = Policy.constant("1 second").pipe(Policy.attempts(1000))
const hostile = Policy.standard.pipe(Policy.whileTag("</title><script>alert(1)&\"'\u0001\ud800"))

/** Every tag closed, in order, and no bare & or <. */
const isWellFormed = (xml: string): boolean => {
  const open: Array<string> = []
  const rest = xml.replaceAll(
    /<(\/?)([a-z]+)((?: [a-z-]+(?::[a-z]+)?="[^"<&]*(?:&[a-z]+;[^"<&]*)*")*)(\/?)>/gi,
    (_, end, name, __, self) => {
      if (end === "/") return open.pop() === name ? "" : "<"
      if (self === "") open.push(name)
      return ""
    }
  )
  return open.length === 0 && !/<|&(?!(?:amp|lt|gt|quot);)/.test(rest)
}

describe("Plan.toAscii", () => {
  it("shows the waits, the starts and what they come to", () => {
    expect(Plan.toAscii(of(patient, { attemptTimeout: "1 second" }), { width: 50 }).split("\n")).toEqual([
      "exponential(500ms) | jitter | attempts(5)",
      "Up to 5 attempts; waits grow from 500 ms, doubling, each drawn uniformly from zero.",
      "",
      "Wait before each retry (█ at least, ░ at most, ● mean)",
      "1  ░░●░                             0 ms to 500 ms",
      "2  ░░░░●░░░                         0 ms to 1 s",
      "3  ░░░░░░░░●░░░░░░░                 0 ms to 2 s",
      "4  ░░░░░░░░░░░░░░░░●░░░░░░░░░░░░░░  0 ms to 4 s",
      "",
      "Start of each retry (█ at the earliest, ░ at the latest)",
      "1  ░░░░                             0 ms to 1.5 s",
      "2  ░░░░░░░░░                        0 ms to 3.5 s",
      "3  ░░░░░░░░░░░░░░░░░░               0 ms to 6.5 s",
      "4  ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░  0 ms to 11.5 s",
      "",
      "At most 5 attempts; longest wait 4 s",
      "Waits in all: 0 ms to 7.5 s, mean 3.75 s, p50 3.75 s, p95 5.92 s, p99 6.49 s",
      "Worst case: 12.5 s, with attempts of up to 1 s",
      "Load when every call fails: 5x"
    ])
  })

  it.each([20, 40, 60, 80, 120])("keeps to %i columns, and at least 40", (width) => {
    for (const policy of [patient, long, Policy.exponential("1 second").pipe(Policy.attempts(17))]) {
      const bars = Plan.toAscii(of(policy), { width }).split("\n").filter((line) => /^ *\d+ {2}/.test(line))
      expect(bars.length).toBeGreaterThan(0)
      for (const line of bars) expect(line.length).toBeLessThanOrEqual(Math.max(40, width))
    }
  })

  it("shows 24 retries of a long plan, the last among them", () => {
    const bars = Plan.toAscii(of(long)).split("\n").filter((line) => /^ *\d+ {2}/.test(line))
    expect(bars).toHaveLength(2 * 24)
    expect(bars[23]).toMatch(/^999 /)
  })

  it("says that there is no end, no retry, no worst case", () => {
    expect(Plan.toAscii(of(endless))).toContain("No end: the first 10 retries are shown")
    expect(Plan.toAscii(of(Policy.none))).toContain("1 attempt, no retry\n")
    expect(Plan.toAscii(of(Policy.none))).toContain("Worst case: unknown, as an attempt has no timeout")
    const refused = of(Policy.standard.pipe(Policy.whileTag("Busy")), { input: "error" })
    expect(Plan.toAscii(refused)).toContain("1 attempt, no retry: this failure is not worth one")
  })

  it.each<[millis: number, text: string]>([
    [0.25, "0.25 ms"],
    [999.6, "1 s"],
    [59_960, "1 min"],
    [3_599_600, "1 h"],
    [65_536_000, "18 h 12 min"],
    [90_000_000, "1 d 1 h"],
    [86_400_000 * 3652.5, "10 years"]
  ])("writes %d ms as %s", (millis, text) => {
    expect(Plan.toAscii(of(Policy.delays([millis])))).toContain(`longest wait ${text}\n`)
  })
})

describe("Plan.toSvg", () => {
  it.each<[name: string, policy: Policy.Any]>([
    ["jitter", patient],
    ["no end", endless],
    ["no retry", Policy.none],
    ["a thousand attempts", long],
    ["no wait", Policy.immediate(2)],
    ["one retry", Policy.delays([1])],
    ["centuries", Policy.exponential("1 second").pipe(Policy.attempts(90))],
    ["a hostile name", hostile]
  ])("is well-formed, whole and finite: %s", (_, policy) => {
    for (const theme of ["light", "dark"] as const) {
      const svg = Plan.toSvg(of(policy, { attemptTimeout: "1 second" }), { theme })
      expect(isWellFormed(svg)).toBe(true)
      expect(svg).not.toMatch(/NaN|Infinity|undefined|href|<script|[^\x20-\x7e\n\u2026\ufffd]/)
      expect(svg.match(/<title>Plan of /g)).toHaveLength(1)
      expect(svg.match(/<desc>/g)).toHaveLength(1)
    }
  })

  it("draws a band and a mean for each wait, and both themes differ", () => {
    const light = Plan.toSvg(of(patient))
    expect(light.match(/<g><title>Retry /g)).toHaveLength(4)
    expect(light).toContain("<title>Retry 4: 0 ms to 4 s, mean 2 s</title>")
    expect(Plan.toSvg(of(patient), { theme: "dark" })).not.toBe(light)
  })
})

describe("Plan.compare and Plan.table", () => {
  it("puts plans side by side", () => {
    const plans = Result.getOrThrow(Plan.compare({
      patient,
      timed: Policy.constant("1 second").pipe(Policy.within("10 seconds")),
      endless
    }, { attemptTimeout: "1 second" }))
    expect(Object.keys(plans)).toEqual(["patient", "timed", "endless"])
    expect(Plan.table(plans)).toBe([
      "         attempts  mean wait     p95  longest  worst case      load",
      "patient         5     3.75 s  5.92 s    7.5 s      12.5 s        5x",
      "timed          11       10 s    10 s     10 s        11 s       11x",
      "endless    no end                                          no limit"
    ].join("\n"))
  })

  it("fails as the first of them does", () => {
    const result = Plan.compare({ standard: Policy.standard, large: Policy.constant(1).pipe(Policy.attempts(20_000)) })
    expect(Result.isFailure(result) && result.failure._tag).toBe("PlanTooLarge")
  })
})

describe("Plan.toJson", () => {
  it("has the keys that programs read", () => {
    expect(Plan.toJson(of(Policy.delays([100, 200]), { attemptTimeout: 50 }))).toEqual({
      policy: "delays(100ms, 200ms)",
      description: "Waits of 100 ms and 200 ms, then the end.",
      attempts: 3,
      retries: 2,
      delays: [
        { retry: 1, min: 100, mean: 100, max: 100, startEarliest: 100, startLatest: 150 },
        { retry: 2, min: 200, mean: 200, max: 200, startEarliest: 300, startLatest: 400 }
      ],
      total: { min: 300, mean: 300, max: 300, p50: 300, p95: 300, p99: 300 },
      worstCase: 450,
      amplification: 3,
      uncountedHint: null
    })
  })

  it("says which hints are not counted", () => {
    const policy = Policy.standard.pipe(Policy.honoringRetryAfter({ max: "9 seconds" }))
    expect(Plan.toJson(of(policy)).uncountedHint).toBe(9000)
    expect(Plan.toJson(of(policy, { hint: 100 })).uncountedHint).toBeNull()
  })
})
