import { describe, expect, it } from "vitest"
import { reprise, shell, workplace } from "./reprise.ts"

const explained = async (policy: string, env: Readonly<Record<string, string>> = {}) => {
  const { exitCode, stderr, stdout } = await reprise(["explain", policy, "--json"], { env })
  return { exitCode, stderr, policy: exitCode === 0 ? JSON.parse(stdout).policy : stdout }
}

describe("a POLICY", () => {
  it("is notation, and may name the predicates of Transience", async () => {
    const policy = "by(throttled: exponential(1s); otherwise: constant(1s)) | attempts(3) | while(transient)"
    expect(await explained(policy)).toMatchObject({ exitCode: 0, policy })
  })

  it("is a file, of several lines if it wants to be", async () => {
    using files = workplace({ "retry.policy": "constant(1s)\n  | jitter\n  | attempts(3)\n" })
    expect(await explained(`@${files.path("retry.policy")}`)).toMatchObject({
      policy: "constant(1s) | jitter | attempts(3)"
    })
  })

  it("is a preset, or what the environment says", async () => {
    expect(await explained("preset:standard")).toMatchObject({
      policy: "exponential(200ms) | cap(5s) | jitter | attempts(3)"
    })
    expect(await explained("env:RETRY", { RETRY: "constant(1s) | attempts(3)" })).toMatchObject({
      policy: "constant(1s) | attempts(3)"
    })
  })

  it("may be any preset that is listed", async () => {
    const { stdout } = await reprise(["presets", "--json"])
    const listed: ReadonlyArray<{ readonly name: string; readonly policy: string }> = JSON.parse(stdout)
    expect(listed.map(({ name }) => name)).toEqual(expect.arrayContaining(["standard", "aws-2026", "sidekiq"]))
    const all = await Promise.all(listed.map(({ name }) => explained(`preset:${name}`)))
    expect(all.map(({ policy }) => policy)).toEqual(listed.map(({ policy }) => policy))
  })

  it("given inline, shows where it goes wrong and what was meant", async () => {
    const { exitCode, stderr } = await explained("constant(1s) | atempts(3)")
    expect(exitCode).toBe(2)
    expect(stderr).toContain("did you mean attempts?")
    expect(stderr).toContain("constant(1s) | atempts(3)\n               ^")
  })

  it("from elsewhere, shows the place and none of the text: it may be a secret", async () => {
    using files = workplace({ secret: "constant(1s)\n| sk_live_1 | more" })
    expect(await explained("env:TOKEN", { TOKEN: "sk_live_1" })).toEqual({
      exitCode: 2,
      policy: "",
      stderr: "reprise: env:TOKEN holds no policy: see its column 1\n"
    })
    expect(await explained(`@${files.path("secret")}`)).toEqual({
      exitCode: 2,
      policy: "",
      stderr: `reprise: ${files.path("secret")} holds no policy: see its line 2, column 3\n`
    })
  })

  it("from elsewhere, is not shown by an error about its size either", async () => {
    const secret = "exponential(1s) | whileTag(hunter2) | attempts(99999)"
    using files = workplace({ secret })
    const stood = ["env:SECRET", `@${files.path("secret")}`]
    const calls = stood.flatMap((policy) => [
      { policy, args: ["plan", policy] },
      { policy, args: ["compare", "none", policy] }
    ])
    for (const { args, policy } of calls) {
      const { exitCode, stderr } = await reprise(args, { env: { SECRET: secret } })
      expect({ args, exitCode, stderr }).toEqual({
        args,
        exitCode: 2,
        stderr: expect.stringContaining(`${policy} makes more than 10,000 attempts`)
      })
      expect(stderr).not.toContain("hunter2")
    }
  })

  it.for(["preset:nothing", "preset:__proto__", "env:NOTHING_OF_THAT_NAME", "@/nothing/there", "@/dev/zero", ""])(
    "that is not there is wrong use: %s",
    async (policy) => {
      expect(await explained(policy)).toMatchObject({
        exitCode: 2,
        policy: "",
        stderr: expect.stringMatching(/^reprise: /)
      })
    }
  )
})

const wrong: ReadonlyArray<ReadonlyArray<string>> = [
  [],
  ["plna", "none"],
  ["plan"],
  ["plan", "none", "--attempt-timeout", "soon"],
  ["plan", "none", "--nothing"],
  ["check", "none"],
  ["run", "--policy", "constant(1s)", "--", "true"],
  ["run", "--policy", "none", "--retry-on", "0", "--", "true"],
  ["run", "--policy", "none"]
]

describe("wrong use", () => {
  it("ends with 2 and says why on standard error, where no stack belongs", async () => {
    for (const { stderr, ...outcome } of await Promise.all(wrong.map((args) => reprise(args)))) {
      expect(outcome).toEqual({ exitCode: 2, stdout: "" })
      expect(stderr).not.toBe("")
      expect(stderr).not.toContain("    at ")
    }
  })
})

describe("an answer that cannot be written", () => {
  it.for([
    ["plan", "none"],
    ["check", "none", "--within", "1s", "--json"],
    ["presets"],
    ["plan", "--help"],
    ["--version"],
    ["--completions", "bash"],
    ["run", "--policy", "none", "--dry-run", "--", "true"]
  ])("ends with 74 and says so: %s", async (args) => {
    expect(await reprise(args, { stdout: "/dev/full" })).toEqual({
      exitCode: 74,
      stdout: "",
      stderr: "reprise: cannot write to standard output: ENOSPC\n"
    })
  })

  it("is no matter when its reader has seen enough", async () => {
    const { exitCode, stderr } = await shell("reprise presets --json | true; exit ${PIPESTATUS[0]}")
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" })
  })

  it("is written whole to a slow reader, also through a pipe that does not block", async () => {
    const plan = "reprise plan 'constant(1s) | attempts(9999)' --json"
    const { exitCode, stdout } = await shell(`${plan} | (sleep 0.5; wc -c); ${plan} > /dev/null`)
    expect(exitCode).toBe(0)
    expect(Number(stdout)).toBeGreaterThan(1_000_000)
  })
})

describe("--help", () => {
  it("has examples for every command", async () => {
    const commands = ["plan", "check", "compare", "explain", "presets", "import", "run"]
    const pages = await Promise.all(commands.map((command) => reprise([command, "--help"])))
    for (const [index, { exitCode, stdout }] of pages.entries()) {
      expect(exitCode).toBe(0)
      expect(stdout).toMatch(new RegExp(`EXAMPLES[^]*\n  reprise ${commands[index]}\\b`))
    }
  })
})
