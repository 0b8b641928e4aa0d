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
    // What has no end fits nowhere.
    expect(allowed.exitCode).toBe(finding === "no-end" ? 1 : 0)
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
