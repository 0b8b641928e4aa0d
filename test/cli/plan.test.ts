import { describe, expect, it } from "vitest"
import { reprise, workplace } from "./reprise.ts"

const policy = "exponential(500ms) | attempts(5)"

describe("reprise plan", () => {
  it("shows that exponential(500ms) | attempts(5) is at most 7.5 s of waiting plus five timeouts", async () => {
    const { exitCode, stderr, stdout } = await reprise(["plan", policy, "--attempt-timeout", "2s", "--json"])
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" })
    expect(JSON.parse(stdout)).toEqual({
      policy,
      description: "Up to 5 attempts; waits grow from 500 ms, doubling.",
      attempts: 5,
      retries: 4,
      delays: [
        { retry: 1, min: 500, mean: 500, max: 500, startEarliest: 500, startLatest: 2_500 },
        { retry: 2, min: 1_000, mean: 1_000, max: 1_000, startEarliest: 1_500, startLatest: 5_500 },
        { retry: 3, min: 2_000, mean: 2_000, max: 2_000, startEarliest: 3_500, startLatest: 9_500 },
        { retry: 4, min: 4_000, mean: 4_000, max: 4_000, startEarliest: 7_500, startLatest: 15_500 }
      ],
      total: { min: 7_500, mean: 7_500, max: 7_500, p50: 7_500, p95: 7_500, p99: 7_500 },
      worstCase: 17_500,
      uncountedHint: null,
      amplification: 5
    })
  })

  it("has no number for a policy without an end", async () => {
    const { stdout } = await reprise(["plan", "constant(1s) | unlimited", "--json"])
    expect(JSON.parse(stdout)).toMatchObject({ attempts: null, retries: null, total: null, worstCase: null })
  })

  it("draws a chart, without colour where there is no terminal", async () => {
    const { stdout } = await reprise(["plan", policy])
    expect(stdout).toContain("Waits in all: 7.5 s")
    expect(stdout).not.toContain("\u001b")
  })

  it("writes an SVG beside its answer", async () => {
    using files = workplace()
    const { exitCode, stdout } = await reprise(["plan", policy, "--json", "--svg", files.path("plan.svg")])
    expect(exitCode).toBe(0)
    expect(JSON.parse(stdout).attempts).toBe(5)
    expect(files.read("plan.svg")).toMatch(/^<svg /)
  })

  it("refuses a plan of more than 10,000 attempts", async () => {
    const { exitCode, stderr, stdout } = await reprise(["plan", "constant(1s) | attempts(10001)"])
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" })
    expect(stderr).toContain("more than 10,000 attempts")
  })
})

describe("reprise compare", () => {
  it("shows policies side by side", async () => {
    const { stdout } = await reprise(["compare", policy, "preset:standard"])
    const [head, first, second] = stdout.split("\n")
    expect(head).toContain("worst case")
    expect(first).toMatch(/^exponential\(500ms\) \| attempts\(5\) +5 /)
    expect(second).toMatch(/^preset:standard +3 /)
  })

  it("calls an inline policy what it is, and another what it was called", async () => {
    using files = workplace({ "retry.policy": "constant(3s) | attempts(2)" })
    const elsewhere = [`@${files.path("retry.policy")}`, "env:RETRY", "preset:standard"]
    const typed = [" exponential( 500 ms )|attempts(5)", "constant(1s)\n| attempts(2)", ...elsewhere]
    const { stdout } = await reprise(["compare", ...typed], { env: { RETRY: "none" } })
    const [, ...rows] = stdout.trimEnd().split("\n")
    expect(rows.map((row) => row.split(/ {2,}/)[0])).toEqual([policy, "constant(1s) | attempts(2)", ...elsewhere])
  })

  it("shows a policy once, however it is spelt", async () => {
    const { stdout } = await reprise(["compare", policy, "exponential(500ms)|attempts(5)", "none"])
    expect(stdout.trimEnd().split("\n")).toHaveLength(3)
  })

  it("wants two policies", async () => {
    expect(await reprise(["compare", policy])).toMatchObject({ exitCode: 2, stdout: "" })
  })
})

describe("reprise explain", () => {
  it("says a policy in one sentence, and what is worth a second look", async () => {
    const { stdout } = await reprise(["explain", policy])
    expect(stdout).toBe([
      policy,
      "Up to 5 attempts; waits grow from 500 ms, doubling.",
      "no-jitter: retry 1 comes after 500 ms in every client: those that fail together return together; add jitter",
      ""
    ].join("\n"))
  })
})
