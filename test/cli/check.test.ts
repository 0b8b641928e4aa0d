import { describe, expect, it } from "vitest"
import { reprise } from "./reprise.ts"

const check = async (...args: ReadonlyArray<string>) => {
  const { exitCode, stdout } = await reprise(["check", ...args, "--json"])
  return { exitCode, ...JSON.parse(stdout) }
}

describe("reprise check", () => {
  it("says yes to a policy that ends in time", async () => {
    expect(
      await check("exponential(500ms) | jitter | attempts(5)", "--within", "12.5s", "--attempt-timeout", "1s")
    ).toEqual({
      exitCode: 0,
      fits: true,
      worstCase: 12_500,
      within: 12_500,
      breaksAtAttempt: null,
      suggestion: null,
      findings: []
    })
  })

  it("says no to one that does not, with the attempt that breaks it and what would fit", async () => {
    expect(
      await check("exponential(500ms) | jitter | attempts(5)", "--within", "5s", "--attempt-timeout", "500ms")
    ).toEqual({
      exitCode: 1,
      fits: false,
      worstCase: 10_000,
      within: 5_000,
      breaksAtAttempt: 4,
      suggestion: { attempts: 3, cap: 666 },
      findings: []
    })
  })

  it("counts the hints that a policy waits for", async () => {
    expect(await check("constant(1s) | jitter | attempts(2) | retryAfter(10s)", "--within", "1m")).toMatchObject({
      exitCode: 0,
      worstCase: 12_000
    })
  })

  it.for(
    [
      ["no-end", "constant(1s) | jitter | unlimited", "1 second"],
      ["no-jitter", "constant(1s) | attempts(3)", "1h"],
      ["no-cap", "exponential(10m) | jitter | attempts(6)", "30d"],
      ["immediate", "immediate(2)", "1h"]
    ] as const
  )("also says no for %s, unless that is allowed", async ([finding, policy, within]) => {
    const refused = await check(policy, "--within", within)
    expect(refused.exitCode).toBe(1)
    expect(refused.findings).toEqual([{ finding, reason: expect.any(String), allow: `--allow-${finding}` }])

    const allowed = await check(policy, "--within", within, `--allow-${finding}`)
    expect(allowed.findings).toEqual([])
    expect(allowed.exitCode).toBe(0)
  })

  it("leaves the time out where a policy may have no end, and says so", async () => {
    const args = ["check", "constant(1s) | jitter | unlimited", "--within", "5s", "--allow-no-end"]
    const { exitCode, stdout } = await reprise(args)
    expect(exitCode).toBe(0)
    expect(stdout).toContain("no end, as --allow-no-end allows, and so nothing is said of its time")
  })

  it.for(
    [
      ["no-jitter", "by(throttled: constant(5s); otherwise: constant(1s) | jitter) | attempts(3)", "throttled"],
      ["immediate", "by(throttled: immediate(10); otherwise: constant(1s)) | jitter | attempts(5)", "throttled"],
      ["no-cap", "by(throttled: exponential(1h); otherwise: constant(1s)) | jitter | attempts(5)", "throttled"],
      [
        "no-jitter",
        "by(throttled: by(unknown: constant(5s); otherwise: constant(1s) | jitter); otherwise: constant(1s) | jitter) | attempts(3)",
        "throttled, unknown"
      ],
      [
        "no-jitter",
        "concat(constant(1s) | jitter | while(throttled) | recurs(9); constant(5s)) | attempts(3)",
        "after a part that ended early"
      ],
      [
        "no-jitter",
        "min(constant(10ms) | jitter | while(throttled); constant(5s)) | attempts(3)",
        "after a part that ended early"
      ]
    ] as const
  )("looks at every branch for %s: %s", async ([finding, policy, branch]) => {
    const { exitCode, findings } = await check(policy, "--within", "30d")
    expect(exitCode).toBe(1)
    expect(findings).toEqual([{ finding, reason: expect.stringContaining(branch), allow: `--allow-${finding}` }])
  })

  it.for([
    "concat(immediate(1); exponential(1s) | jitter | attempts(4))",
    "decorrelated(100ms, 10s) | attempts(4)",
    "exponential(10m) | cap(1h) | jitter | attempts(9)",
    "none"
  ])("finds nothing in %s", async (policy) => {
    expect(await check(policy, "--within", "30d")).toMatchObject({ exitCode: 0, findings: [] })
  })
})
